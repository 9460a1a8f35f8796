"""A verdict as text, as JSON, and as a JUnit report for continuous integration."""

import math
from dataclasses import asdict
from xml.etree import ElementTree

from toolkit import registry
from toolkit.core.errors import three
from toolkit.core.scores import OVERALL, PAIRED
from toolkit.core.system.terminal import visible
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.evaluation.decisions.decision import FAIL, PASS, POWER, UNDECIDED, Check, Gate
from toolkit.evaluation.scores.score_table import number
from toolkit.metrics.inference import FEW, LEVEL, SAME

COLUMNS = (
    *(Column(name, label=True) for name in ("verdict", "group", "measure", "mode")),
    *(Column(name, priority=1) for name in ("baseline", "run")),
    Column("difference"),
    *(Column(name, above="interval") for name in ("low", "high")),
    *map(Column, ("core queries", "needed")),
)


def to_table(gate: Gate, *, strict: bool = False) -> Table:
    """The numbers, below what was decided: those that decide, and of the others the average and what is worse; the notes."""
    worse = [check for check in gate.checks if check.decides or check.group in OVERALL or check.verdict == FAIL]
    listed = [row for row, check in enumerate(worse) if not check.decides]
    notes = [*_reading(gate), *gate.notes]
    rows = [_row(check) for check in worse]
    return Table(COLUMNS, rows, notes, summary(gate, strict=strict), below=frozenset(listed))


def summary(gate: Gate, *, strict: bool = False) -> str:
    """`pass, exit status 0: WISE@20 same (a -> b)`"""
    status = 0 if gate.passed(strict=strict) else 1
    said = [f"{check.name} {check.verdict}" for check in gate.deciding]
    return f"{gate.verdict}, exit status {status}: {three(said)} ({gate.baseline} -> {gate.run})"


def _reading(gate: Gate) -> list[str]:
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
    return lines


def _row(check: Check) -> list[Cell]:
    share = registry.measure(check.measure).unit == "fraction"
    bounds = [Number(bound, share=share, signed=True) for bound in (check.low, check.high)]
    values = [Number(value, share=share) for value in (check.baseline, check.run)]
    mode = check.mode.replace(PAIRED, "")
    difference = Number(check.difference, share=share, signed=True)
    needed = None if check.verdict != UNDECIDED else math.nan if check.needed is None else check.needed
    return [check.verdict, check.group, check.measure, mode, *values, difference, *bounds, check.core_queries, needed]


def _bounds(check: Check) -> str:
    if math.isnan(check.low):
        return f"({check.differing} of {check.core_queries:,} core queries differ)"
    return f"[{check.low:+.4f}, {check.high:+.4f}]"


def describe(check: Check) -> str:
    """One check in a sentence."""
    text = f"{check.name}: {number(check.baseline)} -> {number(check.run)}, {check.difference:+.4f} {_bounds(check)}"
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
