"""The page of a reproduction: every table of the paper with ours in its cells, the claims, and what it was made with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.scores import shown_measure
from toolkit.datasets import find, load
from toolkit.files.provenance import part, read_record, steps_of
from toolkit.registry.published.paper_tables import SCALES
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
    Compared,
    by_prompt,
    cell_key,
    decimals,
    mean_difference,
)
from toolkit.studies.reproduce.dry_run import duration, unmade_places
from toolkit.studies.reproduce.row_prompts import OTHER, WHOSE
from toolkit.studies.reproduce.row_scores import commands
from toolkit.studies.reproduce.table_rows import change_of

if TYPE_CHECKING:
    from toolkit.studies.reproduce import Outcome, Reproduction

FOLDER = Path(__file__).parent
SIGNS = {AGREES: "=", NEAR: "≈", DIFFERS: "≠", OTHER_PROMPT: "≟", NOT_PRINTED: "·", NOT_RUN: "–"}
PROMPTS = {name: "a file or examples of the user's" if name == OTHER else name for name in WHOSE}
FILLED = 0.5  # a table less full than this has its modes down, not across


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
        room=100 * reproduction.tables.tolerance,
        states=Counter(each.state for each in outcome.cells),
        signs=SIGNS,
        overall=_points(mean_difference(outcome.cells)),
        tables=[_table(name, cells) for name, cells in tables.items()],
        claims=[(claim, SAID[claim.holds], SAID[holds]) for claim, holds in outcome.claims],
        records=list(_records(reproduction)),
        duration=duration,
        commands=[
            (name, list(dict.fromkeys(line for row in rows for line in commands(reproduction.files, row))))
            for name, rows in groupby(reproduction.tables.rows, lambda row: row.part.name)
        ],
        failures=outcome.failures,
        unmade=unmade_places(reproduction.tables),
    )
    return pages.page(
        f"{paper}: the paper's tables, made again",
        Markup(body),
        style=(FOLDER / "comparison_page.css").read_text(encoding="utf-8"),
        script=Markup((FOLDER / "comparison_page.js").read_text(encoding="utf-8")),
    )


def _table(name: str, cells: Sequence[Compared]) -> dict[str, Any]:
    """A table as the paper has it: its rows of systems, ours in their cells; below and beside it the mean differences."""
    places = _places(cells)
    columns = list(dict.fromkeys(column for _, column in places))
    # what is equal beside each other, below the same, has one head
    beginnings = ([column[: level + 1] for column in columns] for level in range(len(columns[0])))
    heads = [[(_head(key[-1]), len(list(same))) for key, same in groupby(line)] for line in beginnings]
    notes: dict[str, int] = {}
    lines: dict[tuple[str, ...], dict[tuple[str, ...], Compared]] = {}
    for (row, column), each in zip(places, cells, strict=True):
        lines.setdefault(row, {})[column] = each
    rows = [_row(key, found, columns, notes) for key, found in lines.items()]
    below = [_points(mean_difference(found[column] for found in lines.values() if column in found)) for column in columns]
    return {
        "id": f"table-{name}",
        "title": f"Table {name}" if name.isdigit() else name.replace("figure", "Figure "),
        "heads": heads,
        "blocks": [(heading, list(below)) for heading, below in groupby(rows, itemgetter("block"))],
        "below": below,
        "overall": _points(mean_difference(cells)),
        "states": Counter(each.state for each in cells),
        "prompts": [
            f"{PROMPTS[name]} {count:,}" for counts in by_prompt(cells).values() for name, count in counts.items() if count
        ],
        "notes": list(notes),
        "scales": _scales(cells),
        "tested": any(each.tested.best for each in cells),
    }


def _places(cells: Sequence[Compared]) -> list[tuple[tuple[str, str, str], tuple[str, ...]]]:
    """The row (its block, the system as printed, ours) and the column of each cell: corpora down and data sets across, modes
    across unless these leave most of the table empty."""
    printed = [each.cell for each in cells]
    splits = [cell.group.partition("/") for cell in printed]
    has_corpora = all(slash for _, slash, _ in splits) and len({corpus for *_, corpus in splits}) > 1
    corpora = [corpus if has_corpora else "" for *_, corpus in splits]
    groups = [group if has_corpora else cell.group for cell, (group, *_) in zip(printed, splits, strict=True)]
    levels = [(group, cell.mode, cell.measure) for cell, group in zip(printed, groups, strict=True)]
    rows = {(corpus, cell.system, cell.kind) for cell, corpus in zip(printed, corpora, strict=True)}
    is_sparse = len(set(map(cell_key, printed))) < FILLED * len(rows) * len(set(levels))
    modes_down = is_sparse and len({cell.mode for cell in printed}) > 1
    levels = [(group, "" if modes_down else mode, measure) for group, mode, measure in levels]
    varying = [level for level in range(3) if len({column[level] for column in levels}) > 1] or [2]
    columns = list(dict.fromkeys(levels))
    # what changes least from one column to the next stands on top
    varying.sort(key=lambda level: sum(before[level] != after[level] for before, after in pairwise(columns)))
    systems, places = _systems(cells), []
    for each, corpus, column in zip(cells, corpora, levels, strict=True):
        cell, mode = each.cell, f"({each.cell.mode})" if modes_down and each.cell.mode else ""
        ours = each.row.system.name if each.row else systems.get((cell.system, cell.kind, cell.mode), "")
        row = (f"{corpus} {cell.kind}".strip(), f"{cell.system} {mode}".strip(), ours)
        places.append((row, tuple(column[level] for level in varying)))
    return places


def _systems(cells: Iterable[Compared]) -> dict[tuple[str, str, str], str]:
    """Our one system of a printed name, for its cells that have no row."""
    named: dict[tuple[str, str, str], set[str]] = {}
    for each in cells:
        if each.row:
            for mode in (each.cell.mode, ""):
                named.setdefault((each.cell.system, each.cell.kind, mode), set()).add(each.row.system.name)
    return {key: next(iter(names)) for key, names in named.items() if len(names) == 1}


def _head(name: str) -> str:
    """As a person reads it."""
    return shown_measure(name).removeprefix("gap:").replace("relchange:", "change of ").replace("_", " ")


def _row(
    key: tuple[str, ...], found: Mapping[tuple[str, ...], Compared], columns: Sequence[tuple[str, ...]], notes: dict[str, int]
) -> dict[str, Any]:
    """A line of the table. What is known of all of its cells is noted once, at its name."""
    first, *others = map(_known, found.values())
    common = [text for text in dict.fromkeys(first) if all(text in known for known in others)]
    return {
        **dict(zip(("block", "name", "ours"), key, strict=True)),
        "marks": _numbers(common, notes),
        "cells": [_cell(found[column], common, notes, column) if column in found else None for column in columns],
        "mean": _points(mean_difference(found.values())),
    }


def _known(each: Compared) -> list[str]:
    """What is known of a cell: why it was not run, what differs from the authors' way, what contradicts it."""
    remarks = each.row.remark.split("; ") if each.row else []
    return list(filter(None, [f"Not run: {each.why}" if each.why else "", *remarks, *each.cell.inconsistent]))


def _numbers(known: Iterable[str], notes: dict[str, int]) -> list[int]:
    return [notes.setdefault(text, len(notes) + 1) for text in known]


def _cell(each: Compared, common: Sequence[str], notes: dict[str, int], column: tuple[str, ...]) -> dict[str, Any]:
    cell = each.cell
    off = "" if each.difference is None else f"{each.difference * SCALES[cell.scale]:+.{decimals(cell)}f}"
    tried = ""  # the way that our system was used, and the other recipes that it has
    if each.row and each.row.system.kind:
        others = [name for name in each.row.system.recipes if name != each.row.recipe]
        tried = f"recipe {each.row.recipe}" if each.row.recipe else "as its model card has it"
        tried += f"; not tried: recipe {', '.join(others)}" if others and each.state == DIFFERS else ""
    return {
        "of": each,
        "off": off,
        "marks": _numbers((text for text in _known(each) if text not in common), notes),
        "about": {
            "head": f"{cell.system}{f' ({cell.kind})' if cell.kind else ''}: {', '.join(filter(None, map(_head, column)))}",
            "full": "" if each.value is None else f"{each.value * SCALES[cell.scale]:.6g}",
            "scale": "" if cell.scale == "number" else cell.scale,
            "known": _known(each),
            "tried": tried,
            "prompt": PROMPTS.get(each.prompt, ""),
            "best": each.tested.said(cell.kind),
            "note": cell.note,
        },
    }


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


def _records(reproduction: Reproduction) -> Iterator[dict[str, Any]]:
    """Every file that is there, once, with what its record says of it: digest, length, version and seconds; the requests that
    its last step sent to a server or a language model, and tokens as the server counted them: steps before it have files of
    their own."""
    files, tables = reproduction.files, reproduction.tables
    planned = {each.path: each.kind for row in (*tables.rows, *tables.others) for each in files.planned(row)}
    for path, kind in planned.items():
        if not path.is_file() or (record := read_record(path)) is None:
            continue
        about, seconds = part(record, "data", kind), part(record, "implementation", "executable").get("wall time")
        last = (steps_of(record) or [{}])[-1]
        usage = {name.replace(" ", "_"): count for name, count in part(last, "usage").items() if isinstance(count, int)}
        yield {
            "name": str(path.relative_to(files.output)),
            "sha256": str(about.get("sha256", "")),
            "lines": int(about.get("lines", about.get("queries", 0))),
            "version": str(tandem_version(record)),
            "seconds": float(seconds) if isinstance(seconds, int | float) else None,
            "requests": usage.get("asked", 0),
            "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        }
