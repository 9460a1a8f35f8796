"""What it takes to make a paper's tables again: which rows, by which systems, in which way, and what cannot be made."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.datasets import find, load
from toolkit.models.judges.loading import STANCE as STANCES
from toolkit.models.judges.loading import of_task
from toolkit.registry.loader import did_you_mean
from toolkit.registry.published.comparison import scored_group
from toolkit.registry.published.paper_tables import PUBLISHED, Cell, Place, cells, is_of, papers
from toolkit.studies.reproduce.row_prompts import Sent, remarks, sent

GAP, RELATIVE = "gap:", "relchange:"  # measures that are a difference in points, or a relative one, to another table
AGREEMENT, COVERAGE, OVERLAP = "agreement", "coverage", "overlap"
PARAPHRASES, STANCE, UNION = "paraphrases", "stance", "union"
DIVERSIFY, EXPAND = "diversify", "expand"
EXPANDERS, JUDGES = ("expander",), ("judge",)
RERANKERS = ("cross-encoder", "monot5", "yes-no", "listwise")
INHERITED = ("topics", "search", "indexes", "corpus", "judge", "needs")  # a part has these of the part that it is `of`


@dataclass(frozen=True)
class Part:
    """Rows that are made in one way and scored by one selection of the benchmark, see `published/reproductions.yaml`."""

    name: str
    tables: tuple[str, ...]
    topics: str
    printed: str = ""
    cells: Mapping[str, str] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    first_stage: str = ""
    indexes: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    of: str = ""
    how: str = ""
    mmr: str = ""
    expander: str = ""
    judge: Mapping[str, Any] = field(default_factory=dict)
    stances: str = ""
    scores: str = "evaluate"
    lexical: str = ""
    rows: Mapping[str, str] = field(default_factory=dict)
    against: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)
    mode: str = ""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drawn: Sequence[str] = ()
    remark: str = ""
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_runs(self) -> bool:
        """Whether its rows have runs of their own; otherwise they score those of `of`, or judge labelled pairs."""
        return self.scores != AGREEMENT and (not self.of or bool(self.how))


@dataclass(frozen=True)
class Row:
    """A system's row in the tables of a part.

    cells   what the paper prints of it, each with its place among the scores (`ours`); empty for a row that others need
    recipe  of the paper; empty for the model card's way
    notes   what is known of the recipe, the part, and systems of the kind
    sent    the prompts that its numbers rest on
    """

    part: Part
    system: SystemSpec
    cells: tuple[Cell, ...]
    recipe: str
    notes: tuple[str, ...]
    sent: tuple[Sent, ...]

    @property
    def reranks(self) -> bool:
        """Whether it reranks what a first stage has found; it searches otherwise."""
        return self.system.kind in RERANKERS

    @property
    def remark(self) -> str:
        """What is known to differ from what the authors did, or empty."""
        first, *others = self.notes
        return "; ".join(dict.fromkeys(filter(None, (first, *remarks(self.sent, self.system.name), *others))))

    def sent_to(self, system: str) -> Sent | None:
        """What one of its systems is sent; None for one without a prompt."""
        return next((each for each in self.sent if each.system == system), None)

    @property
    def name(self) -> str:
        """`infosearch/gritlm-7b`."""
        return f"{self.part.name}/{self.system.name}"


@dataclass(frozen=True)
class Tables:
    """What a paper's tables take.

    rows       to be made, each behind those that it needs
    others     of the same tables, but of systems that nobody has asked for
    tolerance  how far a number may be off and be near the printed one
    tests      measure -> how the paper tests it against the best of a column, one of `comparison.comparison.TESTS`
    printed    every cell of the chosen tables of results, in the paper's order
    unmade     what cannot be made: the values of cells, and why
    prompts    the folder of published prompts that systems are sent; empty for ours
    """

    paper: str
    rows: tuple[Row, ...]
    others: tuple[Row, ...]
    tolerance: float
    tests: Mapping[str, str]
    printed: tuple[Cell, ...]
    unmade: tuple[Mapping[str, str], ...]
    prompts: str = ""

    def row(self, name: str) -> Row:
        """The row of a name."""
        return next(row for row in (*self.rows, *self.others) if row.name == name)

    def why_unmade(self, cell: Cell) -> str:
        """Why a cell has no row; empty where nothing is known of that."""
        return next((entry["why"] for entry in self.unmade if _is_about(entry, cell)), "")


def tables_of(
    paper: str,
    tables: Sequence[str] = (),
    systems: Sequence[str] = (),
    indexes: Mapping[str, str] | None = None,
    prompts: str = "",
) -> Tables:
    """The rows of a paper's tables of results, or of some of its tables and systems.

    indexes  the user's own: a corpus that needs one (`sphere`), or a row (`wikipedia/contriever-msmarco`) -> its folder
    prompts  a folder of published prompts

    Raises ToolkitError for a paper, table, system or index that is not there, and for a table that cannot be made.
    """
    known = read_yaml(PUBLISHED / "reproductions.yaml")
    if paper not in known:
        raise ToolkitError(f"no tables of {paper!r} to reproduce", f"{did_you_mean(paper, known)}known: {', '.join(papers())}")
    of_paper, own = known[paper], dict(indexes or {})
    every = _parts(of_paper["parts"])
    named = {part.name: {**part.search, "index": own[part.needs["index"]]} for part in every if part.needs.get("index") in own}
    parts = [replace(part, search=named.get(part.name, part.search)) for part in every if not part.needs or part.name in named]
    unmade = [*of_paper["unmade"], *_without_index(every, own)]
    made = sorted({table for part in parts for table in part.tables}, key=lambda name: (len(name), name))
    for table in tables:
        if table not in made:
            why = next((entry["why"] for entry in unmade if entry["table"] == table and len(entry) == 2), "")
            message = f"table {table} of the {paper} paper cannot be made{f': {why}' if why else ', as it has none'}"
            raise ToolkitError(message, f"these can: {', '.join(made)}")
    rows = {row.name: row for part in parts for row in _rows(paper, part, prompts)}
    wanted = {name: _with_cells(row, tables, own, unmade) for name, row in rows.items()}
    names = list(dict.fromkeys(row.system.name for row in wanted.values() if row.cells))
    if unknown := [name for name in systems if name not in names]:
        hint = f"{did_you_mean(unknown[0], names)}they have {', '.join(names)}"
        raise ToolkitError(f"the tables of the {paper} paper have no system {unknown[0]!r}", hint)
    if unknown := [name for name in own if name not in rows and name not in {part.needs.get("index") for part in every}]:
        needed = sorted({part.needs["index"] for part in every if part.needs})
        hint = f"a row's (PART/SYSTEM, as --dry-run shows them){''.join(f', or {name}' for name in needed)}"
        raise ToolkitError(f"the {paper} paper has no index {unknown[0]!r}", f"{did_you_mean(unknown[0], rows)}{hint}")
    chosen = _with_needed([name for name, row in wanted.items() if row.cells and _is_chosen(row, systems)], wanted)
    others = [row for name, row in wanted.items() if row.cells and name not in chosen]
    printed = [cell for cell in cells(paper) if cell.table in (tables or made)]
    of_figures = dict.fromkeys(cell._replace(ours=None) for row in wanted.values() for cell in row.cells if not cell.printed)
    return Tables(
        paper,
        tuple(row if _is_chosen(row, systems) else replace(row, cells=()) for name, row in wanted.items() if name in chosen),
        tuple(others),
        of_paper["tolerance"],
        of_paper.get("tests", {}),
        (*printed, *of_figures),
        tuple(unmade),
        prompts,
    )


def _parts(entries: Sequence[Mapping[str, Any]]) -> list[Part]:
    by_name: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        source = by_name.get(entry.get("of", ""), {})
        by_name[entry["name"]] = {**{key: source[key] for key in INHERITED if key in source}, **entry}
    return [Part(**{**entry, "tables": tuple(entry["tables"])}) for entry in by_name.values()]


def _without_index(parts: Sequence[Part], own: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    for part in parts:
        if part.needs and part.needs["index"] not in own:
            for table in part.tables:
                yield {"table": table, "group": part.printed, **part.cells, "why": part.needs["why"]}


def _with_cells(row: Row, tables: Collection[str], own: Mapping[str, str], unmade: Sequence[Mapping[str, str]]) -> Row:
    """A row with those of its cells that can be made and are in the chosen tables; with the index that its user has named."""
    part = row.part
    if named := own.get(row.name, own.get(f"{part.of}/{row.system.name}")):
        part = replace(part, indexes={**part.indexes, row.system.name: named})
    asked = (cell for cell in row.cells if not tables or cell.table in tables)
    return replace(row, part=part, cells=tuple(cell for cell in asked if not any(_is_about(entry, cell) for entry in unmade)))


def _is_chosen(row: Row, systems: Collection[str]) -> bool:
    return not systems or row.system.name in systems


def _with_needed(names: Sequence[str], rows: Mapping[str, Row]) -> set[str]:
    """With all that they need; the runs of a part for what scores them together, the first stage of rerankers."""
    found, pending = set(), list(names)
    while pending:
        row = rows[pending.pop()]
        if row.name not in found:
            found.add(row.name)
            pending += [name for name in needed(row, rows.values()) if name in rows]
    return found


def needed(row: Row, rows: Collection[Row]) -> list[str]:
    """The rows that are made before a row: whose run it is or is made of, all those that a union is of, and from which its
    numbers are changes."""
    part, own = row.part, row.system.name
    names = [f"{part.of}/{own}"] if part.of and own not in part.rows else []
    names += [f"{part.against}/{own}"] if part.against else []
    names += [f"{part.of}/{part.lexical}"] if part.lexical else []
    if row.part.scores == UNION:
        names += [each.name for each in rows if each.part.name == row.part.of]
    if row.reranks and row.part.first_stage and not has_candidates(row.part.topics):
        names.append(f"{row.part.name}/{row.part.first_stage}")
    return names


def has_candidates(topics: str) -> bool:
    """Whether the benchmark's own candidates are on this machine, or come with its data. Nothing is fetched."""
    selection = find(topics, at_hand=False)
    benchmark = load(selection.benchmark)
    if any(group.get("candidates") for group in benchmark.spec.groups):
        return True
    if not all(map(benchmark.is_present, selection.groups)):
        return False  # candidates that data do not bring are not fetched either
    return all(benchmark.scoreddocs(group, mode) is not None for group in selection.groups for mode in benchmark.spec.modes)


def _rows(paper: str, part: Part, folder: str) -> Iterator[Row]:
    """Every system that the part's tables print, with what they print of it."""
    groups = find(part.topics, at_hand=False).groups
    drawn = [  # cells of a figure that prints no numbers: they have no published value
        Cell(part.tables[0], system, "", group, part.mode, measure, "", "per cent", math.nan, "", (), None)
        for system, group, measure in itertools.product(part.drawn, part.groups, part.measures)
    ]
    printed = [
        cell._replace(ours=place)
        for cell in (*cells(paper), *drawn)
        if cell.table in part.tables and (place := _place(cell, part)) and scored_group(place, groups)
    ]
    kinds = JUDGES if part.scores == AGREEMENT else ()
    # rows that are no system's: a union of runs, guesses
    others = [SystemSpec(name, printed, "", printed={paper: {"name": printed}}) for name, printed in part.rows.items()]
    for spec in [*registry.systems().values(), *others]:
        row = spec.printed.get(paper)
        fits = spec.kind in kinds if kinds and spec.kind else spec.kind not in (*JUDGES, *EXPANDERS)
        if row and fits and (own := tuple(cell for cell in printed if is_of(cell, row))):
            why = spec.recipes.get(paper, {}).get("unknown")
            recipe = paper if spec.recipes.get(paper) and not why else ""
            remark = f"as its model card has it: {why}" if why else ""
            prompts = tuple(_sent(part, spec.with_recipe(recipe) if recipe else spec, folder))
            yield Row(part, spec, own, recipe, (remark, part.remark, part.remarks.get(spec.kind, "")), prompts)


def _place(cell: Cell, part: Part) -> Place | None:
    """Where the scores of a part's rows have what a cell prints, or is the change of."""
    if not cell.group.endswith(part.printed) or any(getattr(cell, name) != value for name, value in part.cells.items()):
        return None
    if not part.measures:
        return cell.ours
    measure = part.measures.get(cell.measure)
    if part.against and change_of(cell):
        measure = part.measures.get(cell.measure.removeprefix(change_of(cell)))
    groups = part.groups.get(cell.group)
    return Place(tuple(groups), part.mode, measure) if measure and groups else None


def change_of(cell: Cell) -> str:
    """`gap:` or `relchange:` where a cell prints a change; empty otherwise."""
    return next((prefix for prefix in (GAP, RELATIVE) if cell.measure.startswith(prefix)), "")


def _is_about(entry: Mapping[str, str], cell: Cell) -> bool:
    own = {name: value for name, value in entry.items() if name not in ("why", "group")}
    return cell.group.endswith(entry.get("group", "")) and all(getattr(cell, name) == value for name, value in own.items())


def _sent(part: Part, system: SystemSpec, folder: str) -> Iterator[Sent]:
    """The prompts of a row: its own system's, and those that the part's queries, labels and stances are made with."""
    judges = [registry.system(name) for name in (part.expander, part.judge.get("name")) if name]
    stances = [registry.system(part.stances)] if part.stances else []
    yield from filter(None, (sent(spec, folder) for spec in (system, *judges)))
    yield from filter(None, (sent(of_task(spec, STANCES), folder, STANCES) for spec in stances))
