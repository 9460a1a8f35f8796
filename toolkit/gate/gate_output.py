"""A verdict as text, as JSON, and as a JUnit report for continuous integration."""

from __future__ import annotations

import math
from dataclasses import asdict
from xml.etree import ElementTree

from toolkit.core.scores import AVERAGE, PAIRED
from toolkit.core.tabular import aligned, to_json
from toolkit.core.terminal import visible
from toolkit.evaluate.score_table import number
from toolkit.gate.decision import FAIL, PASS, POWER, WARN, Check, Gate
from toolkit.measures.estimates import LEVEL

HEADS = ("verdict", "group", "measure", "mode", "baseline", "run", "difference", "interval", "core queries", "needed")


def to_text(gate: Gate) -> str:
    """The checks that fail or warn, and the average, in a table; then what was decided and the notes."""
    shown = [*gate.of(FAIL), *gate.of(WARN), *(check for check in gate.of(PASS) if check.group in (AVERAGE, "all"))]
    table = "\n".join(aligned([HEADS, *map(_row, shown)], 4)) + "\n\n" if shown else ""
    lines = [summary(gate), *_reading(gate), *gate.notes]
    return f"{gate.baseline} -> {gate.run}\n\n{table}" + "".join(f"{line}\n" for line in lines)


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


def _row(check: Check) -> list[str]:
    needed = "" if check.verdict != WARN else "-" if check.needed is None else f"{check.needed:,}"
    mode = check.mode.replace(PAIRED, "")
    values = [number(check.baseline), number(check.run), f"{check.difference:+.4f}", _bounds(check)]
    return [check.verdict, check.group, check.measure, mode, *values, f"{check.core_queries:,}", needed]


def _bounds(check: Check) -> str:
    return f"[{check.low:+.4f}, {check.high:+.4f}]" if math.isfinite(check.low) else "unknown"


def describe(check: Check) -> str:
    """One check in a sentence."""
    text = f"{check.name}: {number(check.baseline)} -> {number(check.run)}, {check.difference:+.4f} {_bounds(check)}"
    if check.verdict != WARN:
        return text
    needed = "no number below a million" if check.needed is None else f"{check.needed:,}"
    return f"{text}; undecided with {check.core_queries:,} core queries, {needed} would decide it"


def to_records(gate: Gate) -> str:
    """JSON in the form of `evaluate`, a row a check, with the verdict of all before them; an unknown bound is null."""
    rows = ({**asdict(check), "low": _finite(check.low), "high": _finite(check.high)} for check in gate.checks)
    return to_json(rows, gate.notes, first=gate.baseline, second=gate.run, verdict=gate.verdict)


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
