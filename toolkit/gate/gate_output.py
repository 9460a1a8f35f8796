"""A verdict as text, as JSON, and as a JUnit report for continuous integration."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from toolkit import registry
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.scores import AVERAGE, PAIRED
from toolkit.core.tabular import to_csv, to_json
from toolkit.core.terminal import visible
from toolkit.evaluate.score_table import number
from toolkit.evaluate.scoring import SCORE
from toolkit.gate.decision import FAIL, PASS, POWER, WARN, Check, Gate
from toolkit.measures.estimates import LEVEL

COLUMNS = (
    Column("verdict", label=True),
    Column("group", label=True),
    Column("measure", label=True),
    Column("mode", label=True),
    Column("baseline", priority=1),
    Column("run", priority=1),
    Column("difference"),
    Column("low", above="interval"),
    Column("high", above="interval"),
    Column("core queries"),
    Column("needed"),
)


def to_table(gate: Gate) -> Table:
    """The checks that fail or warn, and the average, below what was decided; the notes."""
    shown = [*gate.of(FAIL), *gate.of(WARN), *(check for check in gate.of(PASS) if check.group in (AVERAGE, "all"))]
    notes = [*_reading(gate), *gate.notes]
    return Table(COLUMNS, [_row(check) for check in shown], notes, f"{gate.baseline} -> {gate.run}, {summary(gate)}")


def summary(gate: Gate) -> str:
    """`warn: 0 of 12 numbers fail, 3 are undecided, 9 pass (4 unchanged in every query)`"""
    fail, warn, passed = (len(gate.of(verdict)) for verdict in (FAIL, WARN, PASS))
    same = sum(check.low == check.high == 0 for check in gate.checks)
    unchanged = f" ({same} unchanged in every query)" if same else ""
    return f"{gate.verdict}: {fail} of {len(gate.checks)} numbers fail, {warn} are undecided, {passed} pass{unchanged}"


def _reading(gate: Gate) -> list[str]:
    effects = dict.fromkeys(f"{check.min_effect:g}" for check in gate.checks)
    lines = [
        f"interval of the difference over core queries, {100 * LEVEL:g} % for all {len(gate.checks)} together; fail: wholly "
        f"below minus the smallest effect ({', '.join(effects)}); pass: wholly above it"
    ]
    if gate.of(WARN):
        lines.append(
            f"needed: core queries that would decide it with {100 * POWER:g} % power, were the true difference the one "
            "observed (near the limit: none, or twice the smallest effect)"
        )
    return lines


def _row(check: Check) -> list[Cell]:
    share = registry.measure(check.measure).unit == "fraction" if check.measure != SCORE else True
    bounds = [Number(_finite(bound), share=share, signed=True) for bound in (check.low, check.high)]
    values = [Number(value, share=share) for value in (check.baseline, check.run)]
    mode = check.mode.replace(PAIRED, "")
    difference = Number(check.difference, share=share, signed=True)
    needed = None if check.verdict != WARN else math.nan if check.needed is None else check.needed
    return [check.verdict, check.group, check.measure, mode, *values, difference, *bounds, check.core_queries, needed]


def _bounds(check: Check) -> str:
    return f"[{check.low:+.4f}, {check.high:+.4f}]" if math.isfinite(check.low) else "interval unknown"


def describe(check: Check) -> str:
    """One check in a sentence."""
    text = f"{check.name}: {number(check.baseline)} -> {number(check.run)}, {check.difference:+.4f} {_bounds(check)}"
    if check.verdict != WARN:
        return text
    needed = "no number below a million" if check.needed is None else f"{check.needed:,}"
    return f"{text}; undecided with {check.core_queries:,} core queries, {needed} would decide it"


def to_records(gate: Gate) -> str:
    """JSON in the form of `evaluate`, a row a check, with the verdict of all before them; an unknown bound is null."""
    return to_json(_rows(gate), gate.notes, first=gate.baseline, second=gate.run, verdict=gate.verdict)


def to_lines(gate: Gate) -> str:
    """CSV, a line a check."""
    return to_csv(list(Check.__dataclass_fields__), _rows(gate))


def _rows(gate: Gate) -> list[dict[str, Any]]:
    return [{**asdict(check), "low": _finite(check.low), "high": _finite(check.high)} for check in gate.checks]


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def to_junit(gate: Gate, *, strict: bool = False) -> bytes:
    """JUnit's XML: a test a check; what is undecided is skipped, or with `strict` a failure."""
    fails, warns = len(gate.of(FAIL)), len(gate.of(WARN))
    counts = {"failures": fails + warns * strict, "skipped": 0 if strict else warns}
    root = ElementTree.Element("testsuites")
    name = _text(f"tandem gate {gate.baseline} {gate.run}")
    suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(gate.checks)), errors="0")
    for key, count in counts.items():
        suite.set(key, str(count))
    for check in gate.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=_text(check.group), name=_text(check.name))
        if check.verdict != PASS:
            kind = "failure" if strict or check.verdict == FAIL else "skipped"
            ElementTree.SubElement(case, kind, message=_text(describe(check)))
    ElementTree.SubElement(suite, "system-out").text = _text("\n".join([summary(gate), *gate.notes]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _text(text: str) -> str:
    """What XML can hold."""
    return visible(text)
