"""From two runs to a verdict for each number and for all of them.

A number of the table is a group, a measure and a mode. Its verdict is read off one interval, that of the difference over core
queries: wholly below minus the smallest effect fails, wholly above it passes, all else is undecided and warns. The intervals
are simultaneous (Dunn 1961: each is Student's at a level of 1 - 0.05 / their number), so that all of them hold together in 95 %
of all comparisons, however the measures depend on each other. Holm's correction would reject a little more, and has no
intervals that say the same as its p-values: a gate is to show what it decides by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE
from toolkit.evaluate.evaluation import prepare
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.notes import run_notes
from toolkit.evaluate.paired_values import Key, PairedValues, paired_values, with_score
from toolkit.evaluate.scoring import SCORE, MeasureSet, is_ranked
from toolkit.gate.turnover import check_turnover
from toolkit.measures.estimates import LEVEL, Estimate, average

if TYPE_CHECKING:
    import pandas

MIN_EFFECT = 0.02
POWER = 0.9  # of the number of core queries that would decide
PASS, WARN, FAIL = "pass", "warn", "fail"


@dataclass(frozen=True)
class Check:
    """One number: group, mode and measure as in `core.scores.Score`.

    baseline, run  the values of both runs
    difference     run - baseline; below 0 is better where the measure's direction is `lower`
    low, high      its simultaneous interval; infinite where a single core query leaves it unknown
    min_effect     the smallest difference that matters
    verdict        `pass`, `warn`, `fail`
    needed         of an undecided one, how many core queries would decide it with 90 % power, were the true difference the one
                   observed; were it none or twice the smallest effect, where the observed one is nearer to the limit than they.
                   None where it would take more than a million, or nobody knows
    """

    group: str
    mode: str
    measure: str
    baseline: float
    run: float
    difference: float
    low: float
    high: float
    min_effect: float
    queries: int
    core_queries: int
    verdict: str
    needed: int | None = None

    @property
    def name(self) -> str:
        """`average nDCG@10 ori`"""
        return " ".join(filter(None, (self.group, self.measure, self.mode)))


@dataclass(frozen=True)
class Gate:
    """A comparison and its verdict. notes: the shares in common, and what must be known before a number is trusted."""

    baseline: str
    run: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The worst of all checks."""
        verdicts = {check.verdict for check in self.checks}
        return next(verdict for verdict in (FAIL, WARN, PASS) if verdict in verdicts)

    def of(self, verdict: str) -> tuple[Check, ...]:
        """The checks with this verdict."""
        return tuple(check for check in self.checks if check.verdict == verdict)

    def passed(self, *, strict: bool = False) -> bool:
        """Whether nothing fails and, where it is `strict`, nothing is undecided."""
        return self.verdict in ((PASS,) if strict else (PASS, WARN))

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with the columns of `Check`."""
        import pandas

        names = list(Check.__dataclass_fields__)
        return pandas.DataFrame([[getattr(check, name) for name in names] for check in self.checks], columns=names)


def gate(
    baseline: Any,
    run: Any,
    *,
    benchmark: str | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: Sequence[str] | None = None,
    min_effect: float | Mapping[str, float] = MIN_EFFECT,
    depth: int | None = None,
    ids: str = "tandem",
    unjudged: str = "refuse",
    missing: str = "worst",
) -> Gate:
    """Compare a run with a baseline.

    baseline, run  as `toolkit.evaluate` takes runs, one each
    benchmark, qrels, modes, depth, ids, unjudged, missing   as in `toolkit.evaluate`
    measures       as in `toolkit.evaluate`: the fewer, the narrower the intervals
    min_effect     the smallest difference that matters, of all measures or by measure; "" is for the measures not named.
                   Measures whose unit is a rank are left out where none is given for them

    Raises ToolkitError for what cannot be read or judged, where corpus or ids turned over, and where nothing is compared.
    """
    every_mode = missing != "skip"
    prepared = prepare([baseline, run], benchmark, qrels, depth, ids, unjudged, modes=modes, apart=True, every_mode=every_mode)
    a, b = prepared.runs
    judgments, chosen = prepared.judgments, prepared.measure_set(measures, missing)
    shares = check_turnover(a, b, judgments)
    effects = smallest_effects(min_effect)
    kept, notes = _gated(chosen.every(judgments), effects, judgments)
    checks = decide(_tables(a, b, judgments, chosen, kept), effects, judgments)
    if a.tag == b.tag:
        a, b = (replace(run, tag=name) for run, name in ((a, f"{a.tag} (baseline)"), (b, f"{b.tag} (run)")))
    warnings = run_notes([a, b], judgments, chosen.every(judgments), missing)
    return Gate(a.tag, b.tag, tuple(checks), (*shares, *notes, *judgments.notes, *warnings))


def smallest_effects(given: float | Mapping[str, float]) -> dict[str, float]:
    """Measure -> the smallest difference of it that matters; "" is any other. ToolkitError for one that is not above 0."""
    effects = {"": MIN_EFFECT, **given} if isinstance(given, Mapping) else {"": given}
    for measure, effect in effects.items():
        if not 0 < effect < float("inf"):
            raise ToolkitError(f"the smallest effect{f' of {measure}' if measure else ''} is {effect}", "a number above 0")
    from toolkit import measures

    return {str(measures.parse(measure)) if measure else "": float(effect) for measure, effect in effects.items()}


def _gated(measures: Sequence[str], effects: Mapping[str, float], judgments: Judgments) -> tuple[set[str], list[str]]:
    """The measures that can be better or worse and have a smallest effect, and notes of the others."""
    if strange := effects.keys() - {"", *measures}:
        raise ToolkitError(
            f"{', '.join(sorted(strange))} is not compared", f"compared are {', '.join(measures)}: name more with -m"
        )
    ranks = [each for each in measures if registry.measure(each).unit == "rank" and each not in effects]
    neither = [each for each in measures if registry.measure(each).direction == "none"]
    notes = [f"left out, as nobody said how many ranks matter (--min-effect {ranks[0]}=1): {', '.join(ranks)}"] if ranks else []
    notes += [f"left out, as neither more nor less of it is better: {', '.join(neither)}"] if neither else []
    return {*measures} - {*ranks, *neither}, notes


def _tables(
    a: Run, b: Run, judgments: Judgments, chosen: MeasureSet, kept: set[str]
) -> Iterator[tuple[str, dict[Key, PairedValues], dict[Key, PairedValues]]]:
    """Group, what is checked of it, and what goes into the average."""
    for part in judgments.parts:
        columns = {
            (measure, mode): values
            for (measure, mode), values in paired_values(a, b, part, chosen).items()
            if measure in kept and is_ranked(measure, mode, judgments.modes)
        }
        if columns:
            yield part.group, columns, next(with_score(part, chosen, columns))


def decide(tables, effects: Mapping[str, float], judgments: Judgments) -> list[Check]:
    """The checks of all groups, the average last where there are several. tables: as of `_tables`."""
    numbers: list[tuple[str, Key, float, float, int, Estimate]] = []
    groups: dict[Key, list[tuple[float, float, int, Estimate]]] = {}
    count = 0
    for group, columns, scored in tables:
        count += 1
        for key, values in scored.items():
            row = (float(values.a.mean()), float(values.b.mean()), len(values.query_ids), values.estimate)
            groups.setdefault(key, []).append(row)
            if key in columns:
                numbers.append((group, key, *row))
    if not numbers:
        raise ToolkitError("no measure has a value in both runs", "name measures with -m that these judgments allow")
    if count > 1:
        for key, rows in groups.items():
            values = [sum(row[column] for row in rows) / len(rows) for column in (0, 1)]
            numbers.append((AVERAGE, key, *values, sum(row[2] for row in rows), average([row[3] for row in rows])))
    level = 1 - (1 - LEVEL) / len(numbers)
    return [_check(*number, effects.get(number[1][0], effects[""]), level) for number in numbers]


def _check(
    group: str, key: Key, a: float, b: float, queries: int, estimate: Estimate, min_effect: float, level: float
) -> Check:
    low, high = estimate.interval(level)
    measure, mode = key
    worse, better = (-high, -low) if measure != SCORE and registry.measure(measure).direction == "lower" else (low, high)
    verdict = FAIL if better < -min_effect else PASS if worse > -min_effect else WARN
    needed = None
    if verdict == WARN:
        margin = abs((worse + better) / 2 + min_effect) if math.isfinite(worse) else 0.0
        needed = estimate.needed(max(margin, min_effect), level=level, power=POWER)
        if needed is not None and needed <= estimate.core_queries:  # enough for none or twice the effect: it is between them
            needed = estimate.needed(margin, level=level, power=POWER)
    return Check(
        group, mode, measure, a, b, estimate.mean, low, high, min_effect, queries, estimate.core_queries, verdict, needed
    )
