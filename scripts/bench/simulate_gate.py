"""How often `gate` fails: with no true difference, and with one of twice the smallest effect.

The differences between two runs, core query by core query, are a population; where there is no true difference, which of the
two runs is the baseline is chance, core query by core query (the same for all measures, which so depend on each other as they
do in truth). A time is a sample of core queries of it, to which a true difference is added; the verdict is that of
`toolkit.gate.decision.decide`. The number of core queries is what `Estimate.needed` gives for 90 % power.
"""

import argparse
from collections.abc import Iterator, Mapping

import numpy as np

from toolkit.core.modes import Modes
from toolkit.evaluate.evaluation import prepare
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.paired_values import Key, PairedValues, paired_values
from toolkit.evaluate.scoring import is_ranked
from toolkit.gate.decision import FAIL, POWER, decide
from toolkit.measures.estimates import LEVEL, of_core_queries
from toolkit.registry import measure as measure_spec

RUNS = ("runs/baselines/infosearch-mini.bm25.v2.trec.gz", "runs/baselines/infosearch-mini.bm25+rules.v2.trec.gz")


def population(a: str, b: str, benchmark: str) -> dict[Key, np.ndarray]:
    """(measure, mode) -> (n,) differences, one a core query of all groups: the same core queries in every column."""
    prepared = prepare([a, b], benchmark, None, None, "tandem", apart=True)
    chosen = prepared.measure_set(None, "worst")
    columns: dict[Key, list[np.ndarray]] = {}
    for part in prepared.judgments.parts:
        for (measure, mode), values in paired_values(*prepared.runs, part, chosen).items():
            if is_ranked(measure, mode, prepared.judgments.modes) and measure_spec(measure).unit != "rank":
                means = np.bincount(values.cores, values.differences) / np.bincount(values.cores)
                columns.setdefault((measure, mode), []).append(means)
    whole = {key: np.concatenate(parts) for key, parts in columns.items()}
    most = max(map(len, whole.values()))
    return {key: values for key, values in whole.items() if len(values) == most and values.any()}


def simulate(population: Mapping[Key, np.ndarray], *, effect: float, times: int, seed: int = 0) -> dict[str, float]:
    """What is simulated -> the share of times in which the gate fails.

    Without a difference any failure counts. Twice the smallest effect is taken from one measure at a time, the others being
    without a difference, at the number of core queries that this measure needs, and its own failures count.
    """
    generator = np.random.default_rng(seed)
    n = len(next(iter(population.values())))
    level = 1 - (1 - LEVEL) / len(population)
    # the spread of a population in which either run may be the baseline
    either = {key: of_core_queries(np.concatenate([values, -values]), np.arange(2 * n)) for key, values in population.items()}
    needed = {key: estimate.needed(effect, level=level, power=POWER) for key, estimate in either.items()}

    def failures(shifts: Mapping[Key, float], size: int) -> Iterator[set[Key]]:
        """The numbers that fail, time by time."""
        ids = tuple(map(str, range(size)))
        for _ in range(times):
            rows, signs = generator.integers(0, n, size), generator.choice((-1.0, 1.0), size)
            table = {
                key: PairedValues(ids, np.zeros(size), values[rows] * signs + shifts.get(key, 0.0), np.arange(size), ids)
                for key, values in population.items()
            }
            checks = decide([("all", table, table)], {"": effect}, Judgments("simulated", Modes(), (), ()))
            yield {(check.measure, check.mode) for check in checks if check.verdict == FAIL}

    results = {}
    for size in sorted({5, 20, min(needed.values()), max(needed.values())}):
        any_failed = sum(map(bool, failures({}, size)))
        results[f"no true difference in any, {size:,} core queries"] = any_failed / times
    for key, size in needed.items():
        failed = sum(key in found for found in failures({key: -2 * effect}, size))
        results[f"twice the smallest effect in {' '.join(key)}, {size:,} core queries"] = failed / times
    return results


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("runs", nargs="*", default=RUNS, metavar="RUN", help="two runs of one benchmark")
    made.add_argument("--benchmark", default="infosearch-mini")
    made.add_argument("--min-effect", type=float, default=0.05)
    made.add_argument("--times", type=int, default=1000)
    made.add_argument("--seed", type=int, default=0)
    args = made.parse_args()
    found = population(*args.runs, args.benchmark)
    n = len(next(iter(found.values())))
    print(f"{len(found)} measures and modes, {n} core queries, smallest effect {args.min_effect:g}, {args.times:,} times")
    for what, share in simulate(found, effect=args.min_effect, times=args.times, seed=args.seed).items():
        print(f"{100 * share:6.1f} % fail: {what}")


if __name__ == "__main__":
    main()
