"""WISE, SICR, p-MRR, IRS, selection and the mean ranks: how gold documents and instruction negatives move between modes.

Sources: InfoSearch (arXiv 2410.23841, eq. 1 to 6) and its released evaluator; FollowIR (arXiv 2403.15246), mFollowIR
(arXiv 2501.19264, eq. 1); FollowTable (arXiv 2605.00400). Selection is ours. docs/measures.md has the variants side by side.
"""

from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, Pairs

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
    return pairs.mean(ideal_wise_of_ranks(pairs.ranks[:, BASE], pairs.relevant[pairs.queries], cutoff, variant), pairs.gold)


def sicr(pairs: Pairs, variant: str) -> np.ndarray:
    """(queries,) share of each query's gold documents with strict compliance; NaN where a query has none."""
    return pairs.mean(sicr_of_documents(pairs.ranks, pairs.scores, pairs.missing, variant).astype(np.float64), pairs.gold)


def pmrr(pairs: Pairs) -> np.ndarray:
    """(queries,) mean p-MRR of each query's instruction negatives; NaN where a query has none."""
    return pairs.mean(pmrr_of_ranks(pairs.ranks[:, BASE], pairs.ranks[:, CHANGED]), ~pairs.gold)


def gold_rank(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) mean rank of each query's gold documents in one mode; NaN where it has none."""
    return pairs.mean(pairs.ranks[:, role], pairs.gold)


def negative_rank(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) mean rank of each query's instruction negatives in one mode; NaN where it has none."""
    return pairs.mean(pairs.ranks[:, role], ~pairs.gold)


def irs(pairs: Pairs, role: int, documents: int = 0) -> np.ndarray:
    """(queries,) in [-1, 1]: Instruction Responsiveness Score (FollowTable, arXiv 2605.00400); 0 where nothing is relevant.

    How far the documents that a mode asks for rise above those that it rules out, in the discount 1 / log2(rank + 1), over what
    the best ranking could add to the base mode's, or the worst take from it. The reversed mode asks for the negatives.

    documents  N, of the corpus: a document that is not listed stands at N + 1; 0 for what the judgments say

    Raises ToolkitError where nothing says N, or where more documents are relevant to a query.
    """
    _, moved, divisor = _responses(pairs, role, documents)
    return np.divide(moved, divisor, out=np.zeros(len(moved)), where=divisor != 0)


def irs_of_documents(pairs: Pairs, role: int, documents: int = 0) -> np.ndarray:
    """(n,) what each gold document and instruction negative adds to its query's IRS, whose sum they are."""
    changes, _, divisor = _responses(pairs, role, documents)
    return np.divide(changes, divisor[pairs.queries], out=np.zeros(len(changes)), where=divisor[pairs.queries] != 0)


def _responses(pairs: Pairs, role: int, documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) by how much each document's discount changes as the mode asks; (queries,) their sum, and what it is divided by."""
    size = documents or pairs.documents()
    if not size:
        raise ToolkitError("nothing says how many documents the corpus has, which IRS needs", "as in IRS(documents=11586)")
    if size < (most := int(pairs.relevant.max(initial=0))):
        raise ToolkitError(f"IRS over {size} documents: {most} are relevant to one query", "name the size of the corpus")
    wanted = pairs.gold != (role == REVERSED)
    discounts = 1 / np.log2(1 + np.where(pairs.missing, size + 1, pairs.ranks))
    gains = np.where(wanted, 1, -1)[:, None] * discounts[:, [BASE, role]]
    queries, count = pairs.queries, len(pairs.query_ids)
    before, after = (np.bincount(queries, column, minlength=count) for column in gains.T)
    asked, ruled_out = (np.bincount(queries[rows], minlength=count) for rows in (wanted, ~wanted))
    places = np.arange(1, most + 1)
    first, last = (np.append(0, np.cumsum(1 / np.log2(1 + ranks))) for ranks in (places, size + 1 - places))
    best, worst = first[asked] - last[ruled_out] - before, last[asked] - first[ruled_out] - before
    moved = after - before
    return gains[:, 1] - gains[:, 0], moved, np.where(moved >= 0, best, np.abs(worst))


def irs_mean(pairs: Pairs, documents: int = 0) -> np.ndarray:
    """(queries,) the mean of IRS when instructed and when reversed: what follows the instruction's meaning in both."""
    return (irs(pairs, CHANGED, documents) + irs(pairs, REVERSED, documents)) / 2


def irs_reaction(pairs: Pairs, documents: int = 0) -> np.ndarray:
    """(queries,) half their difference: what an instruction's words do, whichever way it asks."""
    return (irs(pairs, CHANGED, documents) - irs(pairs, REVERSED, documents)) / 2


def selection(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) in [-1, 1]: the share of pairs whose order changes from the base mode as this mode wants, less the others.

    A pair is a gold document and an instruction negative of one query; NaN for a query without one. What the base mode has
    right already cannot change in one mode, and is made up for in the other.
    """
    rows, negatives = np.flatnonzero(pairs.gold), np.flatnonzero(~pairs.gold)
    counts = np.bincount(pairs.queries[negatives], minlength=len(pairs.query_ids))
    starts, opponents = np.cumsum(counts) - counts, counts[pairs.queries[rows]]
    gold = np.repeat(rows, opponents)
    numbers = np.arange(len(gold)) - np.repeat(np.cumsum(opponents) - opponents, opponents)
    # rows are sorted by query, and so a query's negatives are next to each other
    negatives = negatives[starts[pairs.queries[gold]] + numbers]
    # 1 where the gold document stands above the negative, -1 below; 0 where both are missing
    order = np.sign(pairs.ranks[negatives] - pairs.ranks[gold])
    wanted = -1 if role == REVERSED else 1
    count = np.bincount(pairs.queries[gold], minlength=len(pairs.query_ids))
    total = np.bincount(pairs.queries[gold], wanted * (order[:, role] - order[:, BASE]) / 2, minlength=len(pairs.query_ids))
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
