"""Why a query scores as it does: where its documents stand in each mode, and which case of each definition that is."""

import math

from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.metrics import Explanation
from toolkit.metrics.explanation import GoldDocument, NegativeDocument, Place

VARIANTS = ("paper", "release", "source")


def lay_out(name: str, explained: Explanation) -> Table:
    """The explanation of one query of the run called `name`."""
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
    return Table(columns, rows, notes, "\n".join([*head, "", ""]))


def _heads(modes: tuple[str, ...]) -> list[Column]:
    """Ranks R and scores S by mode; what follows for WISE, SICR and p-MRR, by variant."""
    panels = {"R": modes, "S": modes, "WISE": VARIANTS, "case of WISE": VARIANTS, "SICR": VARIANTS[:2]}
    order = ("R", "WISE", "SICR", "case of WISE", "S")
    columns = [Column(name, above=above, priority=order.index(above)) for above, names in panels.items() for name in names]
    return [*columns, Column("pMRR", priority=1)]


def _cells(document: GoldDocument | NegativeDocument) -> list[Cell]:
    wise, sicr = (document.wise, document.sicr) if isinstance(document, GoldDocument) else ({}, {})
    return [
        *(_rank(place) for place in document.places),
        *(math.nan if place.missing else Number(place.score, text=f"{place.score:.7g}") for place in document.places),
        *(wise[variant][1] if variant in wise else None for variant in VARIANTS),
        *(wise[variant][0] if variant in wise else None for variant in VARIANTS),
        *(_yes(sicr[variant]) if variant in sicr else None for variant in VARIANTS[:2]),
        None if isinstance(document, GoldDocument) else document.pmrr,
    ]


def _rank(place: Place) -> Number:
    return Number(place.rank, text=f"{place.rank}{'*' if place.missing else ''}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
