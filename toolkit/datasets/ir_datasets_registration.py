"""Our benchmarks under ir_datasets' ids: `infosearch/audience/ins`, `infosearch/ins` for all dimensions that are there,
`infosearch` for all modes of them; with `-` as on the command line, too.

Imported once ir_datasets itself is: nothing here runs before.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, BaseScoredDocs, GenericScoredDoc, TrecQrel
from ir_datasets.indices import Docstore

from toolkit import registry
from toolkit.datasets.benchmark import Benchmark, load
from toolkit.datasets.names import Selection, chained_docs, find, group_names


class TandemDoc(NamedTuple):
    """A document. default_text: what a system is given (title, one blank, text)."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        """Title, one blank, text; the text alone without a title."""
        return f"{self.title} {self.text}" if self.title else self.text


class TandemQuery(NamedTuple):
    """A query in one mode; the fields of `toolkit.core.topics.Topic`."""

    query_id: str
    text: str
    query: str
    instruction: str
    condition: str
    mode: str
    group_id: str
    original_id: str
    released: str
    wordings: Mapping[str, str]
    perspectives: tuple[str, ...]

    def default_text(self) -> str:
        """What a system is given in this mode."""
        return self.text


class _Slices(list):
    """ir_datasets takes `docs_iter()` both as an iterator and as something to slice."""

    def __iter__(self) -> Iterator:
        self._rest = super().__iter__()
        return self._rest

    def __next__(self):
        if not hasattr(self, "_rest"):
            iter(self)
        return next(self._rest)

    def __getitem__(self, key: int | slice):
        value = super().__getitem__(key)
        return _Slices(value) if isinstance(key, slice) else value


class _Store(Docstore):
    def __init__(self, docs: list[TandemDoc]):
        super().__init__(TandemDoc)
        self._by_id = {doc.doc_id: doc for doc in docs}

    def get_many_iter(self, doc_ids) -> Iterator[TandemDoc]:
        return (self._by_id[doc_id] for doc_id in doc_ids if doc_id in self._by_id)

    def __iter__(self) -> Iterator[TandemDoc]:
        return iter(self._by_id.values())

    def count(self) -> int:
        return len(self._by_id)

    def built(self) -> bool:
        return True


class _Entity:
    """What the four handlers share: the id, and on first use the selection of groups that it means."""

    def __init__(self, name: str):
        self._name = name

    @property
    def _selection(self) -> Selection:
        selection = find(self._name)
        assert selection is not None, self._name
        return selection

    def _pairs(self) -> Iterator[tuple]:
        """(benchmark, group, mode) of every part of it."""
        selection = self._selection
        benchmark = load(selection.benchmark)
        return ((benchmark, group, mode) for group in selection.groups for mode in selection.modes or ("",))

    @property
    def _is_registered(self) -> bool:
        return self._name in ir_datasets.registry

    def _handler(self, what: str, here: Callable[..., bool]) -> Callable:
        """What ir_datasets takes this handler from. It asks for the attribute to know whether there is something of the
        kind: a part that is on this machine may be without (BERDS' qrels, documents that a local copy has not). It asks for
        each while a name is registered, too: then the answer is yes, or an import would read every benchmark."""
        if not self._is_registered:
            return lambda: self
        present = [(benchmark, group) for benchmark, group, _ in self._pairs() if benchmark.is_present(group)]
        if present and not any(here(benchmark, group) for benchmark, group in present):
            raise AttributeError(what)
        return lambda: self


class _Docs(_Entity, BaseDocs):
    @property
    def docs_handler(self) -> Callable:
        return self._handler("docs_handler", _has_docs)

    def docs_iter(self):
        return _Slices(TandemDoc(*doc) for doc in chained_docs(self._selection))

    def docs_count(self) -> int:
        return len(self.docs_iter())

    def docs_cls(self) -> type:
        return TandemDoc

    def docs_store(self, options=None) -> _Store:
        return _Store(self.docs_iter())

    def docs_namespace(self) -> str:
        return self._name


class _Queries(_Entity, BaseQueries):
    def queries_iter(self) -> Iterator[TandemQuery]:
        topics = itertools.chain.from_iterable(benchmark.topics(group, mode) for benchmark, group, mode in self._pairs())
        return (TandemQuery(*(getattr(topic, field) for field in TandemQuery._fields)) for topic in topics)

    def queries_cls(self) -> type:
        return TandemQuery

    def queries_namespace(self) -> str:
        return self._name


def _has_docs(benchmark: Benchmark, group: str) -> bool:
    return not benchmark.is_present(benchmark.spec.corpus(group)) or benchmark.has_docs(group)


class _Qrels(_Entity, BaseQrels):
    @property
    def qrels_handler(self) -> Callable:
        return self._handler("qrels_handler", Benchmark.has_qrels)

    def qrels_iter(self) -> Iterator[TrecQrel]:
        rows = itertools.chain.from_iterable(benchmark.qrels(group, mode) for benchmark, group, mode in self._pairs())
        return (TrecQrel(*row) for row in rows)

    def qrels_cls(self) -> type:
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        return {1: "what the query asks for in this mode", 0: "not that"}


class _ScoredDocs(_Entity, BaseScoredDocs):
    @property
    def scoreddocs_handler(self):
        """ir_datasets asks for this attribute to know whether there are candidates: a local copy may have none."""
        if self._is_registered and not self._runs():
            raise AttributeError("scoreddocs_handler")
        return lambda: self

    def _runs(self) -> list:
        present = [(benchmark, group, mode) for benchmark, group, mode in self._pairs() if benchmark.is_present(group)]
        return [run for run in (benchmark.scoreddocs(group, mode) for benchmark, group, mode in present) if run is not None]

    def scoreddocs_iter(self) -> Iterator[GenericScoredDoc]:
        rankings = itertools.chain.from_iterable(run.rankings("file") for run in self._runs())
        return (GenericScoredDoc(*row) for _, ranking in rankings for row in ranking)


def register() -> None:
    """Register the ids of every benchmark of the registry; those with `-` when they are first asked for."""
    for spec in registry.benchmarks().values():
        for group, mode in itertools.product(group_names(spec), dict.fromkeys(("", *spec.modes))):
            name = "/".join(filter(None, (spec.name, group, mode)))
            ir_datasets.registry.register(name, _dataset(name))
    names = "|".join(map(re.escape, registry.benchmarks()))
    ir_datasets.registry.register_pattern(f"^(?:{names})[-/].+$", lambda name, _: _known(name))


def _dataset(name: str) -> Dataset:
    return Dataset(*(handler(name) for handler in (_Docs, _Queries, _Qrels, _ScoredDocs)))


def _known(name: str) -> Dataset:
    if find(name) is None:
        raise KeyError(name)
    return _dataset(name)
