"""What it takes to make a paper's tables again: which runs, by which systems, in which way, and what cannot be made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit import registry
from toolkit.benchmarks import find
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.yaml_json import read_yaml
from toolkit.published.comparison import scored_group
from toolkit.published.paper_tables import PUBLISHED, Cell, Place, cells, is_of, papers
from toolkit.registry.loader import did_you_mean

GAP = "gap:"  # a difference in points to another table
JUDGES, RERANKERS = ("judge", "expander"), ("cross-encoder", "monot5", "yes-no", "listwise")


@dataclass(frozen=True)
class Part:
    """Runs that are made in one way and scored by one selection of the benchmark, see `published/reproductions.yaml`."""

    name: str
    tables: tuple[str, ...]
    topics: str
    search: Mapping[str, Any]
    printed: str = ""
    minus: str = ""
    judge: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Row:
    """A system's row in the tables of a part.

    cells   what the paper prints of it
    recipe  of the paper; empty for the model card's way
    remark  what is known to differ from what the authors did, or empty
    """

    part: Part
    system: SystemSpec
    cells: tuple[Cell, ...]
    recipe: str
    remark: str

    @property
    def reranks(self) -> bool:
        """Whether it reranks the benchmark's candidates; it searches otherwise."""
        return self.system.kind in RERANKERS

    @property
    def name(self) -> str:
        """`infosearch/gritlm-7b`."""
        return f"{self.part.name}/{self.system.name}"


@dataclass(frozen=True)
class Tables:
    """What a paper's tables take.

    tolerance  how far a number may be off and be near the printed one
    unmade     table, or part of one -> why it cannot be made
    """

    paper: str
    rows: tuple[Row, ...]
    tolerance: float
    unmade: Mapping[str, str]


def tables_of(paper: str, tables: Sequence[str] = (), systems: Sequence[str] = ()) -> Tables:
    """The rows of a paper's tables of results, or of some of its tables and systems.

    Raises ToolkitError for a paper, table or system that is not there, and for a table that cannot be made.
    """
    known = read_yaml(PUBLISHED / "reproductions.yaml")
    if paper not in known:
        raise ToolkitError(f"no tables of {paper!r} to reproduce", f"{did_you_mean(paper, known)}known: {', '.join(papers())}")
    of_paper = known[paper]
    parts = [_part(each) for each in of_paper["parts"]]
    made = sorted({table for part in parts for table in part.tables})
    for table in tables:
        if table not in made:
            why = next((why for name, why in of_paper["unmade"].items() if name == table), "")
            raise ToolkitError(
                f"table {table} of the {paper} paper cannot be made{f': {why}' if why else ', as it has none'}",
                f"these can: {', '.join(made)}",
            )
    rows = [row for part in parts for row in _rows(paper, part, set(tables))]
    rows = [row for row in rows if row.cells or any(each.part.minus == row.part.name for each in rows if each.cells)]
    names = list(dict.fromkeys(row.system.name for row in rows))
    if unknown := [name for name in systems if name not in names]:
        raise ToolkitError(
            f"the tables of the {paper} paper have no system {unknown[0]!r}",
            f"{did_you_mean(unknown[0], names)}they have {', '.join(names)}",
        )
    chosen = tuple(row for row in rows if not systems or row.system.name in systems)
    return Tables(paper, chosen, of_paper["tolerance"], of_paper["unmade"])


def _part(entry: Mapping[str, Any]) -> Part:
    return Part(**{**entry, "tables": tuple(entry["tables"])})


def _rows(paper: str, part: Part, tables: Collection[str]) -> Iterator[Row]:
    """Every system that the part's tables print, with what some of them print of it: nothing where it is in none of these."""
    groups = find(part.topics, at_hand=False).groups
    printed = [
        cell._replace(ours=place)
        for cell in cells(paper)
        if cell.table in part.tables and (place := _place(cell, part, groups)) and scored_group(place, groups)
    ]
    for spec in registry.systems().values():
        row = spec.printed.get(paper)
        own = [cell for cell in printed if row and is_of(cell, row)]
        if own and spec.kind not in JUDGES:
            yield Row(part, spec, tuple(cell for cell in own if not tables or cell.table in tables), *_recipe(spec, paper))


def _place(cell: Cell, part: Part, groups: tuple[str, ...]) -> Place | None:
    """Where the scores of a part's runs have what a cell prints, or is the difference of."""
    if part.minus:
        return Place(groups, "", cell.measure.removeprefix(GAP)) if cell.measure.startswith(GAP) else None
    return cell.ours if cell.group.endswith(part.printed) else None


def _recipe(spec: SystemSpec, paper: str) -> tuple[str, str]:
    """The recipe of a paper that a system is used by, and what is known to differ from the paper's own way."""
    recipe = spec.recipes.get(paper, {})
    if why := recipe.get("unknown"):
        return "", f"as its model card has it: {why}"
    if not recipe:
        return "", ""
    ours = "prompt: ours" if "prompt is ours" in " ".join(str(recipe.get("notes", "")).split()) else ""
    return paper, ours
