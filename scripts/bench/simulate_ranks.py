"""How often rank intervals hold the true ranks, which the simulation knows, beside percentiles of ranks in bootstrap samples.

A system's values are its true mean, what the query adds to all systems, and noise of its own: normal, or of reciprocal ranks
(in seven steps, mostly shared between systems, skewed). True ranks are those of the true means; of tied systems every rank that
the tie spans is true, and an interval counts only if it holds them all.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from toolkit.measures.rank_intervals import LEVEL, rank_intervals
from toolkit.measures.significance import draws

STEPS = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10, 0])  # reciprocal ranks
MEANS: dict[str, Callable[[int], np.ndarray]] = {
    "all tied": lambda k: np.zeros(k),
    "two halves tied, far apart": lambda k: np.arange(k) // ((k + 1) // 2) * 0.4,
    "ties of two, far apart": lambda k: np.arange(k) // 2 * 0.4,
    "one a little better, others tied": lambda k: np.where(np.arange(k) == 0, 0.05, 0.0),
    "all 0.02 apart": lambda k: np.arange(k) * 0.02,
    "all 0.1 apart": lambda k: np.arange(k) * 0.1,
}


def sample(means: np.ndarray, n: int, noise: str, generator: np.random.Generator) -> np.ndarray:
    """(n, k) values of n core queries."""
    if noise == "normal":
        return means + generator.normal(0, 0.25, (n, 1)) + generator.normal(0, 0.15, (n, len(means)))
    shared, own = generator.integers(0, len(STEPS), (n, 1)), generator.integers(0, len(STEPS), (n, len(means)))
    return means + STEPS[np.where(generator.random(own.shape) < 0.7, shared, own)]


def true_ranks(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last rank that each system shares in."""
    return 1 + (means[None, :] > means[:, None]).sum(axis=1), (means[None, :] >= means[:, None]).sum(axis=1)


def percentiles(values: np.ndarray, samples: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The plain bootstrap: between which ranks a system is in `LEVEL` of the resamples."""
    resampled = np.concatenate([rows @ values for rows in draws(len(values), samples, generator)])
    ranks = 1 + (resampled[:, None, :] > resampled[:, :, None]).sum(axis=2)
    low, high = np.quantile(ranks, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0, method="nearest")
    return low, high


def simulate(
    *, systems: int, n: int, noise: str, times: int, samples: int, seed: int = 0
) -> Iterator[tuple[str, float, float]]:
    """What the true means are -> the share of systems whose interval holds their true ranks, and the same of percentiles."""
    for name, of in MEANS.items():
        generator = np.random.default_rng(seed)
        means = of(systems)
        first, last = true_ranks(means)
        held = np.zeros(2)
        for number in range(times):
            values = sample(means, n, noise, generator)
            ours = rank_intervals([values], samples=samples, seed=number)
            low, high = (np.array([getattr(each, bound) for each in ours]) for bound in ("low", "high"))
            plain = percentiles(values, samples, generator)
            held += [np.mean((low <= first) & (high >= last)), np.mean((plain[0] <= first) & (plain[1] >= last))]
        yield name, *(held / times)


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--systems", type=int, nargs="+", default=[4, 10])
    made.add_argument("--core-queries", type=int, nargs="+", default=[12, 40, 150])
    made.add_argument("--times", type=int, default=1000)
    made.add_argument("--samples", type=int, default=1000)
    args = made.parse_args()
    print(f"nominal {100 * LEVEL:g} %, {args.times:,} times, {args.samples:,} samples; ours, percentiles of the bootstrap")
    for noise in ("normal", "reciprocal ranks"):
        for systems in args.systems:
            for n in args.core_queries:
                how = {"systems": systems, "n": n, "noise": noise, "times": args.times, "samples": args.samples}
                for name, ours, plain in simulate(**how):
                    where = f"{noise}, {systems} systems, {n} core queries, {name}"
                    print(f"{100 * ours:6.1f} % {100 * plain:6.1f} %  {where}", flush=True)


if __name__ == "__main__":
    main()
