"""How alike are two rankings, whatever is relevant? Kendall's tau, rank-biased overlap, and the documents in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from toolkit.core.columns import lookup, to_arrow
from toolkit.core.correlation import tau_b
from toolkit.core.runs import Run

PERSISTENCE = 0.9  # p of RBO: the first 10 ranks have 86 % of the weight


class Likeness(NamedTuple):
    """Two rankings of one query.

    overlap  documents in common, over the longer list's length
    tau      Kendall's tau-b over the documents in common; NaN for fewer than two
    rbo      extrapolated rank-biased overlap (Webber et al. 2010, eq. 32)
    """

    query_id: str
    overlap: float
    tau: float
    rbo: float


def likeness(a: Run, b: Run) -> list[Likeness]:
    """One row a query that both runs have, in the order of the first."""
    common = [query_id for query_id in a.query_ids if query_id in set(b.query_ids)]
    ranked_a, ranked_b = _ranked(a, a.doc_ids), _ranked(b, a.doc_ids)
    rows = []
    for query_id in common:
        first, second = ranked_a[query_id], ranked_b[query_id]
        ranks_a, ranks_b = shared_ranks(first, second)
        overlap = len(ranks_a) / max(len(first), len(second))
        rows.append(Likeness(query_id, overlap, tau_b(ranks_a, ranks_b), rbo(first, second)))
    return rows


def _ranked(run: Run, vocabulary) -> dict[str, np.ndarray]:
    """query id -> its documents, best first, as codes of the vocabulary; one that is not in it gets a code of its own."""
    known = lookup(run.doc_ids, vocabulary)
    codes = np.where(known >= 0, known, len(vocabulary) + np.arange(len(known)))
    docs = codes[run.docs[run.order()]]
    ends = np.cumsum(run.lengths)
    return {query_id: docs[end - length : end] for query_id, end, length in zip(run.query_ids, ends, run.lengths, strict=True)}


def shared_ranks(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks (from 0) of the documents in common, in both rankings, parallel."""
    _, in_first, in_second = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return in_first, in_second


def kendall_tau(first: Sequence, second: Sequence, over: str = "common") -> float:
    """Kendall's tau-b of two rankings, best first: over the documents in `common`, or over the `union`, where a document
    that a ranking lacks is tied at its length + 1.
    """
    place_a, place_b = ({doc: rank for rank, doc in enumerate(ranking)} for ranking in (first, second))
    if over == "common":
        docs = [doc for doc in first if doc in place_b]
    else:
        docs = list(dict.fromkeys([*first, *second]))
    columns = ([place.get(doc, len(place)) for doc in docs] for place in (place_a, place_b))
    return tau_b(*map(np.asarray, columns))


def rbo(first: np.ndarray, second: np.ndarray, p: float = PERSISTENCE) -> float:
    """RBO_ext of two rankings, best first, of any lengths (Webber et al. 2010, eq. 32)."""
    short, long = sorted((len(first), len(second)))
    if not short:
        return float(not long)
    ranks_a, ranks_b = shared_ranks(first, second)
    depths = np.arange(1, long + 1)
    # X_d: documents that both heads of length d have; a head ends with its list
    seen_at = np.maximum(ranks_a, ranks_b)
    agreed = np.cumsum(np.bincount(seen_at, minlength=long)[:long]).astype(np.float64)
    weights = p**depths
    total = (agreed / depths * weights).sum()
    beyond = depths[short:]
    at_short = agreed[short - 1]
    total += (at_short * (beyond - short) / (short * beyond) * weights[short:]).sum()
    return float((1 - p) / p * total + ((agreed[-1] - at_short) / long + at_short / short) * p**long)


def identical(a: Run, b: Run) -> bool:
    """Whether two runs rank the same documents with the same scores for the same queries; tags and file order are no matter."""
    if len(a) != len(b) or set(a.query_ids) != set(b.query_ids):
        return False
    queries = lookup(to_arrow(b.query_ids), to_arrow(a.query_ids)).astype(np.int32)
    docs = lookup(b.doc_ids, a.doc_ids)
    if (docs < 0).any():
        return False
    b = replace(b, query_ids=a.query_ids, queries=queries[b.queries])
    first, second = a.order(), b.order()
    return (
        np.array_equal(a.queries[first], b.queries[second])
        and np.array_equal(a.docs[first], docs[b.docs[second]])
        and np.array_equal(a.scores[first], b.scores[second])
    )
