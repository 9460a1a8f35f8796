"""What a run holds, in the figures that decide how far its scores can be trusted."""

from collections import Counter

import numpy as np

from toolkit import registry
from toolkit.core.runs import Run

FULL_PRECISION = 12  # decimals; whoever writes that many has not rounded


def summarise(run: Run) -> dict[str, str]:
    """Label -> value: lines, queries, queries of each mode, documents, depth, ties, digits of the scores."""
    modes = registry.known_modes()
    counts = Counter(modes.split(query_id)[1] for query_id in run.query_ids)
    named = [f"{mode} {counts[mode]:,}" for mode in modes if counts[mode]]
    if named and counts[""]:
        named.append(f"without {counts['']:,}")
    lengths = run.lengths
    ties = tied_documents(run)
    return {
        "tag": run.tag,
        "lines": f"{len(run):,}",
        "queries": f"{len(run.query_ids):,}",
        "modes": ", ".join(named) or "none in the query ids",
        "documents": f"{len(run.doc_ids):,} different ones",
        "depth": f"{lengths.min():,} to {lengths.max():,}, median {np.median(lengths):,.0f}",
        "ties": f"{ties:,} documents share their score (as a 32-bit float) with another of the query" if ties else "none",
        "scores": f"{run.scores.min():g} to {run.scores.max():g}, {_digits(run.scores)}",
    }


def tied_documents(run: Run) -> int:
    """Documents whose score, as a 32-bit float, another document of the same query has too."""
    order = run.order()
    scores, queries = run.scores[order].astype(np.float32), run.queries[order]
    same = (scores[1:] == scores[:-1]) & (queries[1:] == queries[:-1])
    tied = np.zeros(len(run), bool)
    tied[1:] |= same
    tied[:-1] |= same
    return int(tied.sum())


def _digits(scores: np.ndarray) -> str:
    """How many decimals the scores have; whole numbers are often ranks in place of scores."""
    for decimals in range(FULL_PRECISION):
        if np.array_equal(np.round(scores, decimals), scores):
            return f"{decimals} decimals" if decimals else "whole numbers"
    return "full precision"
