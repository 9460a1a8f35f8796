"""Answers of language models on disk: an interrupted run goes on where it was, and a repeat costs nothing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.home import home
from toolkit.models.llm.messages import Answer
from toolkit.store import lock

APPLICATION = 0x54414E44  # SQLite's mark of whose file it is: "TAND"
BUSY = 60  # seconds to wait for another process that writes
COLUMNS = ("text", "finish", "model", "server", "prompt_tokens", "completion_tokens")
TABLE = """
    create table if not exists answers (
        key text primary key, text text not null, finish text not null, model text not null, server text not null,
        prompt_tokens integer not null, completion_tokens integer not null, created real not null
    ) without rowid
"""


def default_cache() -> Path:
    """Where answers are kept unless another file is named."""
    return home() / "llm" / "answers.sqlite"


class AnswerCache:
    """Answers by the key of their request, in one SQLite file that several processes may use at once.

    The file is made with the first answer; one that is not there holds nothing. ToolkitError where the file is damaged or
    something else.
    """

    def __init__(self, path: Path):
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> Answer | None:
        """The answer to a request, None where there is none."""
        if not self._connection and not self.path.exists():
            return None
        with self._errors():
            row = self._open().execute(f"select {', '.join(COLUMNS)} from answers where key = ?", (key,)).fetchone()
        return Answer(*row) if row else None

    def put(self, key: str, answer: Answer) -> Answer:
        """Keep an answer: it is on disk when this returns, whatever happens to the process.

        What another process wrote first stays and is returned, so that the run of each is what the cache says.
        """
        row = (key, *(getattr(answer, column) for column in COLUMNS), time.time())
        with self._errors():
            added = self._open().execute(f"insert or ignore into answers values ({', '.join('?' * len(row))})", row).rowcount
        return answer if added else self.get(key) or answer

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if not self._connection:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # SQLite does not wait for a lock while a file gets its journal mode: two processes would fail there
            with lock(f"answers {self.path.name}"):
                connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None)
                try:
                    self._prepare(connection)
                except BaseException:
                    connection.close()
                    raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
        if tables and connection.execute("pragma application_id").fetchone()[0] != APPLICATION:
            raise ToolkitError(f"{self.path} is an SQLite file of something else", "name another file for the answers")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(TABLE)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no permission, a lock that is never given back
            raise ToolkitError(
                f"cannot use the cache {self.path}: {error}", "see to the disk, or set TANDEM_HOME to another", status=1
            ) from error
        except sqlite3.DatabaseError as error:
            hint = "remove it (the answers in it are lost), or set TANDEM_HOME to another place"
            raise ToolkitError(f"the cache {self.path} is damaged: {error}", hint, status=1) from error
