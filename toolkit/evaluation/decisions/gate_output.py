"""A verdict; as text, as JSON, and as a JUnit report for continuous integration."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

from toolkit import registry
from toolkit.core.errors import three
from toolkit.core.scores import OVERALL, PAIRED, in_mode
from toolkit.core.system.lazy_names import pandas
from toolkit.core.system.terminal import visible
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.tables.shown_result import ShownResult
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.evaluation.scores.score_table import number
from toolkit.metrics.inference import FEW, LEVEL, SAME

POWER = 0.9  # of the number of core queries that would decide
PASS, WARN, FAIL = "pass", "warn", "fail"  # of all together
UNDECIDED = "undecided"
COLUMNS = (
    *(Column(name, label=True) for name in ("verdict", "group", "measure", "mode")),
    *(Column(name, priority=1) for name in ("baseline", "run")),
    Column("difference"),
    *(Column(name, above="interval") for name in ("low", "high")),
    *map(Column, ("core queries", "needed")),
)


@dataclass(frozen=True)
class Check:
    """One number: group, mode and measure as in `core.scores.Score`.

    baseline, run  the values of both runs
    difference     run - baseline; below 0 is better where the measure's direction is `lower`
    low, high      its simultaneous interval; NaN where nothing is tested
    min_effect     the smallest difference that matters
    verdict        `fail`, `pass`, `same` where no core query differs, `too few differ` where fewer than six do, or `undecided`
    decides        whether the verdict of all depends on it
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
    differing: int
    verdict: str
    decides: bool
    needed: int | None = None

    @property
    def name(self) -> str:
        """`average nDCG@10 ori`"""
        return f"{self.group} {in_mode(self.measure, self.mode)}"


@dataclass(frozen=True, repr=False)
class Gate(ShownResult):
    """A comparison and its verdict: checks, those that decide first, and notes of what to know before a number is trusted."""

    baseline: str
    run: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Gate({self.verdict}: {self.baseline} -> {self.run})"

    def tables(self) -> list[Table]:
        """As `tandem gate` prints it."""
        return [to_table(self)]

    @property
    def verdict(self) -> str:
        """`fail` where one of the numbers that decide fails, `warn` where one neither fails nor passes, else `pass`."""
        verdicts = {check.verdict for check in self.deciding}
        return FAIL if FAIL in verdicts else PASS if verdicts <= {PASS, SAME} else WARN

    @property
    def deciding(self) -> tuple[Check, ...]:
        """The numbers that decide."""
        return tuple(check for check in self.checks if check.decides)

    def passed(self, *, strict: bool = False) -> bool:
        """Whether nothing fails and, where it is `strict`, nothing is undecided."""
        return self.verdict in ((PASS,) if strict else (PASS, WARN))

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with the columns of `Check`."""
        names = list(Check.__dataclass_fields__)
        return pandas.DataFrame([[getattr(check, name) for name in names] for check in self.checks], columns=names)


def to_table(gate: Gate, *, strict: bool = False) -> Table:
    """The numbers, below what was decided: those that decide, and of the others the average and what is worse; the notes."""
    worse = [check for check in gate.checks if check.decides or check.group in OVERALL or check.verdict == FAIL]
    listed = [row for row, check in enumerate(worse) if not check.decides]
    number = len(gate.deciding)
    effects = ", ".join(dict.fromkeys(f"{check.min_effect:g}" for check in gate.deciding))
    together = f"for all {number} together" if number > 1 else "over core queries"
    lines = [
        f"decided by {three(check.name for check in gate.deciding)} (--primary); interval of the difference, {100 * LEVEL:g} % "
        f"{together}; fail: wholly below minus the smallest effect ({effects}); pass: wholly above it"
    ]
    if any(not check.decides for check in gate.checks):
        lines.append("set in: listed with an interval of their own, and not decided (--primary, --groups)")
    if few := [check for check in gate.deciding if check.verdict == FEW]:
        named = (f"{each.name} ({each.differing} of {each.core_queries:,} core queries)" for each in few)
        lines.append(f"too few differ to test: {three(named)}")
    if any(check.needed for check in gate.deciding):
        lines.append(
            f"needed: core queries that would decide it with {100 * POWER:g} % power, were the true difference the one "
            "observed (near the limit: none, or twice the smallest effect)"
        )
    said = summary(gate, strict=strict)
    return Table(COLUMNS, list(map(_row, worse)), [*lines, *gate.notes], said, below=frozenset(listed))


def summary(gate: Gate, *, strict: bool = False) -> str:
    """`pass, exit status 0: WISE@20 same (a -> b)`"""
    status = 0 if gate.passed(strict=strict) else 1
    said = [f"{check.name} {check.verdict}" for check in gate.deciding]
    return f"{gate.verdict}, exit status {status}: {three(said)} ({gate.baseline} -> {gate.run})"


def _row(check: Check) -> list[Cell]:
    share = registry.measure(check.measure).unit == "fraction"
    bounds = [Number(bound, share=share, signed=True) for bound in (check.low, check.high)]
    values = [Number(value, share=share) for value in (check.baseline, check.run)]
    mode = check.mode.replace(PAIRED, "")
    difference = Number(check.difference, share=share, signed=True)
    needed = None if check.verdict != UNDECIDED else math.nan if check.needed is None else check.needed
    return [check.verdict, check.group, check.measure, mode, *values, difference, *bounds, check.core_queries, needed]


def describe(check: Check) -> str:
    """One check in a sentence."""
    interval = f"[{check.low:+.4f}, {check.high:+.4f}]"
    if math.isnan(check.low):
        interval = f"({check.differing} of {check.core_queries:,} core queries differ)"
    text = f"{check.name}: {number(check.baseline)} -> {number(check.run)}, {check.difference:+.4f} {interval}"
    if check.verdict != UNDECIDED:
        return text
    needed = "no number below a million" if check.needed is None else f"{check.needed:,}"
    return f"{text}; undecided with {check.core_queries:,} core queries, {needed} would decide it"


def to_records(gate: Gate) -> str:
    """JSON in the form of `evaluate`, a row a number, with the verdict of all before them; what is not tested is null."""
    rows = [asdict(check) for check in gate.checks]
    return to_json(rows, gate.notes, first=gate.baseline, second=gate.run, verdict=gate.verdict)


def to_lines(gate: Gate) -> str:
    """CSV, a line a number."""
    return to_csv(list(Check.__dataclass_fields__), [asdict(check) for check in gate.checks])


def to_junit(gate: Gate, *, strict: bool = False) -> bytes:
    """JUnit's XML: a test a number that decides; what is undecided is skipped, or with `strict` a failure."""
    fails = sum(check.verdict == FAIL for check in gate.deciding)
    open_ones = sum(check.verdict in (UNDECIDED, FEW) for check in gate.deciding)
    counts = {"failures": fails + open_ones * strict, "skipped": 0 if strict else open_ones}
    root = ElementTree.Element("testsuites")
    # visible: what XML can hold
    name = visible(f"tandem gate {gate.baseline} {gate.run}")
    suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(gate.deciding)), errors="0")
    for key, count in counts.items():
        suite.set(key, str(count))
    for check in gate.deciding:
        case = ElementTree.SubElement(suite, "testcase", classname=visible(check.group), name=visible(check.name))
        if check.verdict not in (PASS, SAME):
            kind = "failure" if strict or check.verdict == FAIL else "skipped"
            ElementTree.SubElement(case, kind, message=visible(describe(check)))
    ElementTree.SubElement(suite, "system-out").text = visible("\n".join([summary(gate, strict=strict), *gate.notes]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
