"""The one join of a run and judgments: where does each judged document stand?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.system.weak_cache import once_per_object, once_per_pair
from toolkit.core.tables.columns import lookup, text_order, to_arrow

TABLE = 1 << 22  # numbers that a table of all holds: with more, hashing is faster


class Located(NamedTuple):
    """Where wanted (query, document) pairs stand in a run.

    ranks    (n,) int64, from 1; run length + 1 where the document is not in the query's ranking
    scores   (n,) float64, as written; 0 where missing
    missing  (n,) bool
    lengths  (queries,) int64, how many documents the run has for each query; 0 where the query is absent
    """

    ranks: np.ndarray
    scores: np.ndarray
    missing: np.ndarray
    lengths: np.ndarray


def locate(
    run: Run, query_ids: Sequence[str], queries: np.ndarray, doc_ids: pyarrow.StringArray, docs: np.ndarray, ties: str
) -> Located:
    """Find the n pairs (`query_ids[queries[i]]`, `doc_ids[docs[i]]`) in the run, ranked under the tie policy.

    Raises ToolkitError where the run has one of the documents twice in a query.
    """
    query_codes = lookup(query_ids, to_arrow(run.query_ids))
    lengths = np.append(run.lengths, 0)[query_codes]  # code -1, an absent query, takes the 0
    width = len(doc_ids)
    findable = query_codes[queries] >= 0
    wanted, wanted_by = np.unique(query_codes[queries[findable]] * width + docs[findable], return_inverse=True)

    # only lines of wanted queries whose document is wanted in some query can match: of millions usually few are left
    queried = np.zeros(len(run.query_ids) + 1, bool)
    queried[query_codes] = True
    lines = np.flatnonzero(queried[run.queries])
    doc_codes = run.documents.find(doc_ids)[lines]
    keys = run.queries[lines].astype(np.int64) * width + doc_codes
    keys[doc_codes < 0] = -1
    match = _numbered(keys, wanted, len(run.query_ids) * width)
    lines, match = lines[match >= 0], match[match >= 0]
    if np.bincount(match, minlength=1).max() > 1:
        _, first = np.unique(match, return_index=True)
        line = lines[np.setdiff1d(np.arange(len(match)), first)[0]]
        query_id, doc_id = run.query_ids[run.queries[line]], run.documents[line]
        message = f"{run.source or 'the run'}: document {doc_id} is ranked twice for query {query_id}"
        raise ToolkitError(message, "a run has each document at most once in a query")

    line_of = np.full(len(wanted), -1, np.int64)
    line_of[match] = lines
    pair_lines = np.full(len(docs), -1, np.int64)
    pair_lines[findable] = line_of[wanted_by]
    missing = pair_lines < 0
    ranks, scores = lengths[queries] + 1, np.zeros(len(docs))
    ranks[~missing] = run.ranks(ties)[pair_lines[~missing]]
    scores[~missing] = run.scores[pair_lines[~missing]]
    return Located(ranks, scores, missing, lengths)


def _numbered(keys: np.ndarray, wanted: np.ndarray, bound: int) -> np.ndarray:
    """For each key, -1 or from 0 on and below `bound`, its place in `wanted`; -1 where it is not there."""
    if bound > TABLE:
        return lookup(to_arrow(keys), to_arrow(wanted))
    places = np.full(bound + 1, -1, np.int64)
    places[wanted] = np.arange(len(wanted))
    return places[keys]


@dataclass(frozen=True, eq=False)
class Positions:
    """One row a judgment: its label and where its document stands; rows are sorted by query, document and subtopic.

    query_ids  the judged queries, in the order of the qrels
    queries    (n,) int64, code of each row's query
    docs       (n,) int64, code of each row's document (only equality means something)
    subtopics  (n,) int64, code of the judgment's second column
    relevance  (n,) int64
    ranks, scores, missing, lengths  as in `Located`; lengths is parallel to query_ids
    iterations, weights  of the qrels: the names of the subtopics, and how much each counts
    ideals     cutoff -> what nDCG divides by, once it is asked for: the same judgments share it over all runs
    """

    query_ids: tuple[str, ...]
    queries: np.ndarray
    docs: np.ndarray
    subtopics: np.ndarray
    relevance: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    missing: np.ndarray
    lengths: np.ndarray
    iterations: tuple[str, ...] = ()
    weights: Mapping[tuple[str, str], float] = field(default_factory=dict)
    ideals: dict[int | None, np.ndarray] = field(default_factory=dict)

    @property
    def absent(self) -> np.ndarray:
        """(queries,) bool: the run has no line at all for the query."""
        return self.lengths == 0

    def at(self, located: Located) -> Positions:
        """The same judgments in another run."""
        return replace(self, **located._asdict())

    def documents(self) -> Positions:
        """One row a (query, document): its highest label over the subtopics, as for measures that know none."""
        if starts(self.queries, self.docs).all():
            return self
        best = np.lexsort((-self.relevance, self.docs, self.queries))
        # back in the order of ids: sums do not depend on which document came first in the file
        return self._rows(np.sort(best[starts(self.queries[best], self.docs[best])]))

    def total(self, weights: np.ndarray) -> np.ndarray:
        """(queries,) float64: the sum of a value a row over each query's rows."""
        return np.bincount(self.queries, weights, minlength=len(self.query_ids))

    def shares(self) -> np.ndarray:
        """(n,) float64: the share that each row's subtopic has of its query's weights.

        The shares of a query's subtopics sum to 1, those that only the weights name among them. A subtopic without a weight
        weighs 1.
        """
        pairs, row_pairs = np.unique(np.stack([self.queries, self.subtopics]), axis=1, return_inverse=True)
        named = [(self.query_ids[query], self.iterations[subtopic]) for query, subtopic in pairs.T.tolist()]
        weights = np.array([self.weights.get(pair, 1.0) for pair in named], np.float64)
        totals = np.bincount(pairs[0], weights, minlength=len(self.query_ids))
        codes = {query_id: code for code, query_id in enumerate(self.query_ids)}
        for query_id, name in self.weights.keys() - set(named):
            if query_id in codes:
                totals[codes[query_id]] += self.weights[query_id, name]
        shares = np.divide(weights, totals[pairs[0]], out=np.zeros(len(weights)), where=totals[pairs[0]] > 0)
        return shares[row_pairs.reshape(-1)]

    def _rows(self, rows: np.ndarray) -> Positions:
        columns = ("queries", "docs", "subtopics", "relevance", "ranks", "scores", "missing")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns}, ideals={})


@once_per_pair
def positions(run: Run, qrels: Qrels, ties: str = "trec") -> Positions:
    """Join a run with its judgments; repeated judgments count once.

    ties  `trec` or `file`, as in `Run.order`
    """
    rows = judgments(qrels)
    return rows.at(locate(run, qrels.query_ids, rows.queries, qrels.doc_ids, rows.docs, ties))


@once_per_object
def judgments(qrels: Qrels) -> Positions:
    """The rows of `positions` before any run is known: every document missing, every query absent."""
    queries, docs, subtopics = (getattr(qrels, name).astype(np.int64) for name in ("queries", "docs", "subtopics"))
    # sums over rows do not depend on the order of the qrels' lines in their last digit
    order = np.lexsort((subtopics, text_order(qrels.doc_ids)[docs], queries))
    rows = order[starts(queries[order], docs[order], subtopics[order])]
    n, queried = len(rows), len(qrels.query_ids)
    nowhere = Located(np.ones(n, np.int64), np.zeros(n), np.ones(n, bool), np.zeros(queried, np.int64))
    columns = (column[rows] for column in (queries, docs, subtopics, qrels.relevance))
    return Positions(qrels.query_ids, *columns, *nowhere, qrels.iterations, qrels.weights)


def starts(*columns: np.ndarray) -> np.ndarray:
    """(n,) bool: the rows of sorted columns that differ from the row before."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new
