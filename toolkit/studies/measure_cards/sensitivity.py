"""How far a measure depends on what nobody looks at in a run: digits of scores, the order of equal ones, the depth of lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.datasets import Benchmark
from toolkit.datasets.accepted import Judging, Measures, Modes, Runs
from toolkit.evaluation.scores.evaluation import Evaluation, prepare, to_depth

DIGITS, MOST_DIGITS = 3, 16
DEPTHS = (100, 20, 10)
TIES = "ties reversed"
TOLERANCE = 1e-9
NOTES = (
    "changed: the share of queries whose value becomes another one",
    f"{TIES}: documents of equal scores by ascending ids, where trec_eval has descending ones",
)


class Changed(NamedTuple):
    """What a change does to one measure of a run in one mode, over all groups.

    change   `3 digits`, `ties reversed`, `depth 20`
    changed  share of queries whose value becomes another one
    """

    run: str
    measure: str
    mode: str
    change: str
    before: float
    after: float
    changed: float
    queries: int


def rounded(run: Run, digits: int) -> Run:
    """The run with its scores rounded to so many digits after the point."""
    return replace(run, scores=np.round(run.scores, digits))


def ties_reversed(run: Run) -> Run:
    """The run with documents of equal scores in the other order than trec_eval's: by ascending ids."""
    return _TiesReversed(**{each.name: getattr(run, each.name) for each in fields(run)})


@dataclass(frozen=True, eq=False, repr=False)
class _TiesReversed(Run):
    @cached_property
    def _trec_order(self) -> np.ndarray:
        return np.lexsort((self.documents.ordered(np.arange(len(self))), -self.scores.astype(np.float32), self.queries))


def measure_sensitivity(
    runs: Runs,
    *,
    benchmark: str | Benchmark | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    digits: int = DIGITS,
    depths: Sequence[int] = DEPTHS,
) -> Table:
    """A row for each run, measure, mode and change: the value before and after, and the share of queries whose value changes.

    runs ... measures  as `toolkit.evaluation.evaluate` takes them
    digits             after the point that scores keep
    depths             how many documents of a list are kept

    Raises ToolkitError as `evaluate` does.
    """
    if not 0 <= digits <= MOST_DIGITS:
        raise ToolkitError(f"digits is {digits}", f"0 to {MOST_DIGITS} digits after the point")
    given = prepare(runs, benchmark, qrels, None, "tandem", modes=modes, measures=measures)
    labels = (Column("run", label=True), Column("measure", label=True), Column("mode"), Column("change", label=True))
    rows = [
        (*row[:4], Number(row.before), Number(row.after), Number(row.changed, share=True), row.queries)
        for row in changes(given, measures, digits, depths)
    ]
    columns = (*labels, *map(Column, ("before", "after", "changed", "queries")))
    return Table(columns, rows, (*NOTES, *given.judgments.notes))


def changes(
    given: Evaluation, measures: Sequence[str] | None, digits: int = DIGITS, depths: Sequence[int] = DEPTHS
) -> Iterator[Changed]:
    """What rounding, ties and each depth do to every run."""
    kinds = {f"{digits} digits": lambda run: rounded(run, digits), TIES: ties_reversed}
    kinds |= {f"depth {depth}": lambda run, depth=depth: to_depth(run, depth) for depth in depths}
    before = given.scores(measures, by_query=True)
    values = _by_query(before)
    for change, changed in kinds.items():
        after = replace(given, runs=tuple(map(changed, given.runs))).scores(measures, by_query=True)
        others, overall = _by_query(after), {_place(row): row.value for row in after.overall()}
        for row in before.overall():
            own, other = values.get(_place(row), {}), others.get(_place(row), {})
            if own:
                # a query that has no value any more is changed too
                share = sum(not abs(own[query] - other.get(query, np.nan)) <= TOLERANCE for query in own) / len(own)
                yield Changed(*_place(row), change, row.value, overall.get(_place(row), np.nan), share, len(own))


def _place(row: Score) -> tuple[str, str, str]:
    return row.run, row.measure, row.mode


def _by_query(scores: Scores) -> dict[tuple[str, str, str], dict[str, float]]:
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in scores.rows:
        if row.query_id:
            found.setdefault(_place(row), {})[f"{row.group} {row.query_id}"] = row.value
    return found
