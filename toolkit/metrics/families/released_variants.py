"""What released code computes under the name of a common measure, where it computes something else.

IFIR (arXiv 2503.04644): nDCG over the best order of what was retrieved. CSFCube (arXiv 2103.12906): nDCG with an older
discount, and an R-precision down to the last relevant document. Each gives (queries,) float64; a query that the run lacks
gets 0.
"""

import math

import numpy as np

from toolkit.metrics.families.join import Positions
from toolkit.metrics.fast import EVERYTHING, normalised, ratio, retrieved


def retrieved_ndcg(positions: Positions, cutoff: int) -> np.ndarray:
    """nDCG@k whose ideal ranking is the best order of the documents in the top k, whatever was not retrieved.

    Source: IFIR's released metrics. Never below nDCG@k: one relevant document at rank 1 gives 1, however many there are.
    """
    gains = np.where(retrieved(positions, cutoff), np.maximum(positions.relevance, 0), 0)
    return normalised(positions, gains, gains, cutoff)


def old_discount_ndcg(positions: Positions, cutoff: int = 0, percent: int = 0) -> np.ndarray:
    """nDCG that discounts by log2(rank) from rank 2 on, so that ranks 1 and 2 both count in full (Järvelin & Kekäläinen 2002).

    cutoff   k; 0 is the whole ranking
    percent  k as a share of the query's judged documents (its pool), rounded down; of both the smaller k counts
    Source: CSFCube's released evaluation, NDCG, NDCG@20 and NDCG%20.
    """
    pool = np.bincount(positions.queries, minlength=len(positions.query_ids))
    share = pool * percent // 100 if percent else EVERYTHING
    depth = np.minimum(np.full(len(pool), cutoff or EVERYTHING), share)[positions.queries]
    gains = np.maximum(positions.relevance, 0)
    found = np.where(retrieved(positions, depth), gains, 0)
    return normalised(positions, found, gains, depth, lambda rank: max(math.log2(rank), 1.0))


def last_relevant_precision(positions: Positions, rel: int = 1) -> np.ndarray:
    """The precision at the rank of the last relevant document; R-precision stops at rank R instead.

    Relevant documents that are not retrieved do not count. Source: CSFCube's released evaluation, `r_precision`.
    """
    hits = ~positions.missing & (positions.relevance >= rel)
    last = np.zeros(len(positions.query_ids))
    np.maximum.at(last, positions.queries[hits], positions.ranks[hits].astype(np.float64))
    return ratio(positions.total(hits), last)
