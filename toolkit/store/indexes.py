"""Prebuilt indexes: the archive of an IndexSpec, downloaded, checked and unpacked under TANDEM_HOME."""

from __future__ import annotations

from pathlib import Path

from toolkit.core.home import home
from toolkit.core.specs import IndexSpec
from toolkit.store.archives import unpack
from toolkit.store.download import download, file_name, with_mirror
from toolkit.store.sharing import lock


def index_folder(spec: IndexSpec) -> Path:
    """Where the prebuilt index lies once fetched. The name holds the MD5: a new release does not meet an old folder."""
    return home() / "indexes" / f"{spec.name}.{spec.md5}"


def fetch_index(spec: IndexSpec) -> Path:
    """The folder that holds the index's files, downloaded first where it is not there yet.

    Raises ToolkitError where it cannot be had (see `download` and `unpack`).
    """
    folder = index_folder(spec)
    if not folder.exists():
        _fetch(spec, folder)
    entries = list(folder.iterdir())
    # archives hold one folder named like the index
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _fetch(spec: IndexSpec, folder: Path) -> None:
    with lock(f"index {spec.name}"):
        if not folder.exists():  # another process may have fetched it meanwhile
            archive = home() / "downloads" / file_name(spec.urls[0])
            download(with_mirror(spec.urls), archive, md5=spec.md5, size=spec.size)
            unpack(archive, folder)
            archive.unlink()
