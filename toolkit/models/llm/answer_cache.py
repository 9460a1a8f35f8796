"""Answers of language models on disk: read many at once, written all together that wait."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, TracebackType

from toolkit.core.system.yaml_json import decode_json
from toolkit.files.store.keyed_cache import KeyedCache
from toolkit.models.llm.messages import Answer

UNWRITTEN = 16  # answers that may wait to be written
COLUMNS = ("text", "finish", "model", "server", "prompt_tokens", "completion_tokens")


class AnswerCache:
    """Answers by the key of their request, see `toolkit.files.store.keyed_cache.KeyedCache`."""

    def __init__(self, path: Path):
        self.path = path
        self._entries = KeyedCache(path, "answers")

    def get(self, key: str) -> Answer | None:
        """The answer to a request, None where there is none."""
        return self.get_all([key]).get(key)

    def get_all(self, keys: Sequence[str]) -> dict[str, Answer]:
        """The answers to those requests that have one."""
        return {key.decode(): answer for key, answer in self._entries.get([key.encode() for key in keys], _answer).items()}

    def writer(self) -> AnswerWriter:
        """What writes the answers of one call; a block."""
        return AnswerWriter(self.path)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._entries.close()


class AnswerWriter:
    """Writes answers in a thread of its own, as they come: those that wait when it is done with the last ones, in one go.

    A commit and a read for each answer took longer than a server with many requests at the same time takes for one. An answer
    is on disk some milliseconds after `put`, whether others follow or not, and all are when the block ends, also by an error.
    No more than UNWRITTEN wait, or `put` does: so many are lost, at most, of a process that is killed. What another process
    wrote first stays; who needs to know reads it after the block.
    """

    def __init__(self, path: Path):
        self._path = path
        self._waiting: queue.SimpleQueue[tuple[bytes, bytes] | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(UNWRITTEN)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> AnswerWriter:
        return self

    def put(self, key: str, answer: Answer) -> None:
        """Have an answer written. Raises ToolkitError where earlier ones could not be: a full disk."""
        self._room.acquire()
        if self._error:
            raise self._error
        self._waiting.put((key.encode(), _entry(answer)))
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._thread:
            self._waiting.put(None)
            self._thread.join()
        if self._error and error is None:
            raise self._error

    def _write(self) -> None:
        entries = KeyedCache(self._path, "answers")  # SQLite's connections belong to their thread
        try:
            while batch := self._next():
                entries.put(batch)
                self._room.release(len(batch))
        except BaseException as error:
            self._error = error
            self._room.release(UNWRITTEN)  # who waits is told
        finally:
            entries.close()

    def _next(self) -> dict[bytes, bytes]:
        """All answers that wait, at least one; none when the block has ended."""
        batch: dict[bytes, bytes] = {}
        entry = self._waiting.get()
        while entry is not None:
            batch[entry[0]] = entry[1]
            try:
                entry = self._waiting.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._waiting.put(None)  # for the next time
        return batch


def _entry(answer: Answer) -> bytes:
    content = {column: getattr(answer, column) for column in COLUMNS}
    return json.dumps(content, ensure_ascii=False).encode(errors="surrogatepass")


def _answer(entry: bytes) -> Answer:
    """What `_entry` has made. ValueError for anything else."""
    content = decode_json(entry.decode(errors="surrogatepass"), finite=False, halves=True)
    if not isinstance(content, dict) or set(content) != set(COLUMNS):
        raise ValueError("no JSON object of " + ", ".join(COLUMNS))
    for name, value in content.items():
        kinds = (int, NoneType) if name.endswith("tokens") else (str, NoneType) if name != "text" else (str,)
        if type(value) not in kinds:
            raise ValueError(f"{name} is of type {type(value).__name__}")
    return Answer(**content)
