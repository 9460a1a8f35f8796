"""Prebuilt indexes: the archive of an IndexSpec, downloaded, checked and unpacked under TANDEM_HOME."""

import re
import shutil
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec
from toolkit.core.system.home import home
from toolkit.files.store.archives import unpack
from toolkit.files.store.digests import DIGESTS, changed_files, write_digests
from toolkit.files.store.download import download, file_name, with_mirror
from toolkit.files.store.sharing import lock

MD5 = re.compile(r"[0-9a-fA-F]{32}")
NAME = re.compile(r"\w[\w.+-]*")
WRITTEN = (DIGESTS, f"{DIGESTS}.new")  # what was unpacked; the second by earlier versions, until it was read back once


def index_folder(spec: IndexSpec) -> Path:
    """Where the prebuilt index lies once fetched. The name holds the MD5: a new release does not meet an old folder."""
    return home() / "indexes" / f"{spec.name}.{spec.md5}"


def fetch_index(spec: IndexSpec, *, unpacked: int | None = None) -> Path:
    """The folder that holds the index's files, downloaded first where it is not there yet.

    unpacked  the most bytes that its files may have, see `unpack`

    Raises ToolkitError where it cannot be had (see `download` and `unpack`), and for an entry whose name or MD5, parts of a
    path, are none. What was unpacked is written down: `toolkit.files.provenance.comparing` compares files with it.
    """
    if not (NAME.fullmatch(spec.name) and MD5.fullmatch(spec.md5)):
        raise ToolkitError(f"index {spec.name!r} has the MD5 {spec.md5!r}", "a name of letters and digits, and 32 hex digits")
    folder = index_folder(spec)
    if not folder.exists():
        _fetch(spec, folder, unpacked)
    entries = [path for path in folder.iterdir() if path.name not in WRITTEN]
    # archives hold one folder named like the index
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def fetched_files(folder: Path) -> list[str] | None:
    """A line for each file in a folder, of a fetched index, that is not as it was unpacked; None where nobody knows."""
    written = ((place, name) for place in (folder, folder.parent) for name in WRITTEN)
    known = next(((place, name) for place, name in written if (place / name).is_file()), None)
    return changed_files(*known) if known else None


def _fetch(spec: IndexSpec, folder: Path, unpacked: int | None) -> None:
    with lock(f"index {spec.name}"):
        if not folder.exists():  # another process may have fetched it meanwhile
            # by its digest: addresses of different indexes may end in one name
            archive = home() / "downloads" / spec.md5.lower() / file_name(spec.urls[0])
            download(with_mirror(spec.urls), archive, md5=spec.md5, size=spec.size)
            unpack(archive, folder, most=unpacked, complete=write_digests)
            shutil.rmtree(archive.parent)
