"""Why one query has the WISE, SICR, p-MRR and IRS that it has: ranks, scores and the case of the definition, by document."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.families.paired import VARIANTS, irs_of_documents, pmrr_of_ranks, sicr_of_documents, wise_branches
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, pairs
from toolkit.registry import modes_of


@dataclass(frozen=True)
class Place:
    """Where a document stands in one mode; a missing one has rank run length + 1 and score 0."""

    mode: str
    rank: int
    score: float
    missing: bool


@dataclass(frozen=True)
class Followed:
    """A gold document or an instruction negative in every mode.

    irs   mode -> what it adds to the query's IRS; empty where nothing says how many documents the corpus has
    pmrr  of a negative; None of a gold document, which has what follows, but in a query without a reversed mode
    wise  variant -> (name of the case, value)
    sicr  variant -> whether it counts
    """

    doc_id: str
    places: tuple[Place, ...]
    irs: dict[str, float]
    pmrr: float | None = None
    wise: dict[str, tuple[str, float]] = field(default_factory=dict)
    sicr: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """One query. relevant: N. lengths: mode -> documents retrieved, 0 where the query is absent."""

    query_id: str
    relevant: int
    lengths: dict[str, int]
    gold: tuple[Followed, ...]
    negatives: tuple[Followed, ...]


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
    known = [role for role in roles if role != BASE] if followed.documents() else []
    added = {followed.modes[query][role]: irs_of_documents(followed, role) for role in known}
    documents = []
    for row in np.flatnonzero(followed.queries == query):
        columns = followed.ranks[row], followed.scores[row], followed.missing[row]
        places = tuple(Place(followed.modes[query][role], *(column[role].item() for column in columns)) for role in roles)
        document = Followed(followed.doc_ids[row], places, {mode: float(values[row]) for mode, values in added.items()})
        if not followed.gold[row]:
            pmrr = float(pmrr_of_ranks(followed.ranks[row, BASE], followed.ranks[row, CHANGED]))
            document = replace(document, pmrr=pmrr)
        elif REVERSED in roles:
            for variant in VARIANTS:
                branches = wise_branches(*followed.ranks[row], followed.relevant[query], k, variant)
                first = next(branch for branch in branches if branch.holds)
                document.wise[variant] = first.name, float(first.value)
            for variant in VARIANTS[:2]:
                counts = sicr_of_documents(*(column[None] for column in columns), variant)
                document.sicr[variant] = bool(counts[0])
        documents.append(document)
    lengths = {followed.modes[query][role]: int(followed.lengths[query, role]) for role in roles}
    gold = tuple(document for document in documents if document.pmrr is None)
    negatives = tuple(document for document in documents if document.pmrr is not None)
    return Explanation(base, int(followed.relevant[query]), lengths, gold, negatives)


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
    # ranks R and scores S by mode; what follows for WISE, SICR and p-MRR, by variant
    panels = {"R": modes, "S": modes, "WISE": VARIANTS, "case of WISE": VARIANTS, "SICR": VARIANTS[:2]}
    order = ("R", "WISE", "SICR", "case of WISE", "S")
    heads = [Column(name, above=above, priority=order.index(above)) for above, names in panels.items() for name in names]
    heads += [Column("pMRR", priority=1), *(Column(mode, above="IRS", priority=1) for mode in modes[1:])]
    cells = [_cells(document) for document in documents]
    shown = [place for place in range(len(heads)) if any(row[place] not in (None, "") for row in cells)]
    columns = (Column("document", label=True), Column("is", label=True), *(heads[place] for place in shown))
    rows = []
    for document, row in zip(documents, cells, strict=True):
        rows.append((document.doc_id, "gold" if document.pmrr is None else "negative", *(row[place] for place in shown)))
    missing = any(place.missing for document in documents for place in document.places)
    notes = ["* not in the run: ranked below its last document"] if missing else []
    totals = [(mode, sum(document.irs.get(mode, 0) for document in documents)) for mode in modes[1:]]
    if any(document.irs for document in documents) and not absent:
        said = ", ".join(f"{total:.4f} ({mode})" for mode, total in totals)
        notes.append(f"IRS: what each document adds to the query's, which is {said}")
    return Table(columns, rows, notes, "\n".join([*head, "", ""]))


def _cells(document: Followed) -> list[Cell]:
    cases = [document.wise.get(variant, (None, None)) for variant in VARIANTS]
    return [
        *(Number(place.rank, text=f"{place.rank}{'*' if place.missing else ''}") for place in document.places),
        *(math.nan if place.missing else Number(place.score, text=f"{place.score:.7g}") for place in document.places),
        *(value for _, value in cases),
        *(name for name, _ in cases),
        *({True: "yes", False: "no"}.get(document.sicr.get(variant)) for variant in VARIANTS[:2]),
        document.pmrr,
        *(document.irs.get(place.mode) for place in document.places[1:]),
    ]
