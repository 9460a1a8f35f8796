"""Searches that may find some documents only: which places of an index these are, and what of a run is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import encode, lookup, to_arrow
from toolkit.core.runs import Run
from toolkit.models.docids import say_lacking

if TYPE_CHECKING:
    import pyarrow

    Places = Callable[[pyarrow.StringArray], tuple[np.ndarray, np.ndarray]]


def candidate_places(wanted: Sequence[Sequence[str]], places: Places, index: Path) -> list[np.ndarray]:
    """Where the candidates of each query lie in an index: int64, in any order; how many it lacks is said.

    wanted  the ids, a sequence a query
    places  distinct ids -> the places that have one of them, and for each of these the number of its id
    """
    codes, ids = encode([doc_id for doc_ids in wanted for doc_id in doc_ids])
    rows, owners = places(ids)
    order = np.argsort(owners, kind="stable")
    rows, counts = rows[order], np.bincount(owners, minlength=len(ids))
    starts = np.cumsum(counts) - counts  # passages of an index may share their document's id
    say_lacking(index, int((counts[codes] == 0).sum()), len(codes))
    result, begin = [], 0
    for doc_ids in wanted:
        own_codes = np.unique(codes[begin : begin + len(doc_ids)])
        begin += len(doc_ids)
        sizes = counts[own_codes]
        lines = np.arange(sizes.sum()) + np.repeat(starts[own_codes] - (np.cumsum(sizes) - sizes), sizes)
        result.append(rows[lines])
    return result


def among(run: Run, candidates: Mapping[str, Sequence[str]]) -> Run:
    """What a run has of these documents, for a search that scores all."""
    pairs = [(number, doc) for number, query_id in enumerate(run.query_ids) for doc in candidates[query_id]]
    docs = lookup(to_arrow([doc for _, doc in pairs]), run.doc_ids)
    width = len(run.doc_ids)
    wanted = np.array([number for number, _ in pairs], np.int64)[docs >= 0] * width + docs[docs >= 0]
    say_lacking("the collection", int((docs < 0).sum()), len(docs))
    keep = np.isin(run.queries.astype(np.int64) * width + run.docs, wanted)
    return run.take(np.flatnonzero(keep))
