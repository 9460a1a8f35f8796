"""What setup.cfg cannot say: the README as a package index shows it, where a link into the repository leads nowhere."""

import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)([^)]*)\)")


def without_links(readme: str) -> str:
    """`[text](docs/page.md)` as `text (docs/page.md)`; links to other places stay."""
    return LINK.sub(r"\1 (\2)", readme)


if __name__ == "__main__":
    setup(long_description=without_links(Path(__file__).with_name("README.md").read_text(encoding="utf-8")))
