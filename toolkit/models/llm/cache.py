"""Answers of language models on disk: an interrupted run resumes where it was, and a repeat costs nothing."""

from __future__ import annotations

import json
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.home import home
from toolkit.models.llm.messages import Answer
from toolkit.store.keyed_cache import KeyedCache

COLUMNS = ("text", "finish", "model", "server", "prompt_tokens", "completion_tokens")


def default_cache() -> Path:
    """Where answers are cached unless another file is named."""
    return home() / "llm" / "answers.sqlite"


class AnswerCache:
    """Answers by the key of their request, see `toolkit.store.keyed_cache.KeyedCache`."""

    def __init__(self, path: Path):
        self.path = path
        self._entries = KeyedCache(path, "answers")

    def get(self, key: str) -> Answer | None:
        """The answer to a request, None where there is none."""
        entries = self._entries.get([key.encode()])
        return self._read(entries[key.encode()]) if entries else None

    def put(self, key: str, answer: Answer) -> Answer:
        """Cache an answer. What another process wrote first stays and is returned: the run of each is what the cache says."""
        content = {column: getattr(answer, column) for column in COLUMNS}
        self._entries.put({key.encode(): json.dumps(content, ensure_ascii=False).encode(errors="surrogatepass")})
        return self.get(key) or answer

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._entries.close()

    def _read(self, entry: bytes) -> Answer:
        try:
            return Answer(**json.loads(entry))
        except (ValueError, TypeError) as error:
            hint = "remove the file (the answers in it are lost), or name another"
            raise ToolkitError(f"{self.path}: the cache is damaged ({error})", hint, status=1) from error
