"""The numbers of an entry: from scores to its nested form and back, and what to evaluate to get them."""

from collections.abc import Iterable, Iterator

from toolkit import registry
from toolkit.core.scores import AVERAGE, PAIRED, Score
from toolkit.core.specs import RegressionSpec
from toolkit.registry.published.paper_tables import cells, is_of

Numbers = dict[str, dict[str, dict[str, float]]]


def nested(rows: Iterable[Score]) -> Numbers:
    """group -> measure -> mode -> value, of the aggregate rows."""
    numbers: Numbers = {}
    for row in rows:
        if not row.query_id:
            numbers.setdefault(row.group, {}).setdefault(row.measure, {})[row.mode] = row.value
    return numbers


def flat(numbers: Numbers, run: str = "") -> Iterator[Score]:
    """The rows again, in their order; how many queries a value is over is not stored (0)."""
    for group, measures in numbers.items():
        for measure, modes in measures.items():
            for mode, value in modes.items():
                yield Score(run, group, mode, measure, value, 0)


def asked_for(rows: Iterable[Score]) -> tuple[str, ...]:
    """The measures to name in order to get these rows."""
    return tuple(dict.fromkeys(row.measure for row in rows if row.measure == _named(row.measure)))


def _named(measure: str) -> str:
    """What is named to get a measure: itself, or for one of a whole run the first that it is computed from."""
    spec = registry.measure(measure)
    return measure.replace(spec.name, spec.related[0], 1) if spec.over == "aggregate" else measure


def published_numbers(spec: RegressionSpec) -> Numbers:
    """What the paper reports of the entry's system by the entry's measures, where tables differ the later one's; empty for an
    entry that names no paper."""
    if not spec.published:
        return {}
    # groups first, and measures in the entry's order, as in our own tables
    place = {measure: number for number, measure in enumerate(spec.measures)}
    rows = [
        Score("", cell.group, cell.ours.mode or PAIRED, cell.ours.measure, cell.value, 0)
        for cell in cells(spec.published["paper"])
        if cell.ours and is_of(cell, {"name": spec.published["system"]}) and _named(cell.ours.measure) in place
    ]
    rows.sort(key=lambda row: (row.group == AVERAGE, place[_named(row.measure)]))
    return nested(rows)


def registered_scores(spec: RegressionSpec) -> list[Score]:
    """The numbers that an entry stands for, expected or published."""
    return list(flat(spec.expected or published_numbers(spec), spec.system["name"]))
