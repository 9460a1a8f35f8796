"""The numbers that papers report: `registry/published/<paper>-*.csv`, a row each, and how they are read (`measures.yaml`).

So are public results of many models, a row a model and group (MTEB's on FollowIR).
"""

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER, did_you_mean

PUBLISHED = FOLDER / "published"
SCALES = {"fraction": 1, "times 100": 100, "per cent": 100, "number": 1}


class Place(NamedTuple):
    """Where the scores of a run have what a cell of a paper prints.

    groups   ours; of several the cell is the mean
    mode     ours; empty for what has none, or needs several; `ori by core` where the paper counts core queries
    measure  as ir_measures writes it
    """

    groups: tuple[str, ...]
    mode: str
    measure: str


class Cell(NamedTuple):
    """One number of a paper.

    table         its number, `figure3`, `text` for what stands in running text, or `results` for public results
    system        as the table prints it, and so `group` (`average`: the printed one), `mode` and `measure`
    kind          the heading that it stands under (`bi-encoder`, `listwise`); `ours` knows no other way to tell rows of one
                  name apart
    printed       as it is printed
    scale         how it is printed, one of `SCALES`
    value         the same as a fraction, a count or a rank
    note          what has to be known of it
    inconsistent  how the paper contradicts it, each in a sentence
    ours          what it is compared with; None where nothing of ours is like it
    """

    table: str
    system: str
    kind: str
    group: str
    mode: str
    measure: str
    printed: str
    scale: str
    value: float
    note: str
    inconsistent: tuple[str, ...]
    ours: Place | None


@functools.cache
def cells(paper: str) -> tuple[Cell, ...]:
    """Everything that a paper prints, or that is public of its benchmark, table by table, each in its order; else empty."""
    known = _reading().get(paper)
    if known is None:
        return ()
    scales = {measure: scale for scale, measures in known["scales"].items() for measure in measures}
    rows = []
    for path in sorted(PUBLISHED.glob(known.get("results", f"{paper}-*.csv")), key=_order):
        with path.open(encoding="utf-8", newline="") as file:
            read = csv.DictReader(file)
            found = (row for each in read for row in _of_results(each, known)) if "results" in known else read
            rows += [_cell(row, paper, known, scales) for row in found]
    return tuple(rows)


def _of_results(row: Mapping[str, str], known: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """A row for each number that a model has in a table with a column a number."""
    named = {ours: row[theirs] for ours, theirs in known["columns"].items()}
    named["system"] = named["system"].replace("__", "/", 1)  # the id on the hub, as the names of files have it
    for column, number in known["numbers"].items():
        if row[column]:
            measure, _, mode = number.partition(" ")
            yield {**named, "table": "results", "measure": measure, "mode": mode, "value": row[column]}


@functools.cache
def _reading() -> Mapping[str, Any]:
    """Paper -> how its tables are read."""
    return read_yaml(PUBLISHED / "measures.yaml")


def _order(path: Path) -> tuple[bool, int, str]:
    """Tables by number, then the rest."""
    number = re.search(r"-table(\d+)$", path.stem)
    return number is None, int(number[1]) if number else 0, path.stem


def _cell(row: Mapping[str, str], paper: str, known: Mapping[str, Any], scales: Mapping[str, str]) -> Cell:
    scale = scales[row["measure"]]
    return Cell(
        **{name: row[name] for name in ("table", "system", "kind", "group", "mode", "measure", "note")},
        printed=row["value"],
        scale=scale,
        value=float(Decimal(row["value"]) / SCALES[scale]),  # 7.2 -> 0.072, where floats give 0.07200000000000001
        inconsistent=tuple(each.what for each in inconsistencies(paper) if any(picks(cell, row) for cell in each.cells)),
        ours=_place(row, paper, known),
    )


def _place(row: Mapping[str, str], paper: str, known: Mapping[str, Any]) -> Place | None:
    group, mode, measure = row["group"], row["mode"], row["measure"]
    groups = known.get("groups", {})
    ours = groups.get(f"{group} {mode}") or groups.get(group) or ([group] if group in _registered_groups(paper) else None)
    if measure not in known["measures"] or not ours or not row["system"]:
        return None
    unit = known.get("units", {}).get(f"{row['table']} {measure} {mode}", "")
    return Place(tuple(ours), known.get("modes", {}).get(measure, mode) + unit, known["measures"][measure])


@functools.cache
def _registered_groups(paper: str) -> frozenset[str]:
    return frozenset(group["name"] for group in read_yaml(FOLDER / "benchmarks" / f"{paper}.yaml")["groups"])


def reading(paper: str) -> Mapping[str, Any]:
    """How a paper's tables are read (`measures.yaml`); empty for a paper without tables."""
    return _reading().get(paper, {})


def papers() -> tuple[str, ...]:
    """The papers whose tables are here, by the names of their benchmarks."""
    return tuple(paper for paper, known in _reading().items() if "results" not in known)


def sources() -> tuple[str, ...]:
    """Those, and the benchmarks of which there are public results."""
    return tuple(_reading())


def row_of(paper: str, spec: SystemSpec | None) -> Mapping[str, Any]:
    """How a paper's tables print an entry of the registry, public results by its checkpoint; empty where they do not."""
    if spec is None or "results" not in reading(paper):
        return spec.printed.get(paper, {}) if spec else {}
    return {"name": spec.checkpoint} if spec.checkpoint in rows_named(paper) else {}


def kind_of(paper: str, kind: str) -> str:
    """The heading under which a paper's tables would print a system of one of our kinds; empty where they have none for it."""
    return next((heading for heading, kinds in _reading()[paper].get("kinds", {}).items() if kind in kinds), "")


def is_of(cell: Cell, printed: Mapping[str, Any]) -> bool:
    """Whether a cell is of a system that its entry says is `printed` so (`SystemSpec.printed`).

    Tables without kinds have an empty one; they print no name twice.
    """
    names = printed["name"] if isinstance(printed["name"], list) else [printed["name"]]
    kind, mode = printed.get("kind"), printed.get("mode")
    return cell.system in names and (not kind or cell.kind in ("", kind)) and (not mode or cell.mode == mode)


@functools.cache
def rows_named(paper: str) -> dict[str, dict[str, str] | None]:
    """Every name of a system that a paper prints scores of -> the row, in the form of `SystemSpec.printed`; `NAME (KIND)` too
    where several kinds have one name, and then None for the name alone."""
    kinds: dict[str, set[str]] = {}
    for cell in cells(paper):
        if cell.ours:
            kinds.setdefault(cell.system, set()).add(cell.kind)
    named: dict[str, dict[str, str] | None] = {}
    for name, headings in kinds.items():
        several = sorted(headings - {""})
        named[name] = {"name": name} if len(several) < 2 else None
        if len(several) > 1:
            named |= {f"{name} ({kind})": {"name": name, "kind": kind} for kind in several}
    return named


def cells_of(paper: str, table: str | None = None, system: str | None = None) -> list[Cell]:
    """What a paper prints, or of it one table, one system.

    table   `1`, `figure3`, `text`
    system  an entry of the registry, or as the paper prints it (`GPT-4o`, `Mistral-ins-v0.2 (listwise)`)

    Raises ToolkitError for a benchmark of which nothing is published, and for a table or system that is not there.
    """
    chosen = list(cells(paper))
    if not chosen:
        raise ToolkitError(f"nothing published is known of {paper}", f"there are tables of {', '.join(sources())}")
    if table is not None:
        tables = list(dict.fromkeys(cell.table for cell in chosen))
        if table not in tables:
            raise ToolkitError(f"the {paper} paper has no table {table!r} of numbers", f"it has {', '.join(tables)}")
        chosen = [cell for cell in chosen if cell.table == table]
    if system is not None:
        row = printed_row(paper, system)
        chosen = [cell for cell in chosen if is_of(cell, row)]
        if not chosen:
            raise ToolkitError(f"table {table} of the {paper} paper has no row of {system}", "leave --table out")
    return chosen


def printed_row(paper: str, system: str) -> Mapping[str, Any]:
    """How a paper prints a system: an entry of the registry, or a printed name.

    Raises ToolkitError for an entry that the paper does not report, and for a name that it does not print or prints twice.
    """
    entries = {name: row for name, spec in registry.systems().items() if (row := row_of(paper, spec))}
    if system in entries:
        return entries[system]
    if system in registry.systems():
        raise ToolkitError(f"the {paper} paper does not report {system}", f"it reports {', '.join(entries)}")
    names = rows_named(paper)
    if system not in names:
        hint = f"{did_you_mean(system, [*entries, *names])}known: {', '.join(names)}"
        raise ToolkitError(f"the {paper} paper prints no system {system!r}", hint)
    if names[system] is None:
        ways = [name for name in names if name.startswith(f"{system} (")]
        raise ToolkitError(f"the {paper} paper prints {system!r} {len(ways)} times", f"one of {', '.join(ways)}")
    return names[system]


def graded(paper: str, table: str | None = None) -> list[tuple[str, str, str, float]]:
    """The overall numbers of the systems of a table, by default the paper's first with scores: system, measure, mode, value.

    Overall are averages over groups where the table has some; a system stands once for each of several averages.
    """
    chosen = [cell for cell in cells_of(paper, table) if cell.ours]
    if not chosen:
        raise ToolkitError(f"table {table} of the {paper} paper has no scores of systems", "name another table")
    chosen = [cell for cell in chosen if cell.table == chosen[0].table]
    averages = [cell for cell in chosen if cell.group.startswith("average")]
    return [(f"{each.system} {each.kind} {each.group}", each.measure, each.mode, each.value) for each in averages or chosen]


class Inconsistency(NamedTuple):
    """One thing that does not agree.

    what   in words
    cells  the cells that it is about, each as the columns that pick them out: table, system, kind, group, mode, measure, with
           a value or several; no cells where it is about the text or the data
    """

    what: str
    cells: tuple[dict[str, Any], ...]


@functools.cache
def inconsistencies(paper: str) -> tuple[Inconsistency, ...]:
    """Everything known of a paper; empty where nothing is."""
    known = read_yaml(PUBLISHED / "inconsistencies.yaml").get(paper, ())
    return tuple(Inconsistency(row["what"], tuple(row.get("cells", ()))) for row in known)


def picks(cell: Mapping[str, Any], row: Mapping[str, str]) -> bool:
    """Whether a row has, in every column that is named, the value or one of the values."""
    return all(row[name] in map(str, value if isinstance(value, list) else [value]) for name, value in cell.items())


class Printed(NamedTuple):
    """One cell of a paper's table of statistics.

    place         its row and column there (`fas multilingual query_chars`)
    groups        ours, which the cell is about
    mode          ours; empty for any
    statistic     what of ours it is compared with, a name of `toolkit.datasets.statistics`
    value         as it is printed
    approximate   why ours cannot be compared digit for digit; empty where it can
    inconsistent  how the paper contradicts the cell; empty where it does not
    within        how far an approximate number may be off, as a fraction of the printed one; 0 for what any may
    """

    table: str
    place: str
    groups: tuple[str, ...]
    mode: str
    statistic: str
    value: str
    approximate: str
    inconsistent: str
    within: float = 0


def statistics(paper: str) -> list[Printed]:
    """Every cell of a paper's table of statistics, in its order; empty where it has none."""
    known = read_yaml(PUBLISHED / "statistics.yaml").get(paper)
    if known is None:
        return []
    in_table = [cell for cell in cells(paper) if cell.table in (str(known["table"]), "text")]
    wanted = [cell for cell in in_table if cell.table != "text" or f"{cell.group} {cell.measure}" in known.get("text", ())]
    found = []
    for cell in wanted:
        group, mode, measure = cell.group, cell.mode, cell.measure
        ours, place = known["statistics"][measure], " ".join(filter(None, (group, mode, measure)))
        named = (known.get("groups", {}).get(key) for key in (f"{group} {measure}", f"{group} {mode}", group))
        about = (tuple(next(filter(None, named), [group])), ours.get("mode", mode), ours["statistic"])
        approximate, inconsistent = ours.get("approximate", ""), " ".join(cell.inconsistent)
        found.append(Printed(cell.table, place, *about, cell.printed, approximate, inconsistent, ours.get("within", 0)))
    return found
