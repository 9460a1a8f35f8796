"""Qrels: which documents are relevant to which queries, with subtopics where a benchmark has them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from toolkit.core.modes import Modes
from toolkit.core.system.lazy_names import pandas, pyarrow
from toolkit.core.tables.columns import encode, merge
from toolkit.core.tables.tabular import to_html

SHOWN = 10  # in a notebook


class Qrel(NamedTuple):
    """One judgment. iteration: the second column; it names the subtopic (perspective) where a benchmark has them."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """Judgments as parallel columns, one row a line of the file, in the file's order.

    query_ids   the distinct query ids, in order of first appearance
    queries     (n,) int32, code of each line's query
    doc_ids     the distinct document ids
    docs        (n,) int32, code of each line's document
    relevance   (n,) int64
    iterations  the distinct values of the second column
    subtopics   (n,) int32, code of each line's iteration
    source      what to call these qrels in a message
    modes       that the query ids carry; None where nobody says (`registry.modes_of` looks)
    weights     (query id, iteration) -> how much a subtopic of a query counts among them, also one that no line names; all
                count the same where it is empty
    documents   how many the corpus has, counted when it is asked for; None where nobody says
    """

    query_ids: tuple[str, ...]
    queries: np.ndarray
    doc_ids: pyarrow.StringArray
    docs: np.ndarray
    relevance: np.ndarray
    iterations: tuple[str, ...]
    subtopics: np.ndarray
    source: str = ""
    modes: Modes | None = None
    weights: Mapping[tuple[str, str], float] = field(default_factory=dict)
    documents: Callable[[], int | None] = lambda: None

    @classmethod
    def from_columns(
        cls,
        query_ids: Iterable[str],
        doc_ids: Iterable[str],
        relevance: Iterable[int],
        iterations: Iterable[str] | None = None,
        source: str = "",
    ) -> Qrels:
        """Qrels from columns of equal length (lists or arrow columns); without iterations all are `0`."""
        queries, known_queries = encode(query_ids)
        docs, known_docs = encode(doc_ids)
        relevance = np.asarray(relevance, np.int64)
        if iterations is None:
            subtopics, known_subtopics = np.zeros(len(queries), np.int32), ("0",)
        else:
            subtopics, values = encode(iterations)
            known_subtopics = tuple(values.to_pylist())
        assert len(queries) == len(docs) == len(relevance) == len(subtopics)
        return cls(tuple(known_queries.to_pylist()), queries, known_docs, docs, relevance, known_subtopics, subtopics, source)

    @classmethod
    def from_rows(cls, rows: Iterable[Qrel], source: str = "") -> Qrels:
        """Qrels from judgments."""
        rows = list(rows)
        return cls.from_columns(*([getattr(row, name) for row in rows] for name in Qrel._fields), source=source)

    def __repr__(self) -> str:
        return f"Qrels({len(self.query_ids):,} queries, {len(self):,} judgments)"

    def _repr_html_(self) -> str:
        """For notebooks: the first judgments."""
        return to_html(Qrel._fields, itertools.islice(self, SHOWN), repr(self)[6:-1])

    def __len__(self) -> int:
        return len(self.relevance)

    def __iter__(self) -> Iterator[Qrel]:
        doc_ids = self.doc_ids.to_pylist()
        columns = (self.queries.tolist(), self.docs.tolist(), self.relevance.tolist(), self.subtopics.tolist())
        for query, doc, relevance, subtopic in zip(*columns, strict=True):
            yield Qrel(self.query_ids[query], doc_ids[doc], relevance, self.iterations[subtopic])

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with query_id, doc_id, relevance, iteration (ir_measures reads it)."""
        return pandas.DataFrame(list(self), columns=list(Qrel._fields))

    def with_query_ids(self, query_ids: Iterable[str]) -> Qrels:
        """The same judgments under other query ids, given in the order of `query_ids` and all different."""
        renamed = tuple(query_ids)
        assert len(renamed) == len(set(renamed)) == len(self.query_ids)
        names = dict(zip(self.query_ids, renamed, strict=True))
        weights = {(names[query_id], name): weight for (query_id, name), weight in self.weights.items() if query_id in names}
        return replace(self, query_ids=renamed, weights=weights)

    def select(self, query_ids: Iterable[str]) -> Qrels:
        """The judgments of these queries only, in their order."""
        wanted = set(query_ids)
        keep = np.array([query_id in wanted for query_id in self.query_ids], bool)
        codes, rows = (np.cumsum(keep) - 1).astype(np.int32), keep[self.queries]
        columns = {name: getattr(self, name)[rows] for name in ("docs", "relevance", "subtopics")}
        names = tuple(query_id for query_id, is_wanted in zip(self.query_ids, keep, strict=True) if is_wanted)
        return replace(self, query_ids=names, queries=codes[self.queries[rows]], **columns)


def join_qrels(qrels: Iterable[Qrels], source: str = "") -> Qrels:
    """Several qrels as one; all lines are kept. Of several corpora there is no number of documents."""
    qrels = list(qrels)
    if len(qrels) == 1:
        return qrels[0]
    queries, query_ids = merge((part.queries, part.query_ids) for part in qrels)
    docs, doc_ids = merge((part.docs, part.doc_ids) for part in qrels)
    subtopics, iterations = merge((part.subtopics, part.iterations) for part in qrels)
    relevance = np.concatenate([part.relevance for part in qrels])
    source = source or ", ".join(part.source for part in qrels)
    modes = qrels[0].modes if all(part.modes == qrels[0].modes for part in qrels) else None
    codes = (tuple(query_ids.to_pylist()), queries, doc_ids, docs, relevance, tuple(iterations.to_pylist()), subtopics)
    weights = {key: weight for part in qrels for key, weight in part.weights.items()}

    def documents() -> int | None:
        sizes = {part.documents() for part in qrels}
        return sizes.pop() if len(sizes) == 1 else None

    return Qrels(*codes, source, modes, weights, documents)
