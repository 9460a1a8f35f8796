"""From a measure's name to its values: which function computes it, and what an absent query counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import guess_group, join_mode, split_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.measures import fast, paired, perspectives
from toolkit.measures.grouped import worst_of_groups
from toolkit.measures.join import Positions, positions
from toolkit.measures.pairs import BASE, CHANGED, ROLES, Pairs, pairs


class PerQuery(NamedTuple):
    """A measure's values.

    query_ids  base ids for paired measures, group ids with mode for grouped ones, otherwise as in the qrels
    values     (n,) float64; NaN where the measure leaves the query out
    absent     (n,) bool: the run has no line for the query in a mode that the measure needs
    """

    query_ids: tuple[str, ...]
    values: np.ndarray
    absent: np.ndarray


class Joined:
    """A run and its judgments, joined once for all measures of an evaluation.

    groups       base query id -> core query; where it is None, the id without its last number
    skip_absent  leave absent queries out of groups instead of counting them 0
    """

    def __init__(self, run: Run, qrels: Qrels, groups: Mapping[str, str] | None = None, *, skip_absent: bool = False):
        self.run = run
        self.qrels = qrels
        self.groups = groups
        self.skip_absent = skip_absent
        self._made: dict[tuple[str, str], Positions | Pairs] = {}

    def positions(self, ties: str) -> Positions:
        """Where each judgment's document stands."""
        return self._once("positions", ties, lambda: positions(self.run, self.qrels, ties))

    def documents(self, ties: str) -> Positions:
        """The same, a row a (query, document)."""
        return self._once("documents", ties, lambda: self.positions(ties).documents())

    def pairs(self, ties: str) -> Pairs:
        """Documents followed through the modes."""
        return self._once("pairs", ties, lambda: pairs(self.run, self.qrels, ties))

    def group(self, query_id: str) -> str:
        """The core query of a query id, with the id's mode."""
        base, mode = split_mode(query_id)
        if self.groups is None:
            return join_mode(guess_group(base), mode)
        if base not in self.groups:
            raise ToolkitError(f"query {base} has no core query", "groups must name one for every judged query")
        return join_mode(self.groups[base], mode)

    @property
    def without_group(self) -> bool:
        """Whether no two judged queries are of one core query, so that each is the minimum of its own."""
        query_ids = self.qrels.query_ids
        return len({self.group(query_id) for query_id in query_ids}) == len(query_ids)

    def _once(self, what, ties, make):
        if (what, ties) not in self._made:
            self._made[what, ties] = make()
        return self._made[what, ties]


def compute(joined: Joined, measure: Measure) -> PerQuery:
    """The values of one of our measures or of a plain one (`PLAIN`), absent queries at their worst."""
    if measure.NAME in PLAIN:
        return _plain(joined, measure)
    return OURS[measure.NAME](joined, measure)


def _plain(joined: Joined, measure: Measure) -> PerQuery:
    found = joined.documents("trec")
    options = {name: measure[name] for name in ("cutoff", "rel") if name in measure.SUPPORTED_PARAMS}
    given = {name: value for name, value in options.items() if value is not NOT_PROVIDED}
    return PerQuery(found.query_ids, PLAIN[measure.NAME](found, **given), found.absent)


def _perspectives(function: Callable[[Positions, int], np.ndarray]):
    def values(joined: Joined, measure: Measure) -> PerQuery:
        found = joined.positions(measure["ties"])
        return PerQuery(found.query_ids, function(found, measure["cutoff"]), found.absent)

    return values


def _robustness(joined: Joined, measure: Measure) -> PerQuery:
    found = joined.documents(measure["ties"])
    values = fast.ndcg(found, measure["cutoff"])
    groups = [joined.group(query_id) for query_id in found.query_ids]
    return PerQuery(*worst_of_groups(values, found.absent, groups, skip_absent=joined.skip_absent))


def _paired(function: Callable[..., np.ndarray], roles: tuple[int, ...], *parameters: str):
    """A measure of base queries that needs the modes of these roles."""

    def values(joined: Joined, measure: Measure) -> PerQuery:
        rows = joined.pairs(measure["ties"])
        values = function(rows, *(measure[name] for name in parameters))
        absent = rows.absent(*roles)
        # a query without a document to follow stays out (NaN), absent or not
        worst = np.nan if measure.DEFAULT is None else measure.DEFAULT
        return PerQuery(rows.query_ids, np.where(absent & ~np.isnan(values), worst, values), absent)

    return values


def _mean_rank(gold: bool):
    """A measure of base queries in each of their modes."""

    def values(joined: Joined, measure: Measure) -> PerQuery:
        rows = joined.pairs(measure["ties"])
        query_ids, values, absent = [], [], []
        for role in ROLES:
            has = np.array([bool(modes[role]) for modes in rows.modes], bool)
            query_ids += [
                join_mode(base, modes[role]) for base, modes in zip(rows.query_ids, rows.modes, strict=True) if modes[role]
            ]
            values.append(paired.mean_ranks(rows, role, gold=gold)[has])
            absent.append(rows.absent(role)[has])
        values, absent = np.concatenate(values), np.concatenate(absent)
        return PerQuery(tuple(query_ids), np.where(absent, np.nan, values), absent)

    return values


PLAIN = {
    "nDCG": fast.ndcg,
    "P": fast.precision,
    "R": fast.recall,
    "RR": fast.reciprocal_rank,
    "AP": fast.average_precision,
    "Success": fast.success,
    "Judged": fast.judged,
}
OURS = {
    "WISE": _paired(paired.wise, ROLES, "cutoff", "variant"),
    "WISE_ideal": _paired(paired.ideal_wise, (BASE,), "cutoff", "variant"),
    "SICR": _paired(paired.sicr, ROLES, "variant"),
    "pMRR": _paired(paired.pmrr, (BASE, CHANGED)),
    "GoldRank": _mean_rank(gold=True),
    "NegativeRank": _mean_rank(gold=False),
    "Robustness": _robustness,
    "MRecall": _perspectives(perspectives.mrecall),
    "PerspectiveP": _perspectives(perspectives.perspective_precision),
}
