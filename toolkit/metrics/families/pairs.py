"""Documents followed through the modes of one information need: what every paired measure is computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import ROLES as ROLE_NAMES
from toolkit.core.modes import Modes, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.weak_cache import once_per_object, once_per_pair
from toolkit.core.tables.columns import text_order, to_arrow
from toolkit.metrics.families.join import Located, locate
from toolkit.registry import modes_of

BASE, CHANGED, REVERSED = ROLES = (0, 1, 2)  # the places of `core.modes.ROLES`


@dataclass(frozen=True, eq=False)
class Pairs:
    """The documents relevant in the base mode, one row each, with their place in every mode.

    query_ids  the base query ids that are judged in base and changed mode, in the order of the qrels
    modes      parallel to query_ids: the names of its base, changed and reversed mode (empty where it has none)
    queries    (n,) int64, code of each row's query
    doc_ids    (n,) the documents
    gold       (n,) bool: relevant in the changed mode too; the others are instruction negatives
    ranks, scores, missing  (n, 3), a column a role, as in `join.Located`
    lengths    (queries, 3), documents retrieved
    relevant   (queries,) int64, N of InfoSearch: how many documents are relevant in the base mode
    unpaired   base query ids judged in one of the two modes only
    documents  of the corpus, as `Qrels.documents`
    """

    query_ids: tuple[str, ...]
    modes: tuple[tuple[str, str, str], ...]
    queries: np.ndarray
    doc_ids: Sequence[str]
    gold: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    missing: np.ndarray
    lengths: np.ndarray
    relevant: np.ndarray
    unpaired: tuple[str, ...]
    documents: Callable[[], int | None]

    @cached_property
    def all_ids(self) -> list[str]:
        """The query ids with their modes, role by role, in the order of `query_ids`; empty for a mode that one lacks."""
        named = list(zip(self.query_ids, self.modes, strict=True))
        return [join_mode(base, names[role]) if names[role] else "" for role in ROLES for base, names in named]

    def at(self, located: Located) -> Pairs:
        """The same documents in another run; located  those of `all_ids`, a row a role and document."""
        columns = zip(Located._fields, located, strict=True)
        return replace(self, **{name: column.reshape(len(ROLES), -1).T for name, column in columns})

    def absent(self, *roles: int) -> np.ndarray:
        """(queries,) bool: the run has no line at all for the query in at least one of these modes."""
        return (self.lengths[:, roles] == 0).any(axis=1)

    def judged_in(self, role: int) -> np.ndarray:
        """(queries,) bool: the query has a mode of this role, in which something is judged."""
        return _has_mode(self.modes, role)

    def has(self, rows: np.ndarray) -> np.ndarray:
        """(queries,) bool: queries with at least one of these rows ((n,) bool)."""
        return np.bincount(self.queries[rows], minlength=len(self.query_ids)) > 0

    def mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(queries,) float64: the mean of a value a row over each query's `rows`; NaN where a query has none."""
        count = np.bincount(self.queries[rows], minlength=len(self.query_ids))
        total = np.bincount(self.queries[rows], values[rows], minlength=len(self.query_ids))
        return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


@lru_cache(maxsize=128)  # many runs are evaluated against the same judgments
def _has_mode(modes: tuple[tuple[str, str, str], ...], role: int) -> np.ndarray:
    return np.array([bool(names[role]) for names in modes], bool)


def judged_modes(query_ids: Sequence[str], modes: Modes) -> dict[str, list[str]]:
    """Base query id -> its mode in each role (base, changed, reversed), empty where it is not judged.

    Ids without a mode are not in it. Of several instructed modes it is the first, where nothing is judged in a base mode that
    they could be compared with. Raises ToolkitError where two modes of a query play the same role otherwise.
    """
    judged: dict[str, list[str]] = {}
    again: list[tuple[str, str, str]] = []
    for query_id in query_ids:
        base, mode = modes.split(query_id)
        if mode:
            roles, role = judged.setdefault(base, ["", "", ""]), ROLE_NAMES.index(modes[mode])
            if roles[role]:
                again.append((base, mode, roles[role]))
            else:
                roles[role] = mode
    for base, mode, first in again:
        if modes[mode] != ROLE_NAMES[CHANGED] or judged[base][BASE]:
            message = f"query {base} is judged as {join_mode(base, first)} and as {join_mode(base, mode)}"
            raise ToolkitError(message, f"a query has one mode of each role: both are {modes[mode]}")
    return judged


def _complete(judged: Sequence[str], modes: Modes) -> tuple[str, ...]:
    """A query's modes by role, also those in which only other queries are judged: a run may hold them all the same."""
    if len(modes.of(ROLE_NAMES[BASE])) > 1:  # of several benchmarks
        return tuple(judged)
    return tuple(mode or next(iter(modes.of(role)), "") for mode, role in zip(judged, ROLE_NAMES, strict=True))


@once_per_pair
def pairs(run: Run, qrels: Qrels, ties: str = "trec") -> Pairs:
    """Follow each document that is relevant in a base mode through the modes of its query."""
    rows, docs = followed(qrels)
    # one search for all modes: code c of role r is query r * len(query_ids) + c
    queries = np.concatenate([rows.queries + role * len(rows.query_ids) for role in ROLES])
    return rows.at(locate(run, rows.all_ids, queries, qrels.doc_ids, np.tile(docs, len(ROLES)), ties))


@once_per_object
def followed(qrels: Qrels) -> tuple[Pairs, np.ndarray]:
    """The documents of `pairs` before any run is known, all of them missing; and their codes in the qrels: (n,) int64."""
    known = modes_of(qrels)
    judged = judged_modes(qrels.query_ids, known)
    bases = tuple(base for base, roles in judged.items() if roles[BASE] and roles[CHANGED])
    # where nothing is judged in a reversed mode, nobody reversed an instruction: there is no such mode to be absent from
    known = known.only(mode for roles in judged.values() for mode in roles)
    modes = tuple(_complete(judged[base], known) for base in bases)
    queries, docs, gold = _relevant(qrels, [[join_mode(base, mode) for mode in judged[base]] for base in bases])
    shape = (len(docs), len(ROLES))
    rows = Pairs(
        bases,
        modes,
        queries,
        qrels.doc_ids.take(to_arrow(docs)).to_pylist(),
        gold,
        ranks=np.ones(shape, np.int64),
        scores=np.zeros(shape),
        missing=np.ones(shape, bool),
        lengths=np.zeros((len(bases), len(ROLES)), np.int64),
        relevant=np.bincount(queries, minlength=len(bases)),
        unpaired=tuple(base for base, roles in judged.items() if not (roles[BASE] and roles[CHANGED])),
        documents=qrels.documents,
    )
    return rows, docs


def _relevant(qrels: Qrels, judged: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is relevant in the base modes: position in `judged`, document code, whether it stays relevant when changed."""
    code = {query_id: code for code, query_id in enumerate(qrels.query_ids)}
    base_of = np.full(len(code), -1, np.int64)
    base_of[[code[roles[BASE]] for roles in judged]] = np.arange(len(judged))
    changed = np.array([code[roles[CHANGED]] for roles in judged], np.int64)

    rows = qrels.relevance > 0
    relevant_queries, relevant_docs = qrels.queries[rows].astype(np.int64), qrels.docs[rows].astype(np.int64)
    queries = base_of[relevant_queries]
    queries, docs = np.unique(np.stack([queries, relevant_docs])[:, queries >= 0], axis=1)
    width = len(qrels.doc_ids)
    gold = np.isin(changed[queries] * width + docs, relevant_queries * width + relevant_docs)
    # means over a query's documents do not depend on the order of the qrels' lines in their last digit
    order = np.lexsort((text_order(qrels.doc_ids)[docs], queries))
    return queries[order], docs[order], gold[order]
