"""A folder of the user's as a benchmark: what its files hold, problems and warnings about them, and how one is made.

Here is what tells such a folder from other names; what reads one is loaded where one is opened (`own_folder`).
"""

import re
from pathlib import Path

FILE = "benchmark.yaml"
PROVENANCE = "provenance.jsonl"  # who wrote, filtered and judged its items: see `item_provenance`


def is_benchmark_folder(path: str | Path) -> bool:
    """Whether a folder is a benchmark."""
    return (Path(path) / FILE).is_file()


def provenance_file(folder: str | Path) -> Path | None:
    """The file that says who made the items of a benchmark; None where its folder has none (`""` is no folder)."""
    path = Path(folder) / PROVENANCE
    return path if folder and path.is_file() else None


def folder_and_part(name: str) -> tuple[Path, str] | None:
    """The folder that a name means (`mine`, `mine/benchmark.yaml`), and the part of its benchmark (`mine/pos`, `mine-length`).

    None where there is no such folder. What is a file or another folder in it is no part.
    """
    path = Path(name).expanduser()
    if path.name == FILE and path.is_file():
        return path.parent, ""
    if is_benchmark_folder(path):
        return path, ""
    if not name or path.exists():
        return None
    for parent in path.parents:
        if parent != Path(".") and is_benchmark_folder(parent):
            return parent, path.relative_to(parent).as_posix()
    for dash in re.finditer("-", path.name):
        if dash.start() and is_benchmark_folder(folder := path.with_name(path.name[: dash.start()])):
            return folder, path.name[dash.end() :]
    return None
