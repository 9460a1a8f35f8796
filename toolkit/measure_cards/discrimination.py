"""How often a measure decides for the better of two runs, and how often it tells them apart, by the number of core queries.

Samples of core queries are drawn with replacement, from each group in proportion to its size. In each sample the difference of
two runs is tested by Sakai's paired bootstrap test (SIGIR 2006: studentised, two-sided); the share of pairs of runs that it
tells apart at the level 0.05 is his discriminative power. The better run is that with the higher value on all core queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from toolkit.analyze.power import registered_runs
from toolkit.core.aligned_table import Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.evaluate.evaluation import Evaluation, prepare
from toolkit.evaluate.paired_values import Key, paired_values
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.estimates import Estimate

SIGNIFICANT = 0.05
SAMPLES = 200  # of core queries
RESAMPLES = 500  # of each, in its test
SHARES = (0.25, 0.5, 1.0, 2.0)  # of the core queries that there are
TINY = 1e-12
NOTES = (
    f"right: the share of {SAMPLES} samples of so many core queries in which the run is better that is better on all",
    f"apart: the share of samples and pairs of runs that a paired bootstrap test tells apart (p < {SIGNIFICANT:g})",
    "pairs: of runs whose values differ",
)
LEAST = 2  # core queries of a group: one has no standard error


class Decided(NamedTuple):
    """One measure in one mode on samples of so many core queries, over pairs of runs.

    right  share of samples in which the better run has the higher value (equal values count half)
    apart  share of samples that tell the two apart
    pairs  of runs whose values differ at all
    """

    measure: str
    mode: str
    core_queries: int
    right: float
    apart: float
    pairs: int


def discrimination(
    runs: Sequence[Any] = (),
    *,
    benchmark: str | None = None,
    qrels: Sequence[Any] | None = None,
    modes: Mapping[str, str] | None = None,
    measures: Sequence[str] | None = None,
    seed: int = 0,
) -> Table:
    """A row for each measure, mode and number of core queries: a quarter of those that there are, half, all, twice as many.

    runs              as `toolkit.evaluate.evaluate` takes them; none for the registered runs of the benchmark
    qrels ... measures  likewise
    seed              of the samples

    Raises ToolkitError for fewer than two runs, and as `evaluate` does.
    """
    if qrels and not runs:
        raise ToolkitError("no run is named", "name two runs or more: registered runs are of benchmarks")
    files = list(runs) or registered_runs(benchmark)
    given = prepare(files, benchmark, qrels, None, "tandem", modes=modes, measures=measures, apart=True)
    columns = (Column("measure", label=True), Column("mode"), *map(Column, ("core queries", "right", "apart", "pairs")))
    rows = [
        (row.measure, row.mode, row.core_queries, Number(row.right, share=True), Number(row.apart, share=True), row.pairs)
        for row in decisions(given, measures, seed=seed)
    ]
    return Table(columns, rows, NOTES)


def decisions(
    evaluation: Evaluation,
    measures: Sequence[str] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[Decided]:
    """Every measure and mode of the table, over all groups, for samples of each size.

    evaluation  of two runs or more
    shares      how many core queries are drawn, as shares of those that there are
    samples     of each size

    Raises ToolkitError for fewer than two runs, and where no values differ.
    """
    if len(evaluation.runs) < 2:
        raise ToolkitError("one run alone cannot be told apart", "name two runs or more")
    if seed < 0:
        raise ToolkitError(f"the seed is {seed}", "--seed is a whole number from 0 on")
    found: dict[Key, list[list[Estimate]]] = {}
    for first, second in combinations(evaluation.runs, 2):
        for key, groups in _differences(evaluation, first, second, measures).items():
            if any(group.mean or group.error for group in groups):
                found.setdefault(key, []).append(groups)
    if not found:
        raise ToolkitError("no measure has a value that differs", "name measures with -m that these judgments allow")
    rows = [_decided(key, pairs, share, samples, seed) for key, pairs in found.items() for share in shares]
    # of few core queries, two shares may be as many
    return list({(row.measure, row.mode, row.core_queries): row for row in rows}.values())


def _differences(evaluation: Evaluation, first: Run, second: Run, measures: Sequence[str] | None) -> dict[Key, list[Estimate]]:
    """Measure and mode -> the difference of two runs, group by group."""
    chosen = evaluation.measure_set(measures, "worst")
    groups: dict[Key, list[Estimate]] = {}
    for part in evaluation.judgments.parts:
        for key, values in paired_values(first, second, part, chosen).items():
            if is_ranked(*key, evaluation.judgments.modes):
                groups.setdefault(key, []).append(values.estimate)
    return groups


def _decided(key: Key, pairs: Sequence[Sequence[Estimate]], share: float, samples: int, seed: int) -> Decided:
    right, apart = [], []
    for groups in pairs:
        generator = np.random.default_rng(seed)
        drawn = [_sample(group, share, samples, generator) for group in groups]
        means, errors = _mean_and_error(drawn)
        better = math.copysign(1, sum(group.mean for group in groups))
        right.append(float((np.sign(means) * better + 1).mean() / 2))
        apart.append(float((_p_values(drawn, means, errors, generator) < SIGNIFICANT).mean()))
    core_queries = sum(_size(group, share) for group in pairs[0])
    return Decided(*key, core_queries, float(np.mean(right)), float(np.mean(apart)), len(pairs))


def _size(group: Estimate, share: float) -> int:
    return max(LEAST, round(group.core_queries * share))


def _sample(group: Estimate, share: float, samples: int, generator: np.random.Generator) -> np.ndarray:
    """(samples, n) what core queries add to the difference, their mean included."""
    drawn = generator.integers(group.core_queries, size=(samples, _size(group, share)))
    return group.mean + group.deviations[drawn]


def _mean_and_error(groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(samples,) the plain mean of the groups' means, and its standard error."""
    means = np.mean([values.mean(axis=1) for values in groups], axis=0)
    variances = sum(values.var(axis=1, ddof=1) / values.shape[1] for values in groups)
    return means, np.sqrt(variances) / len(groups)


def _p_values(
    groups: Sequence[np.ndarray], means: np.ndarray, errors: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """(samples,) how often a sample that has no difference has as large a statistic."""
    resampled, variances = 0.0, 0.0
    for values in groups:
        n = values.shape[1]
        counts = generator.multinomial(n, np.full(n, 1 / n), RESAMPLES)
        centred = (values - values.mean(axis=1, keepdims=True)).T
        own = counts @ centred / n
        resampled = resampled + own / len(groups)
        variances = variances + np.maximum(counts @ centred**2 / n - own**2, 0) / (n - 1) / len(groups) ** 2
    return (_statistic(resampled, np.sqrt(variances)) >= _statistic(means, errors)).mean(axis=0)


def _statistic(means: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The size of a mean in standard errors: 0 where nothing differs at all, infinite where all differ alike."""
    sizes = np.abs(means)
    sizes[sizes < TINY] = 0
    return np.divide(sizes, errors, out=np.where(sizes > 0, np.inf, 0.0), where=errors > TINY)
