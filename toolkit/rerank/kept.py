"""Scores of a reranking that is not complete, on disk as they are made: an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    checkpoint = [spec.checkpoint, spec.revision, *_stamps(Path(spec.checkpoint).expanduser())]
    told = [spec.kind, checkpoint, spec.parameters, spec.templates, reranker.facts]
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _stamps(checkpoint: Path) -> list[tuple[str, int, int]]:
    """Of a local checkpoint, which has no revision: names, sizes and times of its files; empty where there is no folder."""
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    return [(str(path.relative_to(checkpoint)), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def place_beside(output: Path | None) -> Path | None:
    """Where scores are kept until `output` is written; None where that is no file (nothing, `-`, `/dev/null`)."""
    if output is None or str(output) == "-" or (output.exists() and not output.is_file()):
        return None
    return output.with_name(f".{output.name}.scores")


class KeptScores:
    """A file of scores by the digests of their pairs.

    Scores that another model, prompt or setting made are thrown away, which is said. Raises ToolkitError where the file is
    something else, cannot be made, or is another process's at the moment.
    """

    def __init__(self, path: Path, identity: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._explained("opened"):
            self._database = sqlite3.connect(path)
            self._open(identity)

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
        with self._explained("read"):
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                found.update(self._database.execute(f"select pair, score from scores where pair in ({marks})", part))
        return {position: found[key] for position, key in enumerate(keys) if key in found}

    def add(self, keys: Sequence[bytes], scores: np.ndarray) -> None:
        """Keep these, to the disk."""
        with self._explained("written"), self._database as database:
            database.executemany("insert or replace into scores values (?, ?)", zip(keys, scores.tolist(), strict=True))

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        """SQLite's errors in one line: no database, another process's lock, a full disk."""
        try:
            yield
        except sqlite3.Error as error:
            message = f"{self._path}: the scores kept there cannot be {done} ({error})"
            hint = "is another process reranking to the same place, or the disk full? otherwise remove it"
            raise ToolkitError(message, hint, status=1) from error

    def close(self) -> None:
        """What was kept stays."""
        self._database.close()
