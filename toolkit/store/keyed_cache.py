"""Blobs by key in one SQLite file: what was computed or answered once is not computed or asked again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.store.sharing import lock

APPLICATION = 0x54414E44  # SQLite's mark of whose file it is: "TAND"
BUSY = 60  # seconds to wait for another process that writes
AT_ONCE = 500  # keys in a query
SCHEMA = """
    create table if not exists about (name text primary key, value text not null) without rowid;
    create table if not exists entries (key blob primary key, value blob not null, created real not null) without rowid;
"""


def key_of(content: Any) -> bytes:
    """SHA-256 of what an entry depends on: texts, parameters; equal content has one key, whatever the order of names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")).digest()


class KeyedCache:
    """Key -> blob. What is put is on disk when `put` returns, whatever happens to the process afterwards.

    Several processes may use a file at once; one at a time writes. What was put first for a key stays: the results of two
    processes that computed the same thing are then those that the cache has. The file is made with the first entry.

    path      the file
    what      what the entries are, for messages: `answers`, `scores`, `vectors`
    identity  what all entries depend on beside their key; entries of another identity are removed, with a note

    Raises ToolkitError where the file is something else or damaged, and for a full disk or a lock that is not given back.
    """

    def __init__(self, path: Path, what: str, identity: str = ""):
        self.path, self.what, self.identity = path, what, identity
        self._connection: sqlite3.Connection | None = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The entries of those keys that have one."""
        values: dict[bytes, bytes] = {}
        if not self._connection and not self.path.exists():
            return values
        with self._explained("read"):
            database = self._open()
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                values.update(database.execute(f"select key, value from entries where key in ({marks})", part))
        return values

    def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Add these; a key that has an entry keeps it."""
        now = time.time()
        rows = [(key, value, now) for key, value in entries.items()]
        with self._explained("written"), self._open() as database:
            database.executemany("insert or ignore into entries values (?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if not self._connection:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # SQLite does not wait for a lock while a file gets its journal mode: two processes would fail there
            with lock(f"{self.what} {self.path.name}"):
                connection = sqlite3.connect(self.path, timeout=BUSY)
                try:
                    self._prepare(connection)
                except BaseException:
                    connection.close()
                    raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        names = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        if names and (connection.execute("pragma application_id").fetchone()[0] != APPLICATION or "entries" not in names):
            raise ToolkitError(f"{self.path} is an SQLite file of something else", f"name another file for the {self.what}")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.executescript(SCHEMA)
        with connection:
            self._check_identity(connection)

    def _check_identity(self, connection: sqlite3.Connection) -> None:
        before = connection.execute("select value from about where name = 'identity'").fetchone()
        if before and before[0] != self.identity:
            say(f"note: the {self.what} in {self.path} were computed with other settings: recomputed")
            connection.execute("delete from entries")
        connection.execute("insert or replace into about values ('identity', ?)", (self.identity,))

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        """SQLite's errors in one line."""
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no permission, a lock that is never given back
            message = f"{self.path}: the {self.what} cached there cannot be {done} ({error})"
            hint = "is the disk full, the folder read-only, or another process using the file?"
            raise ToolkitError(message, hint, status=1) from error
        except sqlite3.DatabaseError as error:
            hint = f"remove the file (the {self.what} in it are lost), or name another"
            raise ToolkitError(f"{self.path}: the cache is damaged ({error})", hint, status=1) from error
