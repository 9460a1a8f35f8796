"""Which differences a benchmark can show, and how many core queries a given difference needs: power, in closed form.

A difference is shown where its p is below 0.05 (`toolkit.metrics.inference`). With v the variance of the difference between
two runs, the smallest that is shown in 80 % of samples is (t_.975 + t_.8) sqrt(v); of measures that are 0 or 1 for a query, v
is that of a share at this difference. Of a single run nobody knows how it would differ from another: its own values stand for
the differences, which is right where two systems vary alike and agree with a correlation of one half.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import PAIRED, SIGNIFICANT
from toolkit.core.system.files import shipped
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.datasets import find
from toolkit.evaluation.comparison.intervals import of_group
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.evaluation.scores.judgments import Declared
from toolkit.evaluation.scores.paired_values import Key, numbers_of, paired, run_values
from toolkit.evaluation.scores.score_output import Shown
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.metrics.inference import POWER, TESTED, Cores, estimate

DIFFERENCES = (0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Power:
    """Of one group, measure and mode: what the core queries show.

    detectable  the smallest difference that is shown, over pairs of runs their median; NaN where too few core queries differ
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
    missing: str = "worst",
) -> list[Power]:
    """Every group and, where there are several, the average. share: in how many samples a difference is to be shown."""
    if not 0 < share < 1:
        raise ToolkitError(f"the power is {share}", "a number between 0 and 1, such as 0.8")
    if any(not 0 < difference < math.inf for difference in differences):
        raise ToolkitError(f"a difference is {min(differences)}", "a number above 0")
    tables = list(pair_cores(evaluation, measures, missing))
    rows = []
    for place in dict.fromkeys(place for table in tables for place in table):
        pairs = [estimate(table[place]) for table in tables if place in table]
        found = [each.detectable(share) for each in pairs if each.state == TESTED]
        needed = {x: _median([each.needed(x, power=share) for each in pairs if each.state == TESTED]) for x in differences}
        core_queries = max(int(each.core_queries) for each in pairs)
        group, (measure, mode) = place
        middle, largest = (float(of(found)) if found else math.nan for of in (median, max))
        rows.append(Power(group, measure, mode, core_queries, middle, largest, needed))
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


def pair_cores(
    evaluation: Evaluation, measures: Sequence[str] | None = None, missing: str = "worst"
) -> Iterator[dict[tuple[str, Key], list[Cores]]]:
    """For each pair of runs: the differences of core queries by group and number, as of `numbers_of`; of a single run its own
    values.
    """
    chosen, parts, modes = evaluation.measure_set(measures, missing), evaluation.judgments.parts, evaluation.judgments.modes
    of_runs = [[run_values(run, part, chosen) for part in parts] for run in evaluation.runs]
    for first, second in combinations(of_runs, 2) if len(of_runs) > 1 else [(of_runs[0], None)]:
        tables = []
        for part, a, b in zip(parts, first, second or first, strict=True):
            columns = {key: values for key, values in paired(a, b, part).items() if is_ranked(*key, modes)}
            of_part = {key: each.sums if second else of_group(a[key], part, key[0]).cores for key, each in columns.items()}
            tables.append((part, of_part))
        yield numbers_of(tables)


def _median(numbers: Sequence[int | None]) -> int | None:
    found = median([math.inf if number is None else number for number in numbers]) if numbers else math.inf
    return math.ceil(found) if math.isfinite(found) else None


def tables(
    runs: Sequence[str],
    benchmark: str | None,
    qrels: Sequence[str] | None = None,
    modes: Declared = None,
    measures: Sequence[str] | None = None,
    differences: Sequence[float] = (),
    *,
    share: float = POWER,
) -> Shown:
    """`power` of run files (the registered ones where none are named) and what judges them, as `evaluate` takes it."""
    if qrels and not runs:
        raise ToolkitError("no run is named", "--run RUN RUN: registered runs are of benchmarks")
    files = runs or registered_runs(benchmark)
    prepared = prepare(files, benchmark, qrels, None, "tandem", modes=modes, apart=True)
    notes = [f"runs: {', '.join(Path(file).name for file in files)}", *prepared.judgments.notes]
    rows = power(prepared, measures=measures, differences=differences or DIFFERENCES, share=share)
    return [to_table(rows, len(files), share, notes)], {}


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
        f"detectable: the smallest true difference that has p < {SIGNIFICANT} in {100 * share:g} % of samples of as many core "
        "queries; -: fewer than six core queries differ"
    ]
    if runs == 1:
        said.append(
            "of one run: its own values stand for the differences, as if another system varied alike and agreed with a "
            "correlation of 0.5; with a second --run they are the differences between the two"
        )
    elif runs > 2:
        pairs = runs * (runs - 1) // 2
        said.append(f"detectable and core queries: the median over {pairs} pairs of runs; largest: the pair that varies most")
    lines: list[list[Cell]] = []
    for row in rows:
        is_share = registry.measure(row.measure).unit == "fraction"
        sizes = [Number(size, share=is_share) for size in (row.detectable, *([row.largest] if runs > 2 else []))]
        needed = [math.nan if number is None else number for number in row.needed.values()]
        lines.append([row.group, row.measure, row.mode.replace(PAIRED, ""), row.core_queries, *sizes, *needed])
    return Table(columns, lines, [*said, *notes])
