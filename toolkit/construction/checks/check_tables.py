"""The tables of `tandem build check`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from toolkit import registry
from toolkit.construction.checks.benchmark_check import LABELS, MEASURE, BenchmarkCheck, Effect
from toolkit.construction.checks.near_duplicates import Alike
from toolkit.construction.checks.surface_cues import SurfaceRow
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.evaluation.comparison.circularity import RELATIONS, Share, relation
from toolkit.registry.families import lineage

SURFACE_NOTE = (
    "classifier: its area under the curve on core queries that it was not trained with, seeing no query; 0.5 is chance. What "
    "an instruction asks of the surface (a length, a language, a format) is told by it and has to be: the area says how much "
    "of that can be had without reading."
)
NO_FINDINGS = "No findings"
SHOWN = 20  # queries, and pairs, on a terminal
CUE_NOTE = (
    "low, high: a 99 % interval over core queries. cue: the one feature that tells best over all documents; p: how often "
    "permuted labels have one as good."
)


def tables(check: BenchmarkCheck) -> list[Table]:
    """Findings, who made the items, instructions without effect, surface cues, near-duplicates: those that there are."""
    made = [
        findings(check),
        makers(check.shares or ()),
        _concerned(check.shares or ()),
        _close_runs(check),
        effects(check.effects),
        _ignored(check.effects),
        cues(check.cues),
        duplicates(check.pairs),
        _pairs(check.pairs),
    ]
    return [table for table in made if table.rows or table.title == NO_FINDINGS]


def findings(check: BenchmarkCheck) -> Table:
    """A line each: problems, warnings, and what was not checked."""
    columns = (Column("finding", label=True), Column("what", prose=True))
    kinds = {"problem": check.problems, "warning": check.warnings, "not checked": check.unchecked}
    rows = [(kind, line) for kind, lines in kinds.items() for line in lines]
    return Table(columns, rows, title="Findings" if rows else NO_FINDINGS)


def makers(shares: Sequence[Share]) -> Table:
    """What each model did with how much of what is scored."""
    columns = (*labels("model", "family", "role", "items"), *map(Column, ("made", "of", "share")))
    rows = [
        (by, family, role, items, count, total, Number(count / total, share=True))
        for role, by, family, items, count, total in shares
    ]
    return Table(columns, rows, [], "Who made the items")


def _concerned(shares: Sequence[Share]) -> Table:
    """The systems of the registry that are one of these models, are made from one, or are of its family."""
    columns = (*labels("model", "as its"), Column("systems"), Column("names", prose=True))
    rows = []
    for by, family in dict.fromkeys((share.by, share.family) for share in shares):
        model = lineage(by)
        found = {spec.name: relation(lineage(spec), model, family) for spec in registry.systems().values()}
        close = {how: [name for name, known in found.items() if known == how] for how in RELATIONS}
        rows += [(by, how, len(names), ", ".join(names)) for how, names in close.items() if names]
    return Table(columns, rows, [], "Systems of the registry that should not be compared on them")


def _close_runs(check: BenchmarkCheck) -> Table:
    """Runs of systems that are close to a model that made items."""
    columns = (*labels("run", "system"), *map(Column, ("is close to", "as its", "which", "items", "made", "of")))
    rows = [
        (row.run, row.system, row.share.by, row.relation, row.share.role, row.share.items, row.share.count, row.share.total)
        for row in check.circular
    ]
    return Table(columns, rows, [], "Circular")


def effects(found: Sequence[Effect]) -> Table:
    """How many instructions could be ignored, group by group."""
    columns = (*labels("group", "run", "the same"), *map(Column, ("instructions without effect", "of", "share")))
    rows = [
        (group, run, _same(what), len(ignored), queries, Number(len(ignored) / queries if queries else 0.0, share=True))
        for group, what, run, queries, ignored in found
    ]
    return Table(columns, rows, [], "Does the instruction matter")


def _same(what: str) -> str:
    return "labels" if what == LABELS else f"{MEASURE} of the ranking without it"


def _ignored(found: Sequence[Effect]) -> Table:
    columns = (*labels("query"), *map(Column, ("group", "run", "the same")))
    rows = [(row.query_id, row.group, row.run, _same(row.what)) for effect in found for row in effect.ignored]
    return _first(Table(columns, rows, [], "Queries whose instruction has no effect"), "queries")


def cues(found: Sequence[SurfaceRow]) -> Table:
    """How well surface tells gold documents from others; conditions stand below their group."""
    columns = labels("group", "condition", "gold documents from")
    columns += tuple(Column(name, priority=2) for name in ("gold", "others", "core queries"))
    columns += tuple(Column(name, above="classifier") for name in ("area", "low", "high"))
    columns += tuple(Column(name, above="cue", priority=1) for name in ("feature", "area", "p"))
    sides = [(row.group, row.others) for row in found]
    below = frozenset(place for place, row in enumerate(found) if place and row.condition and sides[place] == sides[place - 1])
    notes = [SURFACE_NOTE, CUE_NOTE] if found else []
    if any(row.area is None for row in found):
        notes.append("-: too few core queries, gold documents or others to train with")
    return Table(columns, [_cue_cells(row) for row in found], notes, "Surface cues", below)


def _cue_cells(row: SurfaceRow) -> tuple:
    labels = (row.group, row.condition, row.others, row.gold, row.other, row.cores)
    if row.area is None or row.cue is None:
        nothing = float("nan")
        return (*labels, nothing, nothing, nothing, "", nothing, nothing)
    area = (Number(value, decimals=2) for value in row.area)
    cue = (row.cue.name, Number(row.cue.area, decimals=2), Number(row.cue.p, p=True))
    return (*labels, *area, *(cue if row.cue.area > 0.5 else ("", cue[1], cue[2])))


def duplicates(pairs: Sequence[Alike]) -> Table:
    """How many pairs are alike, within a group and between two."""
    columns = (*labels("what", "alike in", "groups"), Column("pairs"), Column("items"), Column("opposed", lower=True))
    where: dict[tuple[str, str, str], list[Alike]] = defaultdict(list)
    for pair in pairs:
        where[pair.what, pair.by, _groups(pair)].append(pair)
    rows = []
    for key, alike in where.items():
        items = {(text.group, text.item_id) for pair in alike for text in (pair.first, pair.second)}
        rows.append((*key, len(alike), len(items), sum(bool(pair.opposed) for pair in alike)))
    return Table(columns, rows, ["opposed: only one of the two is relevant to a query that judges both"], "Near-duplicates")


def _pairs(pairs: Sequence[Alike]) -> Table:
    columns = (*labels("first", "second"), *map(Column, ("what", "alike in", "similarity")))
    columns += (Column("groups", priority=1), Column("opposed in", priority=1))
    rows = []
    for pair in pairs:
        ids, similarity = (pair.first.item_id, pair.second.item_id), Number(pair.similarity, decimals=3)
        rows.append((*ids, pair.what, pair.by, similarity, _groups(pair), pair.opposed))
    return _first(Table(columns, rows, [], "Pairs that are nearly one text"), "pairs")


def _groups(pair: Alike) -> str:
    return " and ".join(dict.fromkeys((pair.first.group, pair.second.group)))


def _first(table: Table, what: str) -> Table:
    """The table, of which a terminal shows the first rows."""
    further = range(SHOWN, len(table.rows))
    return replace(table, details=frozenset(further), details_name=f"{len(further):,} further {what}")
