"""What mypy has cached of this checkout, copied for runs that have another place or other settings: ten seconds each."""

import sqlite3
from contextlib import closing

from command import ROOT


def copy_known_types(folder):
    """Copy the cache, where there is one, into `folder`; another mypy may write it meanwhile."""
    for source in (ROOT / ".mypy_cache").rglob("*.db"):
        target = folder / source.relative_to(ROOT / ".mypy_cache")
        target.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(source)) as theirs, closing(sqlite3.connect(target)) as ours:
            theirs.backup(ours)
