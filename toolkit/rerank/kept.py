"""Scores of a reranking that is not complete, on disk as they are made: an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say

if TYPE_CHECKING:
    from toolkit.models.rerankers.base import Pair, Reranker

AT_ONCE = 500  # keys in a query


def pair_key(pair: Pair) -> bytes:
    """A digest of both texts."""
    return hashlib.sha256(json.dumps(pair, ensure_ascii=False).encode(errors="surrogatepass")).digest()


def identity(reranker: Reranker) -> str:
    """A digest of all that a score depends on besides the pair: the checkpoint, what is sent, how it is computed."""
    spec = reranker.spec
    told = [
        spec.kind,
        spec.checkpoint,
        spec.revision,
        spec.parameters,
        spec.templates,
        reranker.facts,
        _stamps(spec.checkpoint),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _stamps(checkpoint: str) -> list[tuple[str, int, int]]:
    """Of a local checkpoint, which has no revision: names, sizes and times of its files."""
    files = sorted(path for path in Path(checkpoint).glob("*") if path.is_file()) if Path(checkpoint).is_dir() else []
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]


class KeptScores:
    """A file of scores by the digests of their pairs.

    Scores that another model, prompt or setting made are thrown away, which is said. Raises ToolkitError where the file is
    something else.
    """

    def __init__(self, path: Path, identity: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._database = sqlite3.connect(path)
        try:
            self._open(identity)
        except sqlite3.DatabaseError as error:
            self.close()
            raise ToolkitError(f"{path}: the scores kept there cannot be read ({error})", "remove the file") from error

    def _open(self, identity: str) -> None:
        with self._database as database:
            database.execute("create table if not exists made_by (identity text)")
            database.execute("create table if not exists scores (pair blob primary key, score real) without rowid")
            before = database.execute("select identity from made_by").fetchone()
            if before == (identity,):
                return
            if before:
                say(f"note: the scores kept in {self._path} were made otherwise; they are made anew")
                database.execute("delete from scores")
                database.execute("delete from made_by")
            database.execute("insert into made_by values (?)", (identity,))

    def known(self, keys: Sequence[bytes]) -> dict[int, float]:
        """Positions of the keys that have a score, and it."""
        found: dict[bytes, float] = {}
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            found.update(self._database.execute(f"select pair, score from scores where pair in ({marks})", part))
        return {position: found[key] for position, key in enumerate(keys) if key in found}

    def add(self, keys: Sequence[bytes], scores: np.ndarray) -> None:
        """Keep these, to the disk."""
        with self._database as database:
            database.executemany("insert or replace into scores values (?, ?)", zip(keys, scores.tolist(), strict=True))

    def close(self) -> None:
        """What was kept stays."""
        self._database.close()
