"""Vectors of texts on disk, made once: an interrupted run goes on where it was, and the next run asks for new texts only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError

AT_ONCE = 500  # keys in a query
BUSY = 60  # seconds to wait for another process that writes


class KeptVectors:
    """A file of vectors of one model, (d,) float32 each, by the digests of the texts.

    Several processes may use it at once. Raises ToolkitError where the file is something else, or cannot be made.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        with self._explained(), self._connected() as database:
            database.execute("create table if not exists vectors (text blob primary key, vector blob) without rowid")

    def known(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors of those keys that have one."""
        found: dict[bytes, np.ndarray] = {}
        with self._explained(), self._connected() as database:
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = database.execute(f"select text, vector from vectors where text in ({marks})", part)
                found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def add(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Keep these, to the disk. vectors  (n, d) float32, parallel to the keys"""
        assert vectors.dtype == np.float32
        rows = [(key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._explained(), self._connected() as database, database:
            database.executemany("insert or replace into vectors values (?, ?)", rows)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=BUSY)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            hint = "is the disk full? otherwise remove it: the vectors are made anew"
            raise ToolkitError(f"{self.path}: cannot be used ({error})", hint, status=1) from error
