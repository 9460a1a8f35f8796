"""What setup.cfg cannot say: the README as a package index shows it, where what is in the repository is not; and a source
distribution that has the same bytes whenever it is made of the same files, where SOURCE_DATE_EPOCH says of which time they are.
"""

import gzip
import os
import re
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)([^)]*)\)")


def without_links(readme: str) -> str:
    """`[text](docs/page.md)` as `text (docs/page.md)`; links to other places stay, and pictures are left out."""
    return LINK.sub(r"\1 (\2)", PICTURE.sub("", readme))


class SameBytes(sdist):
    """The archive with its files in order, of one time and of nobody."""

    def make_archive(self, base_name, format, *args, base_dir=None, **kwargs):
        """The archive's path; as setuptools makes it where no time is given."""
        time = os.environ.get("SOURCE_DATE_EPOCH")
        if time is None or format != "gztar":
            return super().make_archive(base_name, format, *args, base_dir=base_dir, **kwargs)

        def of_nobody(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(time), 0, 0, "", ""
            return member

        path = f"{base_name}.tar.gz"
        with gzip.GzipFile(path, "wb", mtime=int(time)) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for file in sorted(path for path in Path(base_dir).rglob("*") if path.is_file()):
                archive.add(file, filter=of_nobody)
        return path


if __name__ == "__main__":
    setup(
        cmdclass={"sdist": SameBytes},
        long_description=without_links(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
    )
