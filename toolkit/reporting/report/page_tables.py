"""Tables as a page has them: every number with its bar, reference marks and signs, every column with what it means."""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolkit import metrics, registry
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED
from toolkit.core.scores import shown_measure
from toolkit.metrics.evaluation import PAIRED
from toolkit.reporting import pages
from toolkit.reporting.figures.theme import run_looks, run_names
from toolkit.reporting.report.differences import against, differences
from toolkit.reporting.report.model import Key, ReportModel
from toolkit.reporting.tables.latex_output import to_latex
from toolkit.reporting.tables.report_tables import CHANGE
from toolkit.reporting.tables.text_table import ARROWS, SIGNS, Block, Cell, Head, Table

ROLES = {
    BASE: "the core query without an instruction (base)",
    INSTRUCTED: "with its instruction (instructed)",
    REVERSED: "with the instruction reversed",
}
HEADINGS = {"ranks": "measure", "references": "run", "published": "run"}  # what a table's blocks are; else kinds of systems
INK = {"#000000": "currentColor"}  # black in figures is the page's colour of text
DIRECTIONS = {"higher": "Higher is better.", "lower": "Lower is better.", "": ""}


class About(NamedTuple):
    """What a column is. id  of the element that a button beside the column's name opens."""

    id: str
    title: str
    text: str


def abouts(model: ReportModel, prefix: str) -> dict[tuple[str, str], About]:
    """(measure, mode) -> what it is, for every column of the benchmark's tables."""
    columns = [*model.columns(), *dict.fromkeys((measure, CHANGE) for measure, _ in model.columns())]
    names = {PAIRED: "", CHANGE: " \u2212 ".join(reversed(model.judgments.modes.of(BASE, INSTRUCTED)))}
    found = {}
    for number, (measure, mode) in enumerate(columns):
        title = " ".join(filter(None, (shown_measure(measure), names.get(mode, mode))))
        spec = registry.measure(measure)
        if spec.text:
            text = f"{spec.title}. {spec.text}"
        else:  # the first paragraph of what ir_measures says of its own
            text = " ".join((inspect.getdoc(type(metrics.parse(measure))) or "").split("\n\n")[0].split())
        direction = DIRECTIONS.get("" if mode == CHANGE else spec.direction, "")
        role = model.judgments.modes.get(mode, "")
        where = f"Here {mode}: {ROLES[role]}." if role in ROLES else ""
        if mode == CHANGE:
            where = "Here the instructed mode minus the base mode: what instructions cost in relevance, or bring."
        source = f"From {spec.source}." if spec.source else ""
        words = " ".join(filter(None, (text, direction, where, source)))
        found[measure, mode] = About(f"{prefix}-about-{number}", title, words)
    return found


def page_table(
    table: Table, id: str, model: ReportModel | None = None, about: Mapping[tuple[str, str], About] | None = None
) -> dict[str, Any]:
    """What the template shows: rows flat, so that they are sorted over all kinds of systems.

    id            of the element
    model, about  for a table of scores: its differences and colours, and what its columns are
    """
    flat = _flat(table)
    looks = _looks(model) if model else {}
    domains = []  # from 0 to the furthest of what a column shows
    for cells in zip(*flat.rows, strict=True):
        numbers = (number for cell in cells for number in (cell.value, cell.blind, *(cell.band or ())))
        values = [0.0, *(number for number in numbers if number is not None)]
        domains.append((min(values), max(values)))
    heads = [_head(head, f"{id}-{place}", about or {}) for place, head in enumerate(flat.heads)]
    return {
        "id": id,
        "title": table.title,
        "legend": "" if table.group else table.caption,
        "kind": table.kind,
        "heads": heads,
        "abouts": [head["about"] for head in heads if head["about"] and head["about"].id.startswith(id)],
        "baseline": model.baseline if model else "",
        "rows": [
            {
                **looks.get(row[0].text, {"run": "", "colour": ""}),
                "cells": [_cell(flat, model, row, place, domains[place]) for place in range(len(row))],
            }
            for row in flat.rows
        ],
        "latex": pages.gzipped(to_latex([table])),
    }


def _flat(table: Table) -> Table:
    """With the headings of its blocks as a column."""
    if not any(block.heading for block in table.blocks):
        return table
    head = Head("", HEADINGS.get(table.kind, "kind"), False)
    rows = tuple((row[0], Cell(block.label), *row[1:]) for block in table.blocks for row in block.rows)
    return replace(table, heads=(table.heads[0], head, *table.heads[1:]), blocks=(Block("", rows),))


def _looks(model: ReportModel) -> dict[str, dict[str, str]]:
    """Run -> what figures call it, and its colour there."""
    names, scale = run_names(model), run_looks(model, "color")["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    return {
        facts.name: {"run": name, "colour": INK.get(colours[name], colours[name])}
        for facts, name in zip(model.runs, names, strict=True)
    }


def _head(head: Head, id: str, about: Mapping[tuple[str, str], About]) -> dict[str, Any]:
    own = about.get(head.column) if head.column else None
    return {
        "above": shown_measure(head.above) if head.name else "",
        "name": head.short,
        "label": head.label,
        "number": head.number,
        "arrow": ARROWS.get(head.better, ""),
        "better": head.better,
        "about": own or (About(id, head.label, head.note) if head.note else None),
    }


def _cell(
    table: Table, model: ReportModel | None, row: Sequence[Cell], place: int, domain: tuple[float, float]
) -> dict[str, Any]:
    cell, head = row[place], table.heads[place]
    of_scores = bool(table.group and model and head.column)
    signs: dict[str, str] = {}  # baseline -> the sign of the run's difference from it
    if of_scores and head.column[1] != CHANGE:
        key = Key(table.group, *head.column)
        found = {name: against(model, name, row[0].text, key) for name in differences(model).baselines}
        signs = {name: SIGNS[mark] for name, mark in found.items() if mark}
    titles = [table.marks[mark] for mark in cell.mark.split()[:1] if mark not in SIGNS]
    titles += [f"instructions ignored: {cell.blind:z.3f}"] if cell.blind is not None else []
    titles += [f"random orders: {cell.band[0]:z.3f} to {cell.band[1]:z.3f}"] if cell.band else []
    return {
        "text": cell.text.replace("-", "\u2212") if cell.value is not None else cell.text,
        "value": cell.value,
        "mark": " ".join(mark for mark in cell.mark.split() if mark not in SIGNS),
        "signs": signs,
        "bar": _bar(cell, domain) if of_scores and cell.value is not None else "",
        "title": "; ".join(titles),
    }


def _bar(cell: Cell, domain: tuple[float, float]) -> str:
    """Where bar, blind mark and random band of a cell begin and end, in per cent of its width."""
    low, high = domain
    if not math.isfinite(high - low) or high <= low:
        return ""

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.4g}%"

    places = {"from": at(min(cell.value, 0)), "to": at(max(cell.value, 0))}
    if cell.blind is not None:
        places["blind"] = at(cell.blind)
    if cell.band is not None:
        places |= {"low": at(cell.band[0]), "high": at(cell.band[1])}
    return ";".join(f"--{name}:{place}" for name, place in places.items())
