"""How many core queries it takes until a measure says of two runs what other core queries say, and tells them apart.

Core queries are drawn without replacement, from each group in proportion to its size. Of each such part, the run with the
better mean is compared with that of the core queries which were left out (as by Buckley and Voorhees, SIGIR 2000): of runs that
differ by chance alone the two agree half of the time. And the difference is tested (`toolkit.metrics.inference`): the share of
pairs of runs for which p is below 0.05, on all core queries, is the discriminative power of Sakai (SIGIR 2006).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import SIGNIFICANT
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.datasets import Benchmark
from toolkit.datasets.accepted import Judging, Measures, Modes, Runs
from toolkit.evaluation.analyses.power import pair_cores, registered_runs
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.evaluation.scores.paired_values import Key
from toolkit.metrics.inference import TOLERANCE, Cores, estimate

PARTS = 200  # that are drawn of each size
SHARES = (0.25, 0.5, 1.0)  # of the core queries that there are
FEWEST = 4  # core queries of a group, so that a part and what is left out have two at least
COLUMNS = (Column("measure", label=True), *map(Column, ("mode", "core queries", "agree", "significant", "pairs")))
NOTES = (
    f"agree: over {PARTS} parts of so many core queries and all pairs of runs, how often the better run is better on the core "
    "queries left out, too; 0.5 is chance",
    f"significant: how often the difference has p < {SIGNIFICANT:g}; of all core queries, the discriminative power",
)


class Decided(NamedTuple):
    """One measure in one mode on parts of so many core queries, over all pairs of runs.

    agree        share of parts whose better run is the better one on the core queries left out; equal means count half. None
                 where nothing is left out
    significant  share of parts for which the difference is significant
    pairs        of runs
    """

    measure: str
    mode: str
    core_queries: int
    agree: float | None
    significant: float
    pairs: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """As a row of a table with `COLUMNS`."""
        agree = None if self.agree is None else Number(self.agree, share=True)
        return (*self[:3], agree, Number(self.significant, share=True), self.pairs)


def measure_discrimination(
    runs: Runs | None = None,
    *,
    benchmark: str | Benchmark | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    seed: int = 0,
) -> Table:
    """A row for each measure, mode and number of core queries: a quarter of those that there are, half, and all.

    runs              as `toolkit.evaluation.evaluate` takes them; None for the registered runs of the benchmark
    qrels ... measures  likewise
    seed              of the parts

    Raises ToolkitError for fewer than two runs, for groups of fewer than four core queries, and as `evaluate` does.
    """
    if runs is None:
        if benchmark is None:
            raise ToolkitError("no run is named", "name two runs or more, or --benchmark for its registered runs")
        runs = registered_runs(str(benchmark))
    given = prepare(runs, benchmark, qrels, None, "tandem", modes=modes, measures=measures, apart=True)
    return Table(COLUMNS, [row.cells for row in decisions(given, measures, seed=seed)], (*NOTES, *given.judgments.notes))


def decisions(evaluation: Evaluation, measures: Sequence[str] | None, *, seed: int = 0) -> list[Decided]:
    """Every measure and mode of the table, over all groups, for `PARTS` parts of each size.

    evaluation  of two runs or more

    Raises ToolkitError for fewer than two runs, for groups of fewer than four core queries, and where no measure has a value.
    """
    if len(evaluation.runs) < 2:
        raise ToolkitError("one run alone cannot be told apart", "name two runs or more")
    if seed < 0:
        raise ToolkitError(f"the seed is {seed}", "--seed is a whole number from 0 on")
    found: dict[Key, list[list[Cores]]] = {}
    for pair in pair_cores(evaluation, measures):
        overall = next(reversed(pair), ("",))[0]
        for key in (key for group, key in pair if group == overall):
            found.setdefault(key, []).append(pair[overall, key])
    if not found:
        raise ToolkitError("no measure has a value", "name measures with -m that these judgments allow")
    fewest = min(len(group.sums) for pairs in found.values() for groups in pairs for group in groups)
    if fewest < FEWEST:
        raise ToolkitError(f"a group has {fewest} core queries", f"parts can be drawn of {FEWEST} or more")
    return [_decided(key, pairs, share, seed) for key, pairs in found.items() for share in SHARES]


def _decided(key: Key, pairs: Sequence[Sequence[Cores]], share: float, seed: int) -> Decided:
    agreeing, significant = [], []
    for groups in pairs:
        generator = np.random.default_rng(seed)
        drawn, left_out = [], []  # a column a part
        for group in groups:
            places = np.tile(np.arange(len(group.sums)), (PARTS if share < 1 else 1, 1))  # all core queries are one part
            order, size = generator.permuted(places, axis=1).T, _size(group, share)
            for parts, rows in ((drawn, order[:size]), (left_out, order[size:])):
                parts.append(Cores(group.sums[rows], group.sizes[rows]))
        found = estimate(drawn)
        significant.append(float((found.p < SIGNIFICANT).mean()))
        if share < 1:
            agreeing.append(float((_sign(found.mean) * _sign(estimate(left_out).mean) + 1).mean() / 2))
    core_queries = sum(_size(group, share) for group in pairs[0])
    return Decided(*key, core_queries, float(np.mean(agreeing)) if agreeing else None, float(np.mean(significant)), len(pairs))


def _size(group: Cores, share: float) -> int:
    return max(FEWEST // 2, round(len(group.sums) * share))


def _sign(means: np.ndarray) -> np.ndarray:
    return np.sign(np.where(np.abs(means) < TOLERANCE, 0, means))
