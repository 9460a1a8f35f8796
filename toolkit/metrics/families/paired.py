"""WISE, SICR, p-MRR and the mean ranks: how gold documents and instruction negatives move between modes.

Sources: InfoSearch (arXiv 2410.23841, eq. 1 to 6) and its released evaluator; FollowIR (arXiv 2403.15246), mFollowIR
(arXiv 2501.19264, eq. 1). docs/measures.md has the variants side by side.
"""

from typing import NamedTuple

import numpy as np

from toolkit.metrics.families.pairs import BASE, CHANGED, Pairs

VARIANTS = ("paper", "release", "source")
FAR = 0.01  # the reward of a gold document that stood beyond rank K in the original mode


class Branch(NamedTuple):
    """One case of WISE: where it holds, and what it gives there; the first that holds counts."""

    name: str
    holds: np.ndarray
    value: np.ndarray


def wise_branches(
    r_ori: np.ndarray, r_ins: np.ndarray, r_rev: np.ndarray, n: np.ndarray, k: int = 20, variant: str = "paper"
) -> list[Branch]:
    """The cases of WISE (eq. 3 to 6), in the order in which they are tried; the last holds everywhere.

    r_ori, r_ins, r_rev  ranks of the gold documents, from 1, parallel
    n                    relevant documents of each one's query in the original mode, parallel
    k                    K: beyond this rank in the original mode the reward is 0.01
    """
    r_ori, r_ins, r_rev, n = (np.asarray(ranks, np.float64) for ranks in (r_ori, r_ins, r_rev, n))
    obeyed = (r_ins <= r_ori) & (r_ori < r_rev)
    enough = r_ori <= n if variant == "paper" else r_ori < n
    climb = np.maximum(r_ori - r_ins, 0)
    if variant != "release":
        climb = np.sqrt(climb)
    # the release tests R_ori <= R_ins before it, so that -1 is never reached there
    inverted = (r_rev < r_ori) & (r_ori < r_ins) & (variant != "release")
    return [
        Branch("full reward", obeyed & enough & (r_ins == 1), np.ones_like(r_ori)),
        Branch("reward within K", obeyed & (r_ori <= k), (1 - climb / k) / np.sqrt(r_ins)),
        Branch("reward beyond K", obeyed, np.full_like(r_ori, FAR)),
        Branch("inverted", inverted, np.full_like(r_ori, -1.0)),
        Branch("fell when instructed", r_ori <= r_ins, (r_ori - r_ins) / r_ins),
        Branch("rose when reversed", np.ones_like(obeyed), (r_rev - r_ori) / r_ori),
    ]


def wise_of_ranks(r_ori, r_ins, r_rev, n, k: int = 20, variant: str = "paper") -> np.ndarray:
    """WISE of each gold document, (n,) float64 in [-1, 1]; parameters as in `wise_branches`."""
    branches = wise_branches(r_ori, r_ins, r_rev, n, k, variant)
    return np.select([branch.holds for branch in branches], [branch.value for branch in branches])


def ideal_wise_of_ranks(r_ori, n, k: int = 20, variant: str = "paper") -> np.ndarray:
    """WISE with R_ins = 1 and R_rev = R_ori + 1 (the release's definition; the paper gives none)."""
    r_ori = np.asarray(r_ori)
    return wise_of_ranks(r_ori, np.ones_like(r_ori), r_ori + 1, n, k, variant)


def per(ideal: float | np.ndarray, actual: float | np.ndarray) -> float | np.ndarray:
    """Per. of the paper's tables 17 to 22: the share of the ideal that is lost; NaN where the ideal is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(ideal, np.divide(np.subtract(ideal, actual), ideal), np.nan)
    return lost if lost.ndim else float(lost)


def sicr_of_documents(ranks: np.ndarray, scores: np.ndarray, missing: np.ndarray, variant: str = "paper") -> np.ndarray:
    """(n,) bool: strict compliance (eq. 1) of each gold document; all three arrays are (n, 3), a column a mode.

    `paper` puts a missing document below every score; `release` gives it score 0, and also counts a document that
    is first in the original and stays first.
    """
    r_ori, r_ins, r_rev = ranks.T
    s_ori, s_ins, s_rev = (np.where(missing, -np.inf, scores) if variant == "paper" else scores).T
    strict = (r_ins < r_ori) & (s_ins > s_ori) & (r_ori < r_rev) & (s_ori > s_rev)
    if variant == "paper":
        return strict
    stays_first = (r_ori == 1) & (r_ins == 1) & (s_ins >= s_ori) & (r_rev > 1) & (s_ori > s_rev)
    return strict | stays_first


def pmrr_of_ranks(r_base: np.ndarray, r_changed: np.ndarray) -> np.ndarray:
    """p-MRR of each instruction negative, (n,) float64 in (-1, 1): positive where it falls."""
    return np.where(r_base > r_changed, r_changed / r_base - 1, 1 - r_base / r_changed)


def wise(pairs: Pairs, cutoff: int, variant: str) -> np.ndarray:
    """(queries,) mean WISE of each query's gold documents; NaN where a query has none."""
    return pairs.mean(wise_of_ranks(*pairs.ranks.T, pairs.relevant[pairs.queries], cutoff, variant), pairs.gold)


def ideal_wise(pairs: Pairs, cutoff: int, variant: str) -> np.ndarray:
    """(queries,) mean ideal WISE of each query's gold documents; NaN where a query has none."""
    of_documents = ideal_wise_of_ranks(pairs.ranks[:, BASE], pairs.relevant[pairs.queries], cutoff, variant)
    return pairs.mean(of_documents, pairs.gold)


def sicr(pairs: Pairs, variant: str) -> np.ndarray:
    """(queries,) share of each query's gold documents with strict compliance; NaN where a query has none."""
    of_documents = sicr_of_documents(pairs.ranks, pairs.scores, pairs.missing, variant)
    return pairs.mean(of_documents.astype(np.float64), pairs.gold)


def pmrr(pairs: Pairs) -> np.ndarray:
    """(queries,) mean p-MRR of each query's instruction negatives; NaN where a query has none."""
    return pairs.mean(pmrr_of_ranks(pairs.ranks[:, BASE], pairs.ranks[:, CHANGED]), ~pairs.gold)


def gold_rank(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) mean rank of each query's gold documents in one mode; NaN where it has none."""
    return pairs.mean(pairs.ranks[:, role], pairs.gold)


def negative_rank(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) mean rank of each query's instruction negatives in one mode; NaN where it has none."""
    return pairs.mean(pairs.ranks[:, role], ~pairs.gold)
