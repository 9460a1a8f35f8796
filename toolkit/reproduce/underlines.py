"""mFollowIR's underlines: which of our numbers are told from the best of their column by the paper's own tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from toolkit.benchmarks import find
from toolkit.evaluate.judgments import from_benchmark
from toolkit.evaluate.paper_comparison import p_values
from toolkit.formats import read_run
from toolkit.published.comparison import scored_group
from toolkit.published.paper_tests import tested
from toolkit.reproduce.compared_cells import Compared
from toolkit.reproduce.row_files import RowFiles


def underlined(files: RowFiles, cells: Sequence[Compared]) -> list[Compared]:
    """The cells, each that has our number with what the paper's test says of it beside the best of its column and kind."""
    tests = files.tables.tests
    places = [place for place, each in enumerate(cells) if each.cell.measure in tests and each.row and each.value is not None]
    ours = [cells[place] for place in places]
    run_of = functools.cache(lambda name: read_run(files.path(files.tables.row(name))))  # the best of a column meets all others
    of_topics = {
        topics: p_values(from_benchmark(topics, []), run_of, tests) for topics in {each.row.part.topics for each in ours}
    }

    def p_of(best: int, other: int) -> float:
        cell, topics = ours[other].cell.ours, ours[other].row.part.topics
        group = scored_group(cell, find(topics, at_hand=False).groups)
        return of_topics[topics](ours[best].row.name, ours[other].row.name, cell.measure, group, cell.mode)

    columns = [(each.cell.table, each.cell.kind, each.cell.group, each.cell.mode, each.cell.measure) for each in ours]
    numbers = [(column, each.row.system.name, each.value) for column, each in zip(columns, ours, strict=True)]
    made = list(cells)
    for place, found in zip(places, tested(numbers, p_of), strict=True):
        made[place] = cells[place]._replace(tested=found)
    return made
