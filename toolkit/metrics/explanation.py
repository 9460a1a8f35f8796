"""Why one query has the WISE, SICR and p-MRR that it has: ranks, scores and the case of the definition, by document."""

from dataclasses import dataclass

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.families.paired import VARIANTS, pmrr_of_ranks, sicr_of_documents, wise_branches
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
    """

    doc_id: str
    places: tuple[Place, ...]
    wise: dict[str, tuple[str, float]]
    sicr: dict[str, bool]


@dataclass(frozen=True)
class NegativeDocument:
    """An instruction negative in every mode, and its p-MRR."""

    doc_id: str
    places: tuple[Place, ...]
    pmrr: float


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
    return Explanation(
        base,
        int(followed.relevant[query]),
        {followed.modes[query][role]: int(followed.lengths[query, role]) for role in roles},
        tuple(_gold(followed, row, roles, k) for row in rows if followed.gold[row]),
        tuple(_negative(followed, row, roles) for row in rows if not followed.gold[row]),
    )


def _places(followed: Pairs, row: int, roles: list[int]) -> tuple[Place, ...]:
    modes = followed.modes[followed.queries[row]]
    columns = followed.ranks[row], followed.scores[row], followed.missing[row]
    return tuple(Place(modes[r], *(column[r].item() for column in columns)) for r in roles)


def _gold(followed: Pairs, row: int, roles: list[int], k: int) -> GoldDocument:
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
    return GoldDocument(followed.doc_ids[row], _places(followed, row, roles), wise, sicr)


def _negative(followed: Pairs, row: int, roles: list[int]) -> NegativeDocument:
    value = float(pmrr_of_ranks(followed.ranks[row, BASE], followed.ranks[row, CHANGED]))
    return NegativeDocument(followed.doc_ids[row], _places(followed, row, roles), value)
