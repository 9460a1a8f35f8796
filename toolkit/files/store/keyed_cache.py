"""Blobs by key in one SQLite file: what was computed or answered once is not computed or asked again."""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.files.store.sharing import lock

T = TypeVar("T")
APPLICATION = 0x54414E44  # SQLite's mark of whose file it is: "TAND"
BUSY = 60  # seconds to wait for another process that writes
AT_ONCE = 500  # keys in a query
LARGEST = 1 << 26  # bytes of an entry: a vector has some thousands, an answer some hundred thousands
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
    processes that computed the same thing are then those that the cache has. The file is made with the first entry. One that
    may not be written (another user's, a published one) is read without locks and without a trace.

    path      the file
    what      what the entries are, for messages: `answers`, `scores`, `vectors`
    identity  what all entries depend on beside their key; entries of another identity are removed, with a note

    Raises ToolkitError where the file is something else or damaged, and for a full disk or a lock that is not given back.
    """

    def __init__(self, path: Path, what: str, identity: str = ""):
        self.path, self.what, self.identity = path, what, identity
        self._connection: sqlite3.Connection | None = None
        self._is_others = False  # it may not be written and has entries of another identity

    def get(self, keys: Sequence[bytes], read: Callable[[bytes], T] = bytes) -> dict[bytes, T]:
        """The entries of those keys that have one.

        read  makes of a blob what was put in; ValueError, TypeError or KeyError where it is nothing of the kind
        """
        values: dict[bytes, T] = {}
        if not self._connection and not self.path.exists():
            return values
        with self._explained("read"):
            database = self._open()
            for start in range(0, 0 if self._is_others else len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                for key, value in database.execute(f"select key, value from entries where key in ({marks})", part):
                    if not isinstance(value, bytes):
                        raise self.damaged(f"an entry is {type(value).__name__}, not bytes")
                    try:
                        values[key] = read(value)
                    except (ValueError, TypeError, KeyError, RecursionError) as error:
                        raise self.damaged(f"an entry of {len(value):,} bytes is none of the {self.what}: {error}") from error
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
            # SQLite writes other files beside it
            may_write = not self.path.exists() or all(os.access(place, os.W_OK) for place in (self.path, self.path.parent))
            self._connection = self._writable() if may_write else self._read_only()
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        return self._connection

    def _writable(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite does not wait for a lock while a file gets its journal mode: two processes would fail there
        with lock(f"{self.what} {self.path.name}"):
            connection = sqlite3.connect(self.path, timeout=BUSY)
            try:
                if self._is_ours(connection):
                    self._check_columns(connection)
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = normal")
                connection.execute(f"pragma application_id = {APPLICATION}")
                connection.executescript(SCHEMA)
                with connection:
                    if self._identity_differs(connection):
                        say(f"note: the {self.what} in {self.path} were computed with other settings: recomputed")
                        connection.execute("delete from entries")
                    connection.execute("insert or replace into about values ('identity', ?)", (self.identity,))
            except BaseException:
                connection.close()
                raise
        return connection

    def _read_only(self) -> sqlite3.Connection:
        """The file as it is, with nothing beside it: `immutable`, unless somebody is writing it."""
        waiting = self.path.with_name(f"{self.path.name}-wal")  # what is written, and not yet part of the file
        modes = [*["mode=ro"] * waiting.exists(), *["immutable=1"] * (not waiting.exists() or not waiting.stat().st_size)]
        for mode in modes:
            connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY)
            try:
                self._is_ours(connection)
                self._check_columns(connection)
                self._is_others = self._identity_differs(connection)
                return connection
            except sqlite3.OperationalError:
                connection.close()
                if mode == modes[-1]:
                    raise
            except BaseException:
                connection.close()
                raise
        raise AssertionError(modes)

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Whether there are entries in the file; ToolkitError where it is another program's."""
        names = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        if names and (connection.execute("pragma application_id").fetchone()[0] != APPLICATION or "entries" not in names):
            raise ToolkitError(f"{self.path} is an SQLite file of something else", f"name another file for the {self.what}")
        return bool(names)

    def _check_columns(self, connection: sqlite3.Connection) -> None:
        """ToolkitError for tables with other columns than SCHEMA's."""
        for table, expected in (("about", ["name", "value"]), ("entries", ["key", "value", "created"])):
            columns = [str(row[1]) for row in connection.execute(f"pragma table_info({table})")]
            if columns != expected:
                raise self.damaged(f"table {table} has the columns {', '.join(columns) or 'of none'}")

    def _identity_differs(self, connection: sqlite3.Connection) -> bool:
        before = connection.execute("select value from about where name = 'identity'").fetchone()
        return bool(before) and before[0] != self.identity

    def damaged(self, how: str) -> ToolkitError:
        """The error of a file whose entries are not what was put there."""
        hint = f"remove the file (the {self.what} in it are lost), or name another"
        return ToolkitError(f"{self.path}: the cache is damaged ({how})", hint, status=1)

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        """SQLite's errors in one line."""
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no permission, a lock that is never given back
            message = f"{self.path}: the {self.what} cached there cannot be {done} ({error})"
            hint = "is the disk full, the folder read-only, or another process using the file?"
            raise ToolkitError(message, hint, status=1) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self.damaged(str(error)) from error
