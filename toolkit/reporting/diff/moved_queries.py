"""The queries that moved most, with the documents that changed place."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.modes import guess_group
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.tables.columns import to_arrow
from toolkit.evaluation.comparison.comparison import Comparison, Moved
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.evaluation.scores.score_table import is_share

TOP = 10  # a document that nobody judged is shown where it enters or leaves these ranks
SHOWN = 8  # documents of one query


class Place(NamedTuple):
    """A document's rank in both runs, from 1; None where it is missing. label: of the judgments, None where there is none."""

    query_id: str
    doc_id: str
    label: int | None
    a: int | None
    b: int | None


def most_moved(comparison: Comparison, top: int, measure: str | None = None) -> list[Moved]:
    """The `top` queries whose value of a measure differs most; the first measure of the comparison where none is named."""
    measure = measure or (comparison.changes[0].measure if comparison.changes else "")
    rows = [row for row in comparison.moved if row.measure == measure]
    return sorted(rows, key=lambda row: (-abs(row.b - row.a), row.group, row.query_id, row.mode))[:top]


def places(moved: Moved, a: Run, b: Run, judgments: Judgments) -> list[Place]:
    """The judged documents of a moved query that changed place, then others that came into the top ranks or left them.

    A query that stands for several (a core query, or all modes of one) brings all of its own.
    """
    part = next(part for part in judgments.parts if part.group == moved.group)
    query_ids = _own_ids(moved, part)
    ranks_a, ranks_b = _ranks(a, query_ids), _ranks(b, query_ids)
    rows = []
    for query_id in query_ids:
        first, second = ranks_a.get(query_id, {}), ranks_b.get(query_id, {})
        labels = _labels(part, query_id)
        for doc_id in sorted({*first, *second}):
            place = Place(query_id, doc_id, labels.get(doc_id), first.get(doc_id), second.get(doc_id))
            if place.a != place.b and (place.label is not None or _crosses(place)):
                rows.append(place)
    return sorted(rows, key=_by_weight)[:SHOWN]


def _own_ids(moved: Moved, part: Part) -> list[str]:
    """The judged ids, with their modes, that a value is about."""
    fitting, modes = [], registry.modes_of(part.qrels)
    for query_id in part.qrels.query_ids:
        base, mode = modes.split(query_id)
        core = guess_group(base) if part.cores is None else part.cores.get(base)
        if moved.query_id in (base, core) and moved.mode in (mode, "paired"):
            fitting.append(query_id)
    return fitting


def _ranks(run: Run, query_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    return {
        query_id: {doc.doc_id: rank for rank, doc in enumerate(ranking, 1)}
        for query_id, ranking in run.select(query_ids).rankings()
    }


def _labels(part: Part, query_id: str) -> dict[str, int]:
    """document -> its label, the highest where there are several perspectives."""
    rows = np.flatnonzero(part.qrels.queries == part.qrels.query_ids.index(query_id))
    rows = rows[np.argsort(part.qrels.relevance[rows], kind="stable")]
    doc_ids = part.qrels.doc_ids.take(to_arrow(part.qrels.docs[rows])).to_pylist()
    return dict(zip(doc_ids, part.qrels.relevance[rows].tolist(), strict=True))


def _crosses(place: Place) -> bool:
    inside = [rank is not None and rank <= TOP for rank in (place.a, place.b)]
    return inside[0] != inside[1]


def _by_weight(place: Place) -> tuple:
    """Relevant documents first, then judged ones, then those nearest to the top."""
    best = min(rank for rank in (place.a, place.b) if rank is not None)
    return (-(place.label if place.label is not None else -1), best, place.query_id, place.doc_id)


def lay_out(rows: Sequence[Moved], a: Run, b: Run, judgments: Judgments) -> Table:
    """A row for each query, with its values, and below it the documents, with their ranks."""
    cells: list[tuple[Cell, ...]] = []
    below = set()
    for row in rows:
        mode = "" if row.mode in ("", "paired") else f" ({row.mode})"
        share = is_share(row.measure)
        cells.append((f"{row.query_id}{mode}", row.measure, "", Number(row.a, share), Number(row.b, share)))
        for place in places(row, a, b, judgments):
            below.add(len(cells))
            mode = judgments.known_modes.split(place.query_id)[1]
            where = place.query_id if place.query_id != row.query_id and not mode else mode
            label = "unjudged" if place.label is None else str(place.label)
            cells.append((where, place.doc_id, label, *("-" if rank is None else rank for rank in (place.a, place.b))))
    heads = (Column("query", label=True), Column("measure, documents", label=True))
    columns = (*heads, *map(Column, ("label", "first", "second")))
    return Table(
        columns, cells, title="queries that moved most: their values, and the ranks of documents", below=frozenset(below)
    )
