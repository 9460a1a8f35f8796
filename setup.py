"""What setup.cfg cannot say: the README as a package index shows it, where what is in the repository is not."""

import re
from pathlib import Path

from setuptools import setup

PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)([^)]*)\)")


def without_links(readme: str) -> str:
    """`[text](docs/page.md)` as `text (docs/page.md)`; links to other places stay, and pictures are left out."""
    return LINK.sub(r"\1 (\2)", PICTURE.sub("", readme))


if __name__ == "__main__":
    setup(long_description=without_links(Path(__file__).with_name("README.md").read_text(encoding="utf-8")))
