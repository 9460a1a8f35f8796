"""Why one query has the WISE, SICR, p-MRR and IRS that it has: ranks, scores and the case of the definition, by document."""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.families.paired import VARIANTS, irs_of_documents, pmrr_of_ranks, sicr_of_documents, wise_branches
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, Pairs, pairs
from toolkit.registry import modes_of


@dataclass(frozen=True)
class Place:
    """Where a document stands in one mode; a missing one has rank run length + 1 and score 0."""

    mode: str
    rank: int
    score: float
    missing: bool


@dataclass(frozen=True)
class GoldDocument:
    """A gold document in every mode.

    wise  variant -> (name of the case, value); empty where there is no reversed mode
    sicr  variant -> whether it counts; empty where there is no reversed mode
    irs   mode -> what it adds to the query's IRS; empty where nothing says how many documents the corpus has
    """

    doc_id: str
    places: tuple[Place, ...]
    wise: dict[str, tuple[str, float]]
    sicr: dict[str, bool]
    irs: dict[str, float]


@dataclass(frozen=True)
class NegativeDocument:
    """An instruction negative in every mode, its p-MRR, and as of a gold document what it adds to IRS."""

    doc_id: str
    places: tuple[Place, ...]
    pmrr: float
    irs: dict[str, float]


@dataclass(frozen=True)
class Explanation:
    """One query. relevant: N. lengths: mode -> documents retrieved, 0 where the query is absent."""

    query_id: str
    relevant: int
    lengths: dict[str, int]
    gold: tuple[GoldDocument, ...]
    negatives: tuple[NegativeDocument, ...]


def explain(run: Run, qrels: Qrels, query_id: str, *, k: int = 20, ties: str = "trec") -> Explanation:
    """Follow one query (its id with or without mode) through the modes.

    Raises ToolkitError where the query is not judged in a base and a changed mode.
    """
    base, _ = modes_of(qrels := as_qrels(qrels)).split(query_id)
    followed = pairs(as_run(run), qrels, ties)
    if base not in followed.query_ids:
        known = ", ".join(followed.query_ids[:3])
        raise ToolkitError(f"query {base} is not judged in two modes", f"queries that are: {known}" if known else "none is")
    query = followed.query_ids.index(base)
    roles = [role for role in (BASE, CHANGED, REVERSED) if followed.modes[query][role]]
    rows = np.flatnonzero(followed.queries == query)
    known = [role for role in roles if role != BASE] if followed.documents() else []
    added = {followed.modes[query][role]: irs_of_documents(followed, role) for role in known}
    return Explanation(
        base,
        int(followed.relevant[query]),
        {followed.modes[query][role]: int(followed.lengths[query, role]) for role in roles},
        tuple(_gold(followed, row, roles, k, added) for row in rows if followed.gold[row]),
        tuple(_negative(followed, row, roles, added) for row in rows if not followed.gold[row]),
    )


def _places(followed: Pairs, row: int, roles: list[int]) -> tuple[Place, ...]:
    modes = followed.modes[followed.queries[row]]
    columns = followed.ranks[row], followed.scores[row], followed.missing[row]
    return tuple(Place(modes[r], *(column[r].item() for column in columns)) for r in roles)


def _gold(followed: Pairs, row: int, roles: list[int], k: int, added: dict[str, np.ndarray]) -> GoldDocument:
    wise, sicr = {}, {}
    if REVERSED in roles:
        n = followed.relevant[followed.queries[row]]
        for variant in VARIANTS:
            branches = wise_branches(*followed.ranks[row], n, k, variant)
            first = next(branch for branch in branches if branch.holds)
            wise[variant] = (first.name, float(first.value))
        one = slice(row, row + 1)
        for variant in ("paper", "release"):
            counts = sicr_of_documents(followed.ranks[one], followed.scores[one], followed.missing[one], variant)
            sicr[variant] = bool(counts[0])
    return GoldDocument(followed.doc_ids[row], _places(followed, row, roles), wise, sicr, _at(added, row))


def _at(added: dict[str, np.ndarray], row: int) -> dict[str, float]:
    return {mode: float(values[row]) for mode, values in added.items()}


def _negative(followed: Pairs, row: int, roles: list[int], added: dict[str, np.ndarray]) -> NegativeDocument:
    value = float(pmrr_of_ranks(followed.ranks[row, BASE], followed.ranks[row, CHANGED]))
    return NegativeDocument(followed.doc_ids[row], _places(followed, row, roles), value, _at(added, row))


def lay_out(name: str, explained: Explanation) -> Table:
    """The explanation of one query of the run called `name`: where its documents stand in each mode, and which case each is."""
    modes = tuple(explained.lengths)
    base, changed = modes[:2]
    lengths = ", ".join(f"{length:,} in {mode}" for mode, length in explained.lengths.items())
    head = [
        f"{name}, query {explained.query_id}",
        f"relevant in {base}: N = {explained.relevant}; documents retrieved: {lengths}",
        f"gold: relevant in {base} and {changed}; negative: relevant in {base} alone",
    ]
    absent = [mode for mode, length in explained.lengths.items() if not length]
    if absent:
        head.append(f"absent in {', '.join(absent)}: the measures that need it count their worst value, whatever stands below")
    documents = (*explained.gold, *explained.negatives)
    heads = _heads(modes)
    cells = [_cells(document) for document in documents]
    shown = [place for place in range(len(heads)) if any(row[place] not in (None, "") for row in cells)]
    columns = (Column("document", label=True), Column("is", label=True), *(heads[place] for place in shown))
    rows = [
        (document.doc_id, "gold" if isinstance(document, GoldDocument) else "negative", *(row[place] for place in shown))
        for document, row in zip(documents, cells, strict=True)
    ]
    missing = any(place.missing for document in documents for place in document.places)
    notes = ["* not in the run: ranked below its last document"] if missing else []
    totals = [(mode, sum(document.irs.get(mode, 0) for document in documents)) for mode in modes[1:]]
    if any(document.irs for document in documents) and not absent:
        said = ", ".join(f"{total:.4f} ({mode})" for mode, total in totals)
        notes.append(f"IRS: what each document adds to the query's, which is {said}")
    return Table(columns, rows, notes, "\n".join([*head, "", ""]))


def _heads(modes: tuple[str, ...]) -> list[Column]:
    """Ranks R and scores S by mode; what follows for WISE, SICR and p-MRR, by variant."""
    panels = {"R": modes, "S": modes, "WISE": VARIANTS, "case of WISE": VARIANTS, "SICR": VARIANTS[:2]}
    order = ("R", "WISE", "SICR", "case of WISE", "S")
    columns = [Column(name, above=above, priority=order.index(above)) for above, names in panels.items() for name in names]
    return [*columns, Column("pMRR", priority=1), *(Column(mode, above="IRS", priority=1) for mode in modes[1:])]


def _cells(document: GoldDocument | NegativeDocument) -> list[Cell]:
    wise, sicr = (document.wise, document.sicr) if isinstance(document, GoldDocument) else ({}, {})
    return [
        *(_rank(place) for place in document.places),
        *(math.nan if place.missing else Number(place.score, text=f"{place.score:.7g}") for place in document.places),
        *(wise[variant][1] if variant in wise else None for variant in VARIANTS),
        *(wise[variant][0] if variant in wise else None for variant in VARIANTS),
        *(_yes(sicr[variant]) if variant in sicr else None for variant in VARIANTS[:2]),
        None if isinstance(document, GoldDocument) else document.pmrr,
        *(document.irs.get(place.mode) for place in document.places[1:]),
    ]


def _rank(place: Place) -> Number:
    return Number(place.rank, text=f"{place.rank}{'*' if place.missing else ''}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
