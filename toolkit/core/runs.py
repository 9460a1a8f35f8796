"""Runs: what a system retrieved. Every document keeps its line; the order is derived here and nowhere else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.system.lazy_names import pandas, pyarrow
from toolkit.core.tables.columns import Ids, encode
from toolkit.core.tables.tabular import to_html

SHOWN_QUERIES, SHOWN_DOCS = 3, 5  # in a notebook


class ScoredDoc(NamedTuple):
    """One retrieved document; its rank is its position."""

    query_id: str
    doc_id: str
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A run as parallel columns, one row a line of the file, in the file's order.

    query_ids  the distinct query ids, in order of first appearance
    queries    (n,) int32, code of each line's query
    documents  each line's document id
    scores     (n,) float64, as written
    tag        the system's name (the first line's)
    source     what to call this run in a message (usually the file)
    record     its record (`files.provenance`), where it was made or read with one; a part of it has none
    """

    query_ids: tuple[str, ...]
    queries: np.ndarray
    documents: Ids
    scores: np.ndarray
    tag: str = ""
    source: str = ""
    record: Mapping[str, Any] | None = None

    @classmethod
    def from_columns(cls, query_ids: Iterable[str], doc_ids: Iterable[str], scores: Iterable[float], **names: str) -> Run:
        """A run from three columns of equal length (lists, arrow or pandas columns); `tag` and `source` by keyword."""
        queries, known_queries = encode(query_ids)
        documents, scores = Ids.of(doc_ids), np.asarray(scores, np.float64)
        assert len(queries) == len(documents) == len(scores)
        return cls(tuple(known_queries.to_pylist()), queries, documents, scores, **names)

    @classmethod
    def from_rows(cls, rows: Iterable[ScoredDoc], **names: str) -> Run:
        """A run from (query_id, doc_id, score) rows."""
        query_ids, doc_ids, scores = [], [], []
        for query_id, doc_id, score in rows:
            query_ids.append(query_id)
            doc_ids.append(doc_id)
            scores.append(score)
        return cls.from_columns(query_ids, doc_ids, scores, **names)

    @classmethod
    def from_dict(cls, run: Mapping[str, Mapping[str, float]], **names: str) -> Run:
        """A run from pytrec_eval's form, `{query_id: {doc_id: score}}`."""
        return cls.from_rows((ScoredDoc(q, d, s) for q, docs in run.items() for d, s in docs.items()), **names)

    @property
    def doc_ids(self) -> pyarrow.StringArray:
        """The distinct document ids, in order of first appearance."""
        return self.documents.distinct

    @property
    def docs(self) -> np.ndarray:
        """(n,) int32, code of each line's document in `doc_ids`."""
        return self.documents.codes

    def __repr__(self) -> str:
        tag = f"{self.tag}: " if self.tag else ""
        return f"Run({tag}{len(self.query_ids):,} queries, {len(self):,} documents)"

    def _repr_html_(self) -> str:
        """For notebooks: the best documents of the first queries."""
        rankings = self.select(self.query_ids[:SHOWN_QUERIES]).rankings()
        best = ((q, rank, doc) for q, docs in rankings for rank, doc in enumerate(docs[:SHOWN_DOCS], 1))
        rows = [(q, rank, doc.doc_id, f"{doc.score:g}") for q, rank, doc in best]
        return to_html(("query_id", "rank", "doc_id", "score"), rows, repr(self)[4:-1])

    @property
    def called(self) -> str:
        """What a message calls it."""
        return self.source or self.tag or "the run"

    def __len__(self) -> int:
        return len(self.scores)

    def order(self, ties: str = "trec") -> np.ndarray:
        """Line numbers (from 0) sorted by query (as in `query_ids`), then best first: (n,) int64.

        ties  `trec`: scores as 32-bit floats, descending, then doc_id in bytes, descending, as trec_eval does;
              `file`: 64-bit scores, equal ones keep the order of the file, as InfoSearch's released evaluator does
        """
        return self._trec_order if ties == "trec" else self._file_order

    def ranks(self, ties: str = "trec") -> np.ndarray:
        """(n,) int64: the rank of each line in its query, from 1."""
        ordered = np.arange(1, len(self) + 1)
        ordered -= np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)  # in place: a run may have millions of lines
        ranks = np.empty_like(ordered)
        ranks[self.order(ties)] = ordered
        return ranks

    def scores_by_rank(self) -> np.ndarray:
        """(n,) float64: the scores in `order`."""
        return self.scores[self.order()]

    @property
    def tied(self) -> np.ndarray:
        """(n,) bool, in `order`: lines whose score, as a 32-bit float, another document of the query has too."""
        scores, queries = self.scores_by_rank().astype(np.float32), np.repeat(np.arange(len(self.lengths)), self.lengths)
        equal = (scores[1:] == scores[:-1]) & (queries[1:] == queries[:-1])
        tied = np.zeros(len(scores), bool)
        tied[1:] |= equal
        tied[:-1] |= equal
        return tied

    @cached_property
    def _trec_order(self) -> np.ndarray:
        # uint64 keys that sort lines by query, then by falling score: one sort of numbers instead of one of columns; trec_eval
        # reads scores into C floats: 0.1 + 1e-9 ties with 0.1, and so do -0.0 and 0.0
        # in place: with millions of lines, fresh memory costs more than the arithmetic
        scores = self.scores.astype(np.float32)
        scores += 0  # -0.0 becomes 0.0
        bits = scores.view(np.uint32)
        np.bitwise_xor(bits, np.uint32(2**31 - 1), out=bits, where=bits < np.uint32(2**31))
        keys = self.queries.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= bits
        order = np.arange(len(keys))
        if not np.all(keys[1:] >= keys[:-1]):  # most files are sorted as they are
            order = np.argsort(keys)
            keys = keys[order]
        same = keys[1:] == keys[:-1]
        if same.any():
            # equal keys stand side by side: sorting all lines that have one among themselves leaves each group in its place
            tied = np.append(same, False) | np.insert(same, 0, False)
            lines = order[tied]
            order[tied] = lines[np.lexsort((-self.documents.ordered(lines), keys[tied]))]
        return order

    @cached_property
    def _file_order(self) -> np.ndarray:
        same, falls = self.queries[1:] == self.queries[:-1], self.scores[1:] <= self.scores[:-1]
        if np.all(falls | ~same) and np.all(self.queries[1:] >= self.queries[:-1]):  # the usual file
            return np.arange(len(self))
        return np.lexsort((np.arange(len(self)), -self.scores, self.queries))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of documents of each query, parallel to `query_ids`."""
        return np.bincount(self.queries, minlength=len(self.query_ids))

    def rankings(self, ties: str = "trec") -> Iterator[tuple[str, list[ScoredDoc]]]:
        """Each query with its documents, best first; queries in the order of `query_ids`."""
        order = self.order(ties)
        start = 0
        for query_id, length in zip(self.query_ids, self.lengths.tolist(), strict=True):
            lines = order[start : start + length]
            start += length
            doc_ids = self.documents.texts(lines).to_pylist()
            yield query_id, [ScoredDoc(query_id, d, s) for d, s in zip(doc_ids, self.scores[lines].tolist(), strict=True)]

    def to_dict(self) -> dict[str, dict[str, float]]:
        """pytrec_eval's form, best first."""
        return {query_id: {doc.doc_id: doc.score for doc in ranking} for query_id, ranking in self.rankings()}

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with query_id, doc_id, score, one row a line, in the file's order (ir_measures and `as_run` read it)."""
        query_ids = np.array(self.query_ids, object)[self.queries]
        doc_ids = self.documents.texts(np.arange(len(self))).to_numpy(zero_copy_only=False)
        return pandas.DataFrame({"query_id": query_ids, "doc_id": doc_ids, "score": self.scores})

    def with_query_ids(self, query_ids: Iterable[str]) -> Run:
        """The same lines under other query ids, given in the order of `query_ids` and all different."""
        renamed = tuple(query_ids)
        assert len(renamed) == len(set(renamed)) == len(self.query_ids)
        return replace(self, query_ids=renamed)

    def select(self, query_ids: Iterable[str]) -> Run:
        """The lines of these queries only, in the file's order."""
        wanted = set(query_ids)
        keep = np.array([query_id in wanted for query_id in self.query_ids], bool)
        codes = (np.cumsum(keep) - 1).astype(np.int32)
        run = self.take(np.flatnonzero(keep[self.queries]))
        query_ids = tuple(q for q, is_selected in zip(self.query_ids, keep, strict=True) if is_selected)
        return replace(run, query_ids=query_ids, queries=codes[run.queries], record=None)

    def head(self, depth: int) -> Run:
        """The best `depth` documents of each query, in the file's order."""
        return self.take(np.flatnonzero(self.ranks() <= depth))

    def take(self, lines: np.ndarray, scores: np.ndarray | None = None) -> Run:
        """These lines, by their numbers, in this order; scores: others, parallel to them."""
        scores = self.scores[lines] if scores is None else scores
        return replace(self, queries=self.queries[lines], documents=self.documents.take(lines), scores=scores)

    def excerpt(self, depth: int, more: np.ndarray) -> Excerpt:
        """The best `depth` documents of each query and `more`, lines by their numbers."""
        from toolkit.core.system.memory import stored  # a search makes none

        ranks = {"trec": self.ranks()}
        kept = ranks["trec"] <= depth
        kept[more] = True
        lines = np.flatnonzero(kept)
        ranks["file"] = ranks["trec"] if np.array_equal(self.order(), self.order("file")) else self.ranks("file")
        ranks = {ties: each[lines] for ties, each in ranks.items()}
        parts = self.query_ids, self.queries[lines], Ids(self.documents.texts(lines)), self.scores[lines], self.tag, self.source
        return Excerpt(*parts, lengths=self.lengths, ranked_scores=stored(self.scores_by_rank()), line_ranks=ranks, depth=depth)


@dataclass(frozen=True, eq=False, repr=False)
class Excerpt(Run):
    """Some lines of a run, which know where they stand in all of it: measures need no more of a thousand documents a query.

    lengths        (queries,) int64, of the whole run
    ranked_scores  gives (lines of the whole run,) float64, in its `order`
    line_ranks     ties -> (n,) int64, of the lines that are here
    depth          so many documents of each query are here, the best ones; below, some
    """

    lengths: np.ndarray = field(kw_only=True)
    ranked_scores: Callable[[], np.ndarray] = field(kw_only=True)
    line_ranks: Mapping[str, np.ndarray] = field(kw_only=True)
    depth: int = field(kw_only=True)

    def order(self, ties: str = "trec") -> np.ndarray:
        """None: an error where someone takes it for a whole run."""
        raise AssertionError("the lines of an excerpt have ranks, and no order without the others")

    def ranks(self, ties: str = "trec") -> np.ndarray:
        """(n,) int64: the rank of each line in the whole run."""
        return self.line_ranks[ties]

    def scores_by_rank(self) -> np.ndarray:
        """Those of the whole run."""
        return self.ranked_scores()

    def select(self, query_ids: Iterable[str]) -> Excerpt:
        """The lines of these queries only."""
        wanted = set(query_ids)
        keep = np.array([query_id in wanted for query_id in self.query_ids], bool)
        # seldom asked for, and larger than all else
        scores = lambda: self.scores_by_rank()[np.repeat(keep, self.lengths)]  # noqa: E731
        return replace(super().select(wanted), lengths=self.lengths[keep], ranked_scores=scores)

    def head(self, depth: int) -> Run:
        """The best `depth` documents of each query, no more than are here."""
        assert depth <= self.depth
        best = self.take(np.flatnonzero(self.ranks() <= depth))
        return Run(best.query_ids, best.queries, best.documents, best.scores, best.tag, best.source)

    def take(self, lines: np.ndarray, scores: np.ndarray | None = None) -> Excerpt:
        """These lines."""
        return replace(super().take(lines, scores), line_ranks={ties: each[lines] for ties, each in self.line_ranks.items()})


def join_runs(runs: Iterable[Run], *, tag: str = "", source: str = "") -> Run:
    """Runs with disjoint query ids as one run (what `cat` does to their files)."""
    runs = list(runs)
    if len(runs) == 1:
        return runs[0]
    query_ids = tuple(query_id for run in runs for query_id in run.query_ids)
    assert len(query_ids) == len(set(query_ids))
    # Python's own integers: numpy's would widen the codes to 64 bits
    starts = [0, *itertools.accumulate(len(run.query_ids) for run in runs[:-1])]
    queries = np.concatenate([run.queries + start for run, start in zip(runs, starts, strict=True)])
    documents, scores = Ids.join([run.documents for run in runs]), np.concatenate([run.scores for run in runs])
    tag, source = tag or runs[0].tag, source or ", ".join(run.source for run in runs)
    joined = Run(query_ids, queries, documents, scores, tag, source)
    if not isinstance(runs[0], Excerpt):
        return joined
    return Excerpt(
        **vars(joined),
        lengths=np.concatenate([run.lengths for run in runs]),
        ranked_scores=lambda: np.concatenate([run.scores_by_rank() for run in runs]),
        line_ranks={ties: np.concatenate([run.ranks(ties) for run in runs]) for ties in runs[0].line_ranks},
        depth=min(run.depth for run in runs),
    )


def round_robin(lists: Sequence[Sequence[str]], size: int | None = None) -> list[str]:
    """The first document of each list, the second of each, and so on, each once, until there are `size` (None: to the end).

    A list whose document is there already loses its turn, one that has ended is passed over.
    """
    merged: dict[str, None] = {}
    for rank in range(max(map(len, lists), default=0)):
        merged |= dict.fromkeys(one[rank] for one in lists if rank < len(one))
        if size is not None and len(merged) >= size:
            break
    return list(merged)[:size]
