"""Which of our numbers are told from the best of their column by the paper's own tests: mFollowIR's underlines (section 5)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from toolkit.benchmarks import find
from toolkit.core.scores import PAIRED, Change
from toolkit.evaluate.comparison import Testing, compare
from toolkit.evaluate.judgments import from_benchmark
from toolkit.formats import read_run
from toolkit.published.comparison import scored_group
from toolkit.reproduce.compared_cells import Compared
from toolkit.reproduce.row_files import RowFiles


def tested(files: RowFiles, cells: Sequence[Compared]) -> list[Compared]:
    """The cells, each that has our number with the best system of its column and kind, and p against it."""
    tests = files.tables.tests
    columns: dict[tuple, list[Compared]] = {}
    for each in cells:
        if each.cell.measure in tests and each.row and each.value is not None:
            columns.setdefault(_column(each), []).append(each)

    @functools.cache
    def changes(best: str, other: str, measure: str, test: str) -> dict[tuple[str, str], Change]:
        rows = [files.tables.row(name) for name in (best, other)]
        judgments = from_benchmark(rows[0].part.topics, [])
        compared = compare(*(read_run(files.path(row)) for row in rows), judgments, [measure], Testing(test))
        return {(change.group, change.mode): change for change in compared.changes}

    def against(best: Compared, each: Compared) -> Compared:
        if each is best:
            return each._replace(best=best.row.system.name)
        ours = each.cell.ours
        group = scored_group(ours, find(each.row.part.topics, at_hand=False).groups)
        change = changes(best.row.name, each.row.name, ours.measure, tests[each.cell.measure])[group, ours.mode or PAIRED]
        return each._replace(best=best.row.system.name, p=change.p)

    bests = {column: max(own, key=lambda each: each.value) for column, own in columns.items()}
    among = {id(each) for own in columns.values() for each in own}
    return [against(bests[_column(each)], each) if id(each) in among else each for each in cells]


def _column(each: Compared) -> tuple[str, ...]:
    cell = each.cell
    return cell.table, cell.kind, cell.group, cell.mode, cell.measure
