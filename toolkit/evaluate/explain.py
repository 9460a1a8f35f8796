"""Why a query scores as it does: where its documents stand in each mode, and which case of each definition that is."""

from __future__ import annotations

from toolkit.evaluate.score_table import Panel, Table, number, to_text
from toolkit.measures import Explanation
from toolkit.measures.explanation import GoldDocument, NegativeDocument

VARIANTS = ("paper", "release", "source")


def to_lines(name: str, explained: Explanation, width: int | None = None) -> str:
    """The explanation of one query of the run called `name`, as text; width in characters, None for any."""
    modes = tuple(explained.lengths)
    base, changed = modes[:2]
    lengths = ", ".join(f"{length:,} in {mode}" for mode, length in explained.lengths.items())
    head = (
        f"{name}, query {explained.query_id}\n"
        f"relevant in {base}: N = {explained.relevant}; documents retrieved: {lengths}\n"
        f"gold: relevant in {base} and {changed}; negative: relevant in {base} alone\n"
    )
    absent = [mode for mode, length in explained.lengths.items() if not length]
    if absent:
        head += f"absent in {', '.join(absent)}: the measures that need it count their worst value, whatever stands below\n"
    documents = (*explained.gold, *explained.negatives)
    table = Table(
        ("document", ""),
        tuple((document.doc_id, "gold" if isinstance(document, GoldDocument) else "negative") for document in documents),
        tuple(panel for panel in _panels(documents, modes) if any(any(row) for row in panel.cells)),
    )
    missing = any(place.missing for document in documents for place in document.places)
    foot = "* not in the run: ranked below its last document\n" if missing else ""
    return f"{head}\n{to_text(table, width)}{foot}"


def _panels(documents: tuple[GoldDocument | NegativeDocument, ...], modes: tuple[str, ...]) -> list[Panel]:
    """Ranks R and scores S by mode; what follows for WISE, SICR and p-MRR, by variant."""
    places = [document.places for document in documents]
    ranks = tuple(tuple(f"{place.rank}{'*' if place.missing else ''}" for place in row) for row in places)
    scores = tuple(tuple("-" if place.missing else f"{place.score:.7g}" for place in row) for row in places)
    wise = [document.wise if isinstance(document, GoldDocument) else {} for document in documents]
    sicr = [document.sicr if isinstance(document, GoldDocument) else {} for document in documents]
    pmrr = tuple(("" if isinstance(document, GoldDocument) else number(document.pmrr),) for document in documents)
    return [
        Panel("R", modes, ranks),
        Panel("S", modes, scores),
        Panel("WISE", VARIANTS, tuple(tuple(number(row[v][1]) if v in row else "" for v in VARIANTS) for row in wise)),
        Panel("case of WISE", VARIANTS, tuple(tuple(row[v][0] if v in row else "" for v in VARIANTS) for row in wise)),
        Panel("SICR", VARIANTS[:2], tuple(tuple(_yes(row[v]) if v in row else "" for v in VARIANTS[:2]) for row in sicr)),
        Panel("pMRR", ("",), pmrr),
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
