"""The page of a reproduction: every table of the paper with ours in its cells, the claims, and what it was made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.core.scores import shown_measure
from toolkit.datasets import find, load
from toolkit.files.provenance import part, read_record
from toolkit.registry.published.paper_tables import SCALES, Cell
from toolkit.reporting import pages
from toolkit.studies.planned_rows import tandem_version
from toolkit.studies.reproduce.compared_cells import (
    AGREES,
    DIFFERS,
    NEAR,
    NOT_PRINTED,
    NOT_RUN,
    OTHER_PROMPT,
    SAID,
    STATES,
    Compared,
    by_prompt,
    cell_key,
    decimals,
    mean_difference,
)
from toolkit.studies.reproduce.dry_run import unmade_places
from toolkit.studies.reproduce.row_prompts import OTHER, WHOSE
from toolkit.studies.reproduce.row_scores import commands
from toolkit.studies.reproduce.table_rows import change_of

if TYPE_CHECKING:
    from toolkit.studies.reproduce import Outcome, Reproduction

FOLDER = Path(__file__).parent
SIGNS = {AGREES: "=", NEAR: "≈", DIFFERS: "≠", OTHER_PROMPT: "≟", NOT_PRINTED: "·", NOT_RUN: "–"}
LEVELS = ("group", "mode", "measure")  # of a table's columns
PROMPTS = {name: "a file or examples of the user's" if name == OTHER else name for name in WHOSE}
FILLED = 0.5  # a table less full than this has its modes down, not across


class CellPosition(NamedTuple):
    """The row and the column of a cell, each as the paper heads them."""

    corpus: str
    kind: str
    system: str
    mode: str
    ours: str
    column: tuple[str, ...]


@dataclass(frozen=True)
class Head:
    """A head over some columns."""

    name: str
    width: int


def render(reproduction: Reproduction, outcome: Outcome) -> str:
    """The page as HTML. The same files in the folder give the same bytes."""
    from markupsafe import Markup

    paper = reproduction.tables.paper
    tables: dict[str, list[Compared]] = {}
    for each in outcome.cells:
        tables.setdefault(each.cell.table, []).append(each)
    body = pages.template(FOLDER, "comparison_page.html").render(
        paper=paper,
        source=load(find(paper, at_hand=False).benchmark).spec.source,
        meanings=_meanings(reproduction.tables.tolerance),
        states=_states(outcome.cells),
        overall=_points(mean_difference(outcome.cells)),
        tables=[_table(name, cells) for name, cells in tables.items()],
        claims=_claims(outcome),
        records=_records(reproduction),
        commands=_commands(reproduction),
        failures=[(failure.what, failure.error.message, failure.error.hint) for failure in outcome.failures],
        unmade=unmade_places(reproduction.tables),
    )
    return pages.page(
        f"{paper}: the paper's tables, made again",
        Markup(body),
        style=(FOLDER / "comparison_page.css").read_text(encoding="utf-8"),
        script=Markup((FOLDER / "comparison_page.js").read_text(encoding="utf-8")),
    )


def _meanings(tolerance: float) -> dict[str, str]:
    return {
        AGREES: "to the printed digits",
        NEAR: f"within {100 * tolerance:g} points (of a count or rank: {100 * tolerance:g} % of it)",
        DIFFERS: "further than that",
        OTHER_PROMPT: "from a model that was trained on a prompt, and was sent neither the prompt that the paper prints nor "
        "the one it was trained on: no verdict",
        NOT_PRINTED: "of a figure that prints no number",
        NOT_RUN: "there is no number of ours; a note says why",
    }


def _states(cells: Sequence[Compared]) -> list[dict[str, Any]]:
    counts = {state: sum(each.state == state for each in cells) for state in STATES}
    return [
        {"name": state, "sign": SIGNS[state], "count": count, "share": count / len(cells)} for state, count in counts.items()
    ]


def _table(name: str, cells: Sequence[Compared]) -> dict[str, Any]:
    """A table as the paper has it: its rows of systems, ours in their cells; below and beside it the mean differences."""
    places = _places(cells)
    columns = list(dict.fromkeys(place.column for place in places))
    notes: dict[str, int] = {}
    lines: dict[tuple[str, ...], dict[tuple[str, ...], Compared]] = {}
    for place, each in zip(places, cells, strict=True):
        lines.setdefault(tuple(place[:5]), {})[place.column] = each
    rows = [_row(key, found, columns, notes) for key, found in lines.items()]
    below = [_points(mean_difference(found[column] for found in lines.values() if column in found)) for column in columns]
    return {
        "id": f"table-{name}",
        "title": f"Table {name}" if name.isdigit() else name.replace("figure", "Figure "),
        "heads": _heads(columns),
        "blocks": [(heading, list(below)) for heading, below in groupby(rows, itemgetter("block"))],
        "below": below,
        "overall": _points(mean_difference(cells)),
        "states": _states(cells),
        "prompts": [
            f"{PROMPTS[name]} {count:,}" for counts in by_prompt(cells).values() for name, count in counts.items() if count
        ],
        "notes": list(notes),
        "scales": _scales(cells),
        "tested": any(each.tested.best for each in cells),
        "width": len(columns) + 2,
    }


def _places(cells: Sequence[Compared]) -> list[CellPosition]:
    """Where each cell stands: corpora down and data sets across, modes across unless these leave most of the table empty."""
    printed = [each.cell for each in cells]
    has_corpora = all("/" in cell.group for cell in printed) and len({_corpus(cell) for cell in printed}) > 1
    rows = {(_corpus(cell), cell.system, cell.kind) for cell in printed}
    across = {(cell.group.partition("/")[0] if has_corpora else cell.group, cell.mode, cell.measure) for cell in printed}
    is_sparse = len({cell_key(cell) for cell in printed}) < FILLED * len(
        rows if has_corpora else {row[1:] for row in rows}
    ) * len(across)
    modes_down = is_sparse and len({cell.mode for cell in printed}) > 1
    values = {
        "group": lambda cell: cell.group.partition("/")[0] if has_corpora else cell.group,
        "mode": lambda cell: "" if modes_down else cell.mode,
        "measure": lambda cell: cell.measure,
    }
    varying = [level for level in LEVELS if len({values[level](cell) for cell in printed}) > 1] or ["measure"]
    columns = list(dict.fromkeys(tuple(values[level](cell) for level in varying) for cell in printed))
    order = sorted(range(len(varying)), key=lambda level: _changes(column[level] for column in columns))
    systems = _systems(cells)
    return [
        CellPosition(
            _corpus(each.cell) if has_corpora else "",
            each.cell.kind,
            each.cell.system,
            each.cell.mode if modes_down else "",
            each.row.system.name if each.row else systems.get((each.cell.system, each.cell.kind, each.cell.mode), ""),
            tuple(values[varying[level]](each.cell) for level in order),
        )
        for each in cells
    ]


def _systems(cells: Iterable[Compared]) -> dict[tuple[str, str, str], str]:
    """Our one system of a printed name, for its cells that have no row."""
    named: dict[tuple[str, str, str], set[str]] = {}
    for each in cells:
        if each.row:
            for mode in (each.cell.mode, ""):
                named.setdefault((each.cell.system, each.cell.kind, mode), set()).add(each.row.system.name)
    return {key: next(iter(names)) for key, names in named.items() if len(names) == 1}


def _corpus(cell: Cell) -> str:
    return cell.group.partition("/")[2]


def _changes(values: Iterable[str]) -> int:
    """How often a value follows another one: what changes least stands on top."""
    return sum(before != after for before, after in pairwise(values))


def _heads(columns: Sequence[tuple[str, ...]]) -> list[list[Head]]:
    """The lines of heads: what is equal beside each other, below the same, has one."""
    beginnings = ([column[: level + 1] for column in columns] for level in range(len(columns[0])))
    return [[Head(_head(key[-1]), len(list(same))) for key, same in groupby(line)] for line in beginnings]


def _head(name: str) -> str:
    """As a person reads it."""
    return shown_measure(name).removeprefix("gap:").replace("relchange:", "change of ").replace("_", " ")


def _row(
    key: tuple[str, ...], found: Mapping[tuple[str, ...], Compared], columns: Sequence[tuple[str, ...]], notes: dict[str, int]
) -> dict[str, Any]:
    """A line of the table. What is known of all of its cells is noted once, at its name."""
    corpus, kind, system, mode, ours = key
    known = [set(_known(each)) for each in found.values()]
    common = set.intersection(*known)
    own = [text for text in dict.fromkeys(text for each in found.values() for text in _known(each)) if text in common]
    return {
        "block": " ".join(filter(None, (corpus, kind))),
        "name": " ".join(filter(None, (system, f"({mode})" if mode else ""))),
        "ours": ours,
        "marks": [_number(text, notes) for text in own],
        "cells": [_cell(found[column], own, notes, column) if column in found else None for column in columns],
        "mean": _points(mean_difference(found.values())),
    }


def _known(each: Compared) -> list[str]:
    """What is known of a cell: why it was not run, what differs from the authors' way, what contradicts it."""
    remarks = each.row.remark.split("; ") if each.row else []
    return list(filter(None, [f"Not run: {each.why}" if each.why else "", *remarks, *each.cell.inconsistent]))


def _number(note: str, notes: dict[str, int]) -> int:
    return notes.setdefault(note, len(notes) + 1)


def _cell(each: Compared, common: Sequence[str], notes: dict[str, int], column: tuple[str, ...]) -> dict[str, Any]:
    cell = each.cell
    own = [text for text in _known(each) if text not in common]
    off = "" if each.difference is None else f"{each.difference * SCALES[cell.scale]:+.{decimals(cell)}f}"
    return {
        "state": each.state,
        "sign": SIGNS[each.state],
        "ours": each.shown,
        "best": each.tested.first,
        "similar": each.tested.is_similar,
        "printed": cell.printed,
        "off": off,
        "marks": [_number(text, notes) for text in own],
        "about": {
            "head": f"{cell.system}{f' ({cell.kind})' if cell.kind else ''}: {', '.join(filter(None, map(_head, column)))}",
            "full": "" if each.value is None else f"{each.value * SCALES[cell.scale]:.6g}",
            "scale": "" if cell.scale == "number" else cell.scale,
            "known": _known(each),
            "tried": _tried(each),
            "prompt": PROMPTS.get(each.prompt, ""),
            "best": each.tested.said(cell.kind),
            "note": cell.note,
        },
    }


def _tried(each: Compared) -> str:
    """The way that our system was used, and the other recipes that it has."""
    if each.row is None or not each.row.system.kind:
        return ""
    others = [name for name in each.row.system.recipes if name != each.row.recipe]
    way = f"recipe {each.row.recipe}" if each.row.recipe else "as its model card has it"
    untried = f"; not tried: recipe {', '.join(others)}" if others and each.state == DIFFERS else ""
    return f"{way}{untried}"


def _points(off: float | None) -> str:
    """A mean difference in points, 100 for the whole."""
    return "" if off is None else f"{100 * off:+.2f}".replace("+0.00", "0.00").replace("-0.00", "0.00")


def _scales(cells: Sequence[Compared]) -> str:
    """How the table prints its numbers."""
    scales: dict[str, dict[str, None]] = {}
    for each in cells:
        kind = {"gap:": "differences in points", "relchange:": "relative changes in per cent"}.get(change_of(each.cell), "")
        scales.setdefault(kind or each.cell.scale, {})[_head(each.cell.measure)] = None
    scales.pop("number", None)
    return "; ".join(f"{', '.join(measures)}: {scale}" for scale, measures in scales.items())


def _claims(outcome: Outcome) -> list[dict[str, str]]:
    return [
        {"section": claim.section, "claim": claim.claim, "paper": SAID[claim.holds], "ours": SAID[holds], "note": claim.note}
        for claim, holds in outcome.claims
    ]


def _records(reproduction: Reproduction) -> dict[str, Any]:
    """Every file that is there, once, with what its record says of it, and what all of them took."""
    files, tables = reproduction.files, reproduction.tables
    planned = {each.path: each.kind for row in (*tables.rows, *tables.others) for each in files.planned(row)}
    records = {path: read_record(path) for path in planned if path.is_file()}
    rows = [
        {"name": str(path.relative_to(files.output)), **_recorded(record, planned[path])}
        for path, record in records.items()
        if record is not None
    ]
    seconds = [row["seconds"] for row in rows if row["seconds"] is not None]
    return {
        "rows": [{**row, "seconds": "" if row["seconds"] is None else _duration(row["seconds"])} for row in rows],
        "seconds": _duration(sum(seconds)) if seconds else "",
        "requests": sum(row["requests"] for row in rows),
        "tokens": sum(row["tokens"] for row in rows),
    }


def _recorded(record: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Digest, length, version and seconds of a file; the requests that its last step sent to a server or a language model, and
    tokens as the server counted them: steps before it have files of their own."""
    about, seconds = part(record, "data", kind), part(record, "implementation", "executable").get("wall time")
    lists = [steps for steps in part(record, "method").values() if isinstance(steps, list)]
    last = next((step for steps in reversed(lists) for step in reversed(steps) if isinstance(step, Mapping)), {})
    usage = {name.replace(" ", "_"): count for name, count in part(last, "usage").items() if isinstance(count, int)}
    return {
        "sha256": str(about.get("sha256", "")),
        "lines": int(about.get("lines", about.get("queries", 0))),
        "version": str(tandem_version(record)),
        "seconds": float(seconds) if isinstance(seconds, int | float) else None,
        "requests": usage.get("asked", 0),
        "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
    }


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _commands(reproduction: Reproduction) -> list[tuple[str, list[str]]]:
    """What makes each row by hand, part by part."""
    by_part: dict[str, dict[str, None]] = {}
    for row in reproduction.tables.rows:
        lines = dict.fromkeys(commands(reproduction.files, row))
        by_part.setdefault(row.part.name, {}).update(lines)
    return [(name, list(lines)) for name, lines in by_part.items()]
