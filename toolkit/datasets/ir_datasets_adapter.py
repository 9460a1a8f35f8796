"""Collections of ir_datasets in the form of our benchmarks: one group `all`, no modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, TypeVar

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.lazy_names import requests
from toolkit.core.topics import Topic
from toolkit.files.store.bounded_http import reason, session

Value = TypeVar("Value")

ALL = "all"
# diversity tracks name the subtopic, older ones the iteration
SECOND_COLUMN = ("subtopic_id", "iteration")


@functools.cache
def open_ir_dataset(name: str) -> IrDataset | None:
    """The collection of this id, None where ir_datasets has none; nothing is downloaded yet."""
    import ir_datasets

    # what its downloads are made with: through our sessions, without passwords of a netrc
    ir_datasets.lazy_libs.requests = lambda: SimpleNamespace(get=_get, exceptions=requests.exceptions)
    try:
        return IrDataset(name, ir_datasets.load(name))
    except KeyError:
        return None


_may_fetch = ContextVar("may_fetch", default=True)  # of each thread its own


class _NotAskedFor(BaseException):
    """Of a download; no Exception, which ir_datasets would warn of."""


def _get(**request: Any) -> Any:
    if not _may_fetch.get():
        raise _NotAskedFor
    return session().get(**request)


@contextmanager
def at_hand(name: str, hint: str) -> Iterator[None]:
    """Within it nothing is downloaded: ToolkitError where ir_datasets would. For what data names, and no user has asked for."""
    before = _may_fetch.set(False)
    try:
        yield
    except _NotAskedFor:
        raise ToolkitError(f"{name} of ir_datasets is not on this machine, and only a record names it", hint) from None
    finally:
        _may_fetch.reset(before)


class IrDataset:
    """A collection of ir_datasets; what it has to download, ir_datasets downloads to its own folder."""

    groups = (ALL,)

    def __init__(self, name: str, dataset: Any):
        self._name, self._dataset = name, dataset
        self.spec = BenchmarkSpec(name, f"ir_datasets: {name}", "ir_datasets", {}, ({"name": ALL},), (), {})

    def __str__(self) -> str:
        return self._name

    def topics(self, group: str = ALL, mode: str = "") -> list[Topic]:
        """The queries, each with the text that ir_datasets names as its default."""
        rows = self._all("queries", lambda: list(self._dataset.queries_iter()))
        return [Topic(row.query_id, row.default_text(), query=row.default_text()) for row in rows]

    def narratives(self) -> dict[str, str]:
        """Query id -> what its topic says of relevant documents; empty where the collection has no narratives."""
        if "narrative" not in self._dataset.queries_cls()._fields:
            return {}
        return {row.query_id: row.narrative for row in self._all("queries", lambda: list(self._dataset.queries_iter()))}

    def qrels(self, group: str = ALL, mode: str = "") -> Qrels:
        """The judgments, with their subtopics or iterations where there are some."""
        rows = self._all("qrels", lambda: list(self._dataset.qrels_iter()))
        second = next((field for field in SECOND_COLUMN if field in self._dataset.qrels_cls()._fields), None)
        columns = [[row.query_id for row in rows], [row.doc_id for row in rows], [row.relevance for row in rows]]
        return Qrels.from_columns(*columns, [str(getattr(row, second)) for row in rows] if second else None, self._name)

    def docs(self, group: str = ALL) -> Iterator[Doc]:
        """The corpus; a document's default text already holds its title."""
        return (Doc(row.doc_id, "", row.default_text()) for row in self._all("docs", self._dataset.docs_iter))

    def scoreddocs(self, group: str = ALL, mode: str = "") -> Run | None:
        """Candidates to rerank, where the collection has some."""
        if not self._dataset.has_scoreddocs():
            return None
        return Run.from_rows(self._all("scoreddocs", lambda: list(self._dataset.scoreddocs_iter())), source=self._name)

    def _all(self, what: str, read: Callable[[], Value]) -> Value:
        if not self._dataset.has(what):
            raise ToolkitError(f"{self._name} has no {what}", "see its page at ir-datasets.com")
        try:
            return read()
        except (OSError, RuntimeError) as error:  # its downloads fail with either
            # where several addresses fail, each with its error: the last one's
            last = error.args[1][-1][1] if len(error.args) == 2 and isinstance(error.args[1], list) else error
            hint = "check the network, or name a file"
            raise ToolkitError(f"cannot fetch the {what} of {self._name} ({reason(last)})", hint, status=1) from error
