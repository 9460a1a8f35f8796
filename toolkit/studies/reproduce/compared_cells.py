"""Every number that a paper prints beside the one that was made again: does it agree?"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from toolkit.core.scores import Score
from toolkit.core.tables import tabular
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.datasets import find
from toolkit.registry.published.claims import Claim, outcomes
from toolkit.registry.published.comparison import Tested, aggregates, scored_group
from toolkit.registry.published.paper_tables import SCALES, Cell
from toolkit.studies.reproduce.row_prompts import NONE, WHOSE, is_another, whose
from toolkit.studies.reproduce.table_rows import GAP, RELATIVE, Row, Tables, change_of

STATES = ("agrees", "near", "differs", "other prompt", "not printed", "not run")
AGREES, NEAR, DIFFERS, OTHER_PROMPT, NOT_PRINTED, NOT_RUN = STATES
NOT_ASKED = "not asked for"  # of a row that is not among the chosen systems
SAID = {True: "yes", False: "no", None: "-"}


class Compared(NamedTuple):
    """One cell.

    row    that has it; None where it cannot be made
    value  ours, as a fraction, a count or a rank; None where it was not made
    why    it was not made
    tested what the paper's own test says of it beside the best of its column and kind
    """

    cell: Cell
    row: Row | None
    value: float | None
    state: str
    why: str = ""
    tested: Tested = Tested()

    @property
    def known(self) -> str:
        """What is known of why the two may differ, or why there is none of ours."""
        remark = self.row.remark if self.row else ""
        return "; ".join(filter(None, (self.why, remark, *self.cell.inconsistent)))

    @property
    def prompt(self) -> str:
        """Whose prompt it rests on, one of WHOSE; empty where no row has it."""
        return whose(self.row.sent) if self.row else ""

    @property
    def is_another(self) -> bool:
        """Whether it rests on another prompt than a model was trained on: no verdict follows from it."""
        return bool(self.row) and is_another(self.row.sent)

    @property
    def shown(self) -> str:
        """Ours, as the paper would print it."""
        if self.value is None:
            return ""
        sign = "+" if self.cell.printed.startswith("+") or (change_of(self.cell) and self.value > 0) else ""
        return f"{self.value * SCALES[self.cell.scale]:{sign}.{decimals(self.cell)}f}"

    @property
    def off(self) -> float | None:
        """Ours minus the printed one, as fractions; None without one, for counts and ranks, which have no common scale, and for
        what another prompt gave."""
        return None if self.cell.scale == "number" or self.state == OTHER_PROMPT else self.difference

    @property
    def difference(self) -> float | None:
        """Ours minus the printed one, in the cell's own scale; None without either."""
        return None if self.value is None or not self.cell.printed else self.value - self.cell.value


def compared(tables: Tables, scores: Mapping[str, Iterable[Score]], why: Mapping[str, str] | None = None) -> list[Compared]:
    """All printed cells of the chosen tables, in the paper's order; one that two of our systems stand for comes twice.

    scores  row's name -> the scores of its run
    why     row's name -> why it was not made
    """
    values = {name: aggregates(found) for name, found in scores.items()}
    rows: dict[tuple, list[tuple[Row, Cell]]] = {}
    for row in (*tables.rows, *tables.others):
        for cell in row.cells:
            rows.setdefault(cell_key(cell), []).append((row, cell))
    chosen = {row.name for row in tables.rows}
    cells = []
    for printed in tables.printed:
        reason = tables.why_unmade(printed)
        for row, cell in rows.get(cell_key(printed), ()):
            value = _value(row, cell, values)
            state = state_of(cell, value, tables.tolerance)
            state = OTHER_PROMPT if is_another(row.sent) and state in (AGREES, NEAR, DIFFERS) else state
            none = "a change from 0, or from a number that is not there" if change_of(cell) == RELATIVE else "no score of it"
            said = (why or {}).get(row.name, none) if row.name in chosen else NOT_ASKED
            cells.append(Compared(cell, row, value, state, said if state == NOT_RUN else ""))
        if cell_key(printed) not in rows:
            cells.append(Compared(printed, None, None, NOT_RUN, reason))
    return cells


def cell_key(cell: Cell) -> tuple:
    """Its place in the paper."""
    return (cell.table, cell.system, cell.kind, cell.group, cell.mode, cell.measure)


def _value(row: Row, cell: Cell, values: Mapping[str, Mapping[tuple, float]]) -> float | None:
    """Ours of a cell; of a change, from the scores of both parts. None where there is none: a mean over nothing, too."""
    groups = find(row.part.topics, at_hand=False).groups
    place = (row.system.name, scored_group(cell.ours, groups), cell.ours.mode, cell.ours.measure)
    value = values.get(row.name, {}).get(place, math.nan)
    if row.part.against and (change := change_of(cell)):
        base = values.get(f"{row.part.against}/{row.system.name}", {}).get(place, math.nan)
        value = value - base if change == GAP else value / base - 1 if base else math.nan
    return None if math.isnan(value) else value


def state_of(cell: Cell, value: float | None, tolerance: float) -> str:
    """`agrees` to the digits that are printed, `near` within a tolerance (of a count or rank: that share of it)."""
    if value is None or math.isnan(value):
        return NOT_RUN
    if not cell.printed:
        return NOT_PRINTED
    scale = SCALES[cell.scale]
    # half a unit of the last digit, and what floats add to it
    if abs(value - cell.value) * scale <= 0.5 * 10 ** -decimals(cell) * (1 + 1e-9):
        return AGREES
    room = tolerance * abs(cell.value) if cell.scale == "number" else tolerance
    return NEAR if abs(value - cell.value) <= room else DIFFERS


def decimals(cell: Cell) -> int:
    """How many decimals the paper prints; one in a figure that prints no number."""
    return len(cell.printed.partition(".")[2]) if cell.printed else 1


def mean_difference(cells: Iterable[Compared]) -> float | None:
    """The mean of ours minus the printed ones, over the cells that have ours and are no counts or ranks."""
    off = [each.off for each in cells if each.off is not None]
    return sum(off) / len(off) if off else None


def lay_out(cells: Sequence[Compared]) -> Table:
    """A row for each row that was to be made: how many of its numbers agree, and how far off they are on average."""
    columns = (*labels("part", "system"), *map(Column, (*STATES, "mean difference")), Column("known", prose=True))
    made: dict[tuple[str, str], list[Compared]] = {}
    for each in cells:
        if each.row and each.why != NOT_ASKED:
            made.setdefault((each.row.part.name, each.row.system.name), []).append(each)
    rows = []
    for names, own in made.items():
        mean = mean_difference(own)
        counts = [sum(each.state == state for each in own) for state in STATES]
        known = "; ".join(dict.fromkeys(each.known for each in own if each.known))
        rows.append((*names, *counts, None if mean is None else Number(mean, share=True, signed=True), known))
    return Table(columns, rows)


def by_prompt(cells: Sequence[Compared]) -> dict[str, dict[str, int]]:
    """Table -> how many of its numbers rest on whose prompt; nothing where no system is sent one."""
    own = [(each.cell.table, each.prompt) for each in cells if each.value is not None]
    if all(prompt == NONE for _, prompt in own):
        return {}
    return {table: {one: own.count((table, one)) for one in WHOSE} for table, _ in own}


def prompts_table(cells: Sequence[Compared]) -> Table:
    """The same as a table."""
    columns = (Column("table", label=True), *map(Column, WHOSE))
    return Table(columns, [(name, *counts.values()) for name, counts in by_prompt(cells).items()], title="cells by prompt")


def claims_of(paper: str, cells: Iterable[Compared]) -> list[tuple[Claim, bool | None]]:
    """What a paper claims in general, over our numbers in the cells of its tables; None where numbers are missing.

    Of two systems that stand for one printed row, the first counts. What another prompt gave is left out; the note of a claim
    that comes out otherwise for that says so.
    """
    numbers = [each for each in cells if each.value is not None]
    own = [each for each in numbers if not each.is_another]
    left_out = f"{len(numbers) - len(own)} numbers from another prompt are left out"
    answers = []
    for among in (numbers, own):
        ours: dict[tuple, Cell] = {}  # one a place of the paper's tables
        for each in among:
            ours.setdefault(cell_key(each.cell), each.cell._replace(value=each.value, printed="", note="", inconsistent=()))
        answers.append(outcomes(paper, list(ours.values())))
    every, found = answers
    return [
        (claim if holds is before else claim._replace(note="; ".join(filter(None, (claim.note, left_out)))), holds)
        for (claim, holds), (_, before) in zip(found, every, strict=True)
        if claim.general
    ]


def claims_csv(claims: Sequence[tuple[Claim, bool | None]]) -> str:
    """A line a claim."""
    heads = ("id", "section", "claim", "holds", "holds over the paper's tables", "note")
    rows = [(claim.id, claim.section, claim.claim, SAID[holds], SAID[claim.holds], claim.note) for claim, holds in claims]
    return tabular.to_csv(heads, [dict(zip(heads, row, strict=True)) for row in rows])


def to_csv(cells: Sequence[Compared]) -> str:
    """A line a cell, but for those of systems that nobody asked for."""
    records = []
    for each in (each for each in cells if each.why != NOT_ASKED):
        cell, row = each.cell, each.row
        records.append(
            {
                "table": cell.table,
                "part": row.part.name if row else "",
                "system": row.system.name if row else "",
                "as printed": f"{cell.system} ({cell.kind})" if cell.kind else cell.system,
                **{name: getattr(cell, name) for name in ("group", "mode", "measure")},
                "published": cell.printed,
                "ours": each.shown,
                **{name: getattr(each, name) for name in ("difference", "state", "prompt")},
                "best": each.tested.best,
                "p against the best": each.tested.p,
                "known": each.known,
            }
        )
    return tabular.to_csv(list(records[0]), records)
