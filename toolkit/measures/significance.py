"""Is a difference more than chance? Paired tests, their correction for many, intervals and effect sizes.

All take differences between two systems, one a query, and are two-sided. Randomisation: Fisher's, with exact enumeration
where that is small (Smucker et al. 2007 compare it with the others). Wilcoxon's gives scipy's values without importing
scipy.stats, which takes longer than all the tests of a comparison.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

TOLERANCE = 1e-9  # two means closer than this are the same: sums depend on the order in their last digits
EXACT = 16  # differences up to which every assignment of signs is looked at: 65,536 of them
EXACT_WILCOXON = 50  # pairs up to which scipy's exact distribution is used, where there are no ties
CHUNK = 1 << 22  # signs drawn at once
DRAWN = 1 << 20  # counts of draws made at once: few enough for the caches, enough for products of matrices


def randomisation(differences: np.ndarray, *, samples: int = 10_000, seed: int = 0) -> np.ndarray:
    """(m,) p: the share of assignments of signs whose mean is at least as far from 0 as the one observed.

    differences  (n, m): a column a comparison, all over the same n queries, so that they share the assignments

    Exact up to 16 queries with a difference; else `samples` assignments are drawn and p = (1 + extreme) / (1 + samples).
    """
    moved = differences[np.any(differences != 0, axis=1)]
    unflipped = moved.sum(axis=0)
    observed = np.abs(unflipped)
    tolerance = TOLERANCE * max(len(differences), 1)
    exact = len(moved) <= EXACT
    extreme, total = np.zeros(differences.shape[1]), 0
    for signs in assignments(len(moved), samples, np.random.default_rng(seed)):
        # a flipped query takes its difference away twice; in place, for fresh memory costs more than the arithmetic
        sums = signs @ moved
        sums *= -2
        sums += unflipped
        extreme += np.count_nonzero(np.abs(sums, out=sums) >= observed - tolerance, axis=0)
        total += len(signs)
    return extreme / total if exact else (1 + extreme) / (1 + total)


def assignments(n: int, samples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """(rows, n) float64 of 0 and 1, which of n differences are flipped: every assignment up to 16, else `samples` drawn."""
    return _all_signs(n) if n <= EXACT else _drawn_signs(n, samples, generator)


def _all_signs(n: int) -> Iterator[np.ndarray]:
    """(2**n, n) float64 of 0 and 1: which differences are flipped."""
    numbers = np.arange(2**n)
    yield ((numbers[:, None] >> np.arange(n)) & 1).astype(np.float64)


def _drawn_signs(n: int, samples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """The same, `samples` rows drawn at random, some at a time."""
    at_once = max(1, CHUNK // n)
    for start in range(0, samples, at_once):
        rows = min(at_once, samples - start)
        bits = np.unpackbits(np.frombuffer(generator.bytes(rows * -(-n // 8)), np.uint8).reshape(rows, -1), axis=1)
        yield bits[:, :n].astype(np.float64)


def wilcoxon(differences: np.ndarray) -> float:
    """p of Wilcoxon's signed-rank test: zeros dropped, mean ranks; exact without ties up to 50 pairs, else the normal
    approximation with tie-corrected variance and without continuity correction. 1 where nothing differs.
    """
    moved = differences[differences != 0]
    n = len(moved)
    if not n:
        return 1.0
    _, sizes_at, sizes = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[sizes_at]
    rising = float(ranks[moved > 0].sum())
    if len(sizes) == n <= EXACT_WILCOXON:
        counts = _rank_sums(n)
        return min(1.0, 2 * min(counts[: int(rising) + 1].sum(), counts[int(rising) :].sum()) / 2**n)
    variance = (n * (n + 1) * (2 * n + 1) - float((sizes**3 - sizes).sum()) / 2) / 24
    return math.erfc(abs(rising - n * (n + 1) / 4) / math.sqrt(2 * variance))


def _rank_sums(n: int) -> np.ndarray:
    """(n (n + 1) / 2 + 1,) float64: how many of the sets of ranks 1..n have each sum; exact, as 2**50 is."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts


def t_test(differences: np.ndarray) -> float:
    """p of the paired t test; 1 where nothing differs, NaN for a single query, and 0 where all differ by the same."""
    from scipy import special

    n = len(differences)
    if not differences.any():
        return 1.0
    if n < 2:
        return math.nan
    spread = float(differences.std(ddof=1))
    if np.ptp(differences) == 0 or not spread:  # the smallest of numbers have a spread that rounds to 0
        return 0.0
    return float(2 * special.stdtr(n - 1, -abs(float(differences.mean()) / (spread / math.sqrt(n)))))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for their number (Holm 1979), in the order given: the running maximum of p_(i) (m - i + 1), at most 1."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.tolist()


def draws(clusters: int, samples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """(rows, clusters) float64, `samples` rows in all, some at a time: how often each cluster is drawn when as many are drawn
    with replacement as there are.
    """
    chunks, generator.bit_generator.state = _drawn(clusters, samples, _State(generator.bit_generator.state))
    for chunk in chunks:
        yield chunk.astype(np.float64)


class _State(dict):
    """Where a generator is."""

    def __hash__(self) -> int:
        return hash(repr(self))


@functools.lru_cache(maxsize=32)  # pairs of runs over the same core queries, from one seed, draw the same
def _drawn(clusters: int, samples: int, state: _State) -> tuple[list[np.ndarray], Mapping[str, Any]]:
    """The draws, and where the generator is behind them."""
    generator = np.random.default_rng()
    generator.bit_generator.state = dict(state)
    at_once = max(1, DRAWN // clusters)
    chunks = []
    for start in range(0, samples, at_once):
        rows = min(at_once, samples - start)
        drawn = generator.integers(0, clusters, (rows, clusters), np.int32)
        drawn += np.arange(0, rows * clusters, clusters, np.int32)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        chunks.append(counts.reshape(rows, clusters).astype(np.uint16 if clusters < 2**16 else np.uint32))
    return chunks, generator.bit_generator.state


def resampled_means(
    columns: Sequence[tuple[np.ndarray, np.ndarray]], *, samples: int, generator: np.random.Generator
) -> np.ndarray:
    """(samples, m): the mean of each column over its queries when whole clusters are drawn with replacement, the same for
    all columns.

    columns  differences (n,) and clusters (n,), from 0 on, of the queries of each; all columns have the same clusters.
             Queries of one core query are no independent evidence
    """
    m = len(columns)
    sums = [np.bincount(clusters, differences) for differences, clusters in columns]
    # most columns are over the same queries: what is drawn of these is counted once
    sizes = {clusters.tobytes(): np.bincount(clusters).astype(np.float64) for _, clusters in columns}
    place = {key: m + number for number, key in enumerate(sizes)}
    both = np.stack([*sums, *sizes.values()], axis=1)
    drawn = np.concatenate([rows @ both for rows in draws(len(both), samples, generator)])
    return drawn[:, :m] / drawn[:, [place[clusters.tobytes()] for _, clusters in columns]]


def effect_size(differences: np.ndarray) -> float:
    """Cohen's d of paired differences: their mean in standard deviations; NaN where they do not vary."""
    # equal differences have a spread that rounds to more than 0
    spread = differences.std(ddof=1) if len(differences) > 1 and np.ptp(differences) > 0 else 0.0
    return float(differences.mean() / spread) if spread > 0 else float("nan")
