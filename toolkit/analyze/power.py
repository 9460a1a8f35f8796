"""Which differences a benchmark can show, and how many core queries a given difference needs: power, by bootstrap.

A difference is shown where Student's interval of it, over core queries, leaves 0 out. Samples of core queries are drawn from
the differences between two runs, centred; the smallest difference that is shown in 80 % of them is detectable. Of a single run
nobody knows how it would differ from another: its own centred values stand for the differences, which is right where two
systems vary alike and agree with a correlation of one half.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from toolkit import registry
from toolkit.benchmarks import find
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.core.resources import shipped
from toolkit.core.scores import AVERAGE, PAIRED
from toolkit.evaluate.evaluation import Evaluation, prepare
from toolkit.evaluate.paired_values import Key, paired, run_values
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.estimates import LEVEL, MOST, POWER, Estimate, average, of_core_queries

DIFFERENCES = (0.01, 0.02, 0.05)
ROUNDS = 8  # of looking for a number of core queries; each is within a few per cent of the last after three


@dataclass(frozen=True)
class Power:
    """Of one group, measure and mode: what the core queries show.

    detectable  the smallest difference that is shown, over pairs of runs their median; NaN where nothing varies
    largest     the same of the pair that varies most
    needed      difference -> how many core queries show it; None where more than a million would have to
    """

    group: str
    measure: str
    mode: str
    core_queries: int
    detectable: float
    largest: float
    needed: Mapping[float, int | None]


def power(
    evaluation: Evaluation,
    *,
    measures: Sequence[str] | None = None,
    differences: Sequence[float] = DIFFERENCES,
    share: float = POWER,
    samples: int = 1000,
    seed: int = 0,
    missing: str = "worst",
) -> list[Power]:
    """Every group and, where there are several, the average. share: in how many samples a difference is to be shown."""
    if not 0 < share < 1:
        raise ToolkitError(f"the power is {share}", "a number between 0 and 1, such as 0.8")
    if any(not 0 < difference < math.inf for difference in differences):
        raise ToolkitError(f"a difference is {min(differences)}", "a number above 0")
    if samples < 100:
        raise ToolkitError(f"samples is {samples}", "100 at least")
    if seed < 0:
        raise ToolkitError(f"the seed is {seed}", "--seed is a whole number from 0 on")
    groups = len(evaluation.judgments.parts)
    tables = [_with_average(pair, groups) for pair in pair_estimates(evaluation, measures, missing)]
    rows = []
    for group, key in dict.fromkeys((group, key) for table in tables for group, key, _ in table):
        pairs = [estimate for table in tables for its_group, its_key, estimate in table if (its_group, its_key) == (group, key)]
        moving = [Resampled(estimate, share, samples, seed) for estimate in pairs if 0 < estimate.error < math.inf]
        found = [each.detectable() for each in moving]
        needed = {x: _median([each.needed(x) for each in moving]) for x in differences}
        core_queries = max(estimate.core_queries for estimate in pairs)
        rows.append(
            Power(group, *key, core_queries, median(found) if found else math.nan, max(found, default=math.nan), needed)
        )
    if not rows:
        raise ToolkitError("no measure has a value", "name measures with -m that these judgments allow")
    return rows


def registered_runs(benchmark: str) -> list[str]:
    """The files of the runs that come with Tandem for a benchmark. Raises ToolkitError where there are none."""
    selection = find(benchmark)
    name = selection.benchmark if selection else benchmark
    specs = [spec for spec in registry.regressions().values() if spec.benchmark.get("name") == name]
    paths = [shipped("runs", "baselines", spec.run["baseline"]) for spec in specs if "baseline" in spec.run]
    if not (files := [str(path) for path in paths if path.is_file()]):
        raise ToolkitError(f"no registered run of {benchmark}", "name the files of runs")
    return files


def pair_estimates(
    evaluation: Evaluation, measures: Sequence[str] | None = None, missing: str = "worst"
) -> Iterator[list[tuple[str, Key, Estimate]]]:
    """For each pair of runs: group, measure and mode, and the difference; of a single run its own values."""
    chosen, parts, modes = evaluation.measure_set(measures, missing), evaluation.judgments.parts, evaluation.judgments.modes
    of_runs = [[run_values(run, part, chosen) for part in parts] for run in evaluation.runs]
    for first, second in combinations(of_runs, 2) if len(of_runs) > 1 else [(of_runs[0], None)]:
        yield [
            (part.group, key, values.estimate if second else of_core_queries(values.a, values.cores))
            for part, a, b in zip(parts, first, second or first, strict=True)
            for key, values in paired(a, b, part).items()
            if is_ranked(*key, modes)
        ]


def _with_average(estimates: Sequence[tuple[str, Key, Estimate]], groups: int) -> list[tuple[str, Key, Estimate]]:
    """The same, and the average over groups where there are several."""
    by_key: dict[Key, list[Estimate]] = {}
    for _, key, estimate in estimates if groups > 1 else ():
        by_key.setdefault(key, []).append(estimate)
    return [*estimates, *((AVERAGE, key, average(each)) for key, each in by_key.items())]


@dataclass(frozen=True)
class Resampled:
    """Samples of core queries that have no difference, of any number.

    share    in how many a difference is to be shown
    """

    estimate: Estimate
    share: float = POWER
    samples: int = 1000
    seed: int = 0

    def detectable(self, n: int | None = None) -> float:
        """The smallest difference that n core queries show; as many as there are where it is None."""
        from scipy import special

        observed = self.estimate.deviations
        size = n or len(observed)
        # drawn from few, a sample varies a little less than what it is drawn from
        values = observed * math.sqrt(len(observed) / (len(observed) - 1))
        generator = np.random.default_rng(self.seed)
        counts = generator.multinomial(size, np.full(len(values), 1 / len(values)), self.samples)
        means, squares = counts @ values / size, counts @ values**2 / size
        errors = np.sqrt(np.maximum(squares - means**2, 0) / (size - 1))
        margins = special.stdtrit(size - 1, (1 + LEVEL) / 2) * errors
        # a rise by x is shown where the mean and x exceed the margin, a fall likewise
        return float(max(np.quantile(margins - means, self.share), np.quantile(margins + means, self.share)))

    def needed(self, difference: float) -> int | None:
        """How many core queries show a difference; None for more than a million."""
        n = self.estimate.needed(difference, power=self.share)
        for _ in range(ROUNDS):
            if n is None or n > MOST:
                return None
            better = max(2, math.ceil(n * (self.detectable(n) / difference) ** 2))
            if abs(better - n) <= max(1, n // 100):
                return better
            n = better
        return n


def _median(numbers: Sequence[int | None]) -> int | None:
    found = median([math.inf if number is None else number for number in numbers]) if numbers else math.inf
    return math.ceil(found) if math.isfinite(found) else None


def power_table(
    runs: Sequence[str],
    benchmark: str | None,
    qrels: Sequence[str] | None = None,
    modes: Mapping[str, str] | None = None,
    *,
    share: float = POWER,
    **how: Any,
) -> Table:
    """The same for run files (the registered ones where none are named) and what judges them, as `evaluate` takes it.

    how  as of `power`
    """
    if qrels and not runs:
        raise ToolkitError("no run is named", "--run RUN RUN: registered runs are of benchmarks")
    files = runs or registered_runs(benchmark)
    prepared = prepare(files, benchmark, qrels, None, "tandem", modes=modes, apart=True)
    notes = [f"runs: {', '.join(Path(file).name for file in files)}", *prepared.judgments.notes]
    return to_table(power(prepared, share=share, **how), len(files), share, notes)


def to_table(rows: Sequence[Power], runs: int, share: float, notes: Sequence[str] = ()) -> Table:
    """runs: how many there were."""
    differences = list(rows[0].needed)
    columns = [
        *(Column(name, label=True) for name in ("group", "measure", "mode")),
        Column("core queries"),
        Column("detectable", lower=True),
        *([Column("largest", lower=True)] if runs > 2 else []),
        *(Column(f"{difference:g}", above="core queries for a difference of", lower=True) for difference in differences),
    ]
    said = [
        f"detectable: the smallest true difference whose 95 % interval leaves 0 out in {100 * share:g} % of samples of as many "
        "core queries"
    ]
    if runs == 1:
        said.append(
            "of one run: its own values stand for the differences, as if another system varied alike and agreed with a "
            "correlation of 0.5; with a second --run they are the differences between the two"
        )
    elif runs > 2:
        pairs = runs * (runs - 1) // 2
        said.append(f"detectable and core queries: the median over {pairs} pairs of runs; largest: the pair that varies most")
    return Table(columns, [_cells(row, runs) for row in rows], [*said, *notes])


def _cells(row: Power, runs: int) -> list[Cell]:
    share = registry.measure(row.measure).unit == "fraction"
    sizes = [Number(size, share=share) for size in (row.detectable, *([row.largest] if runs > 2 else []))]
    needed = [math.nan if number is None else number for number in row.needed.values()]
    return [row.group, row.measure, row.mode.replace(PAIRED, ""), row.core_queries, *sizes, *needed]
