"""From a measure's name to its values: which function computes it, and what an absent query counts."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import ROLES as ROLE_NAMES
from toolkit.core.modes import Modes, guess_group, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import MeasureSpec
from toolkit.metrics import fast
from toolkit.metrics.families.join import Positions, positions
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, ROLES, Pairs, judged_modes, pairs


class PerQuery(NamedTuple):
    """A measure's values.

    query_ids  base ids for paired measures, group ids with mode for grouped ones, else as in the qrels
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

    @cached_property
    def modes(self) -> Modes:
        """What the judged query ids carry."""
        return registry.modes_of(self.qrels)

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
        base, mode = self.modes.split(query_id)
        if self.groups is None:
            return join_mode(guess_group(base), mode)
        if base not in self.groups:
            raise ToolkitError(f"query {base} has no core query", "groups must name one for every judged query")
        return join_mode(self.groups[base], mode)

    def groups_of(self, query_ids: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
        """The core queries with their modes, in order of first appearance; and (n,) int64, which of them each query is of."""
        code: dict[str, int] = {}
        codes = np.array([code.setdefault(self.group(query_id), len(code)) for query_id in query_ids], np.int64)
        return tuple(code), codes

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
        given = {name: measure[name] for name in ("cutoff", "rel") if name in measure.SUPPORTED_PARAMS}
        given = {name: value for name, value in given.items() if value is not NOT_PROVIDED}
        positions = joined.documents("trec")
        return PerQuery(positions.query_ids, PLAIN[measure.NAME](positions, **given), positions.absent)
    spec = registry.measures()[measure.NAME]
    function = partial(function_of(spec), **{name: measure[name] for name in spec.parameters if name != "ties"})
    if not {"gold", "negatives"}.isdisjoint(spec.needs):  # documents are followed through the modes
        pairs = joined.pairs(measure["ties"])
        return _paired(pairs, spec, function) if spec.over == "paired" else _in_each_mode(pairs, spec, function)
    positions = (joined.positions if "subtopics" in spec.needs else joined.documents)(measure["ties"])
    if spec.over == "paired":
        return _of_phrasings(joined, positions, spec, function)
    values = PerQuery(positions.query_ids, function(positions), positions.absent)
    return _minimum_of_groups(joined, values) if spec.over == "group" else values


def function_of(spec: MeasureSpec) -> Callable[..., np.ndarray]:
    """What computes a measure, as its row names it."""
    module, _, name = spec.function.rpartition(".")
    return getattr(importlib.import_module(f"toolkit.metrics.{module}"), name)


def _paired(pairs: Pairs, spec: MeasureSpec, function: Callable[[Pairs], np.ndarray]) -> PerQuery:
    """A measure of base queries over their modes. A query without a document to follow stays out (NaN), absent or not."""
    values = function(pairs)
    if "reversed" in spec.needs:
        values = np.where(pairs.judged_in(REVERSED), values, np.nan)
    absent = pairs.absent(*(ROLE_NAMES.index(role) for role in spec.modes))
    worst = np.nan if spec.worst is None else spec.worst
    return PerQuery(pairs.query_ids, np.where(absent & ~np.isnan(values), worst, values), absent)


def _of_phrasings(
    joined: Joined, positions: Positions, spec: MeasureSpec, function: Callable[[Positions, np.ndarray, np.ndarray], np.ndarray]
) -> PerQuery:
    """A measure of each query's base and instructed mode, of all that is judged in them."""
    judged = judged_modes(positions.query_ids, joined.modes)
    bases = tuple(base for base, modes in judged.items() if modes[BASE] and modes[CHANGED])
    code = {query_id: code for code, query_id in enumerate(positions.query_ids)}
    codes = [np.array([code[join_mode(base, judged[base][role])] for base in bases], np.int64) for role in (BASE, CHANGED)]
    absent = positions.absent[codes[0]] | positions.absent[codes[1]]
    return PerQuery(bases, np.where(absent, spec.worst, function(positions, *codes)), absent)


def _in_each_mode(pairs: Pairs, spec: MeasureSpec, function: Callable[[Pairs, int], np.ndarray]) -> PerQuery:
    """A measure of base queries in each of their modes, or in those that the row names.

    Absent queries are left out; where the measure has a worst value, they count it, and so do those that lack the base mode.
    """
    values, absent = [], []
    worst, needed = (np.nan, ()) if spec.worst is None else (spec.worst, (BASE,))
    roles = tuple(ROLE_NAMES.index(name) for name in spec.modes) or ROLES
    for role in roles:
        judged = pairs.judged_in(role)
        of_mode = function(pairs, role)[judged]
        absent.append(pairs.absent(*needed, role)[judged])
        values.append(np.where(absent[-1] & ~np.isnan(of_mode), worst, of_mode))
    return PerQuery(_ids_in(pairs.query_ids, pairs.modes, roles), np.concatenate(values), np.concatenate(absent))


@lru_cache(maxsize=128)  # many runs are evaluated against the same judgments
def _ids_in(query_ids: tuple[str, ...], modes: tuple[tuple[str, str, str], ...], roles: tuple[int, ...]) -> tuple[str, ...]:
    """The queries with their modes, role by role, without those that have no mode of the role."""
    named = list(zip(query_ids, modes, strict=True))
    return tuple(join_mode(base, names[role]) for role in roles for base, names in named if names[role])


def _minimum_of_groups(joined: Joined, of: PerQuery) -> PerQuery:
    """The minimum over each core query in each mode, in order of first appearance.

    A group is absent where any of its queries is; where absent queries are left out, where all are.
    """
    names, codes = joined.groups_of(of.query_ids)
    lowest = np.full(len(names), np.inf)
    np.minimum.at(lowest, codes, np.where(of.absent & joined.skip_absent, np.inf, of.values))
    absences = np.bincount(codes, of.absent, minlength=len(names))
    absent = absences == np.bincount(codes, minlength=len(names)) if joined.skip_absent else absences > 0
    return PerQuery(names, lowest, absent)


PLAIN = {
    "nDCG": fast.ndcg,
    "P": fast.precision,
    "R": fast.recall,
    "RR": fast.reciprocal_rank,
    "AP": fast.average_precision,
    "Success": fast.success,
    "Judged": fast.judged,
}
