"""Two runs evaluated against the same judgments: what changed from the first to the second, by how much, and is it chance?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Change
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.evaluate.paired_values import Key, PairedValues, paired_values, with_score
from toolkit.evaluate.scoring import AVERAGE, MeasureSet
from toolkit.measures.estimates import Estimate, average
from toolkit.measures.evaluation import PAIRED
from toolkit.measures.significance import effect_size, holm, randomisation, resampled_means, t_test, wilcoxon

TESTS = ("default", "randomisation", "wilcoxon", "t")
LEVEL = 0.95  # of the intervals
FEW = 20  # core queries below which an interval from resampling is too narrow


class Moved(NamedTuple):
    """One query's value of one measure in both runs."""

    group: str
    query_id: str
    mode: str
    measure: str
    a: float
    b: float


@dataclass(frozen=True)
class Comparison:
    """What changed from one run to another.

    changes  group by group, `average` last where there are several
    moved    every query whose value differs, in the order of groups, measures and queries
    """

    changes: tuple[Change, ...]
    moved: tuple[Moved, ...]
    notes: tuple[str, ...] = ()


def compare(
    a: Run,
    b: Run,
    judgments: Judgments,
    measures: Sequence[str] | MeasureSet,
    *,
    missing: str = "worst",
    test: str = "default",
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs.

    measures  of every group and in every mode; or what is asked of each group, which says what is `missing` too
    missing   as in `toolkit.evaluate`
    test      `default`: Wilcoxon for measures over pairs of modes (their values are skewed, as mFollowIR argues), Fisher's
              randomisation for the others; or one of `TESTS` for all
    samples   assignments of the randomisation test and resamples of the bootstrap

    Tests and intervals are over core queries, whose instructions are no independent evidence; where a benchmark has none, each
    query is its own.

    Raises ToolkitError for an unknown test, and where no measure has a value in both runs.
    """
    if test not in TESTS:
        raise ToolkitError(f"no test {test!r}", f"known: {', '.join(TESTS)}")
    if samples < 1:
        raise ToolkitError(f"samples is {samples}", "a whole number from 1 on")
    chosen = measures if isinstance(measures, MeasureSet) else MeasureSet(tuple(measures), missing=missing)
    pairs = [(part, paired_values(a, b, part, chosen)) for part in judgments.parts]
    compared = compare_values(pairs, judgments, chosen, test=test, samples=samples, seed=seed)
    moved = tuple(query for part, columns in pairs for query in _moved(part.group, columns))
    return replace(compared, moved=moved)


def compare_values(
    pairs: Sequence[tuple[Part, dict[Key, PairedValues]]],
    judgments: Judgments,
    chosen: MeasureSet,
    *,
    test: str = "default",
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """The changes alone, of values that are there already, part by part."""
    generator = np.random.default_rng(seed)
    changes: list[Change] = []
    tables: list[tuple[Part, dict[Key, PairedValues], dict[Key, np.ndarray]]] = []
    for part, columns in pairs:
        if not columns:
            continue
        resampled = _resampled(columns, samples, generator)
        tables.append((part, *with_score(part, chosen, columns, resampled)))
        changes += _adjusted(_changes(part.group, columns, resampled, test, samples, seed))
    if not changes:
        raise ToolkitError("no measure has a value in both runs", "name measures with -m that these judgments allow")
    if len(tables) > 1:
        changes += _adjusted(_averages(tables, test, samples, seed))
    return Comparison(tuple(changes), (), tuple(_notes(tables, judgments)))


def _together(columns: Mapping[Key, PairedValues], of: str) -> Iterable[list[Key]]:
    """Keys that are over the same `query_ids`, which share assignments, or the same `core_ids`, which share resamples."""
    together: dict[tuple[str, ...], list[Key]] = defaultdict(list)
    for key, column in columns.items():
        together[getattr(column, of)].append(key)
    return together.values()


def _resampled(columns: Mapping[Key, PairedValues], samples: int, generator: np.random.Generator) -> dict[Key, np.ndarray]:
    """key -> (samples,) means of the difference, core queries drawn with replacement."""
    means = {}
    for keys in _together(columns, "core_ids"):
        clustered = [(columns[key].differences, columns[key].cores) for key in keys]
        means |= dict(zip(keys, resampled_means(clustered, samples=samples, generator=generator).T, strict=True))
    return means


def _test_of(measure: str, mode: str, test: str) -> str:
    if test != "default":
        return test
    return "wilcoxon" if mode == PAIRED else "randomisation"


def _p_values(
    differences: Mapping[Key, np.ndarray],
    cores: Mapping[Key, np.ndarray],
    together: Iterable[list[Key]],
    test: str,
    samples: int,
    seed: int,
) -> dict[Key, float]:
    """key -> p. Instructions of one core query are one piece of evidence: its sum is flipped, or its mean is looked at.

    together  lists of keys that are over the same queries
    """
    p = {}
    for keys in together:
        clusters = cores[keys[0]]
        sizes = np.bincount(clusters)
        sums = {key: np.bincount(clusters, differences[key]) for key in keys}
        at_random = [key for key in keys if _test_of(*key, test) == "randomisation"]
        if at_random:
            stacked = np.stack([sums[key] for key in at_random], axis=1)
            p |= dict(zip(at_random, randomisation(stacked, samples=samples, seed=seed).tolist(), strict=True))
        for key in keys:
            if key not in p:
                p[key] = (wilcoxon if _test_of(*key, test) == "wilcoxon" else t_test)(sums[key] / sizes)
    return p


def _changes(
    group: str, columns: Mapping[Key, PairedValues], resampled: Mapping[Key, np.ndarray], test: str, samples: int, seed: int
) -> list[Change]:
    differences = {key: column.differences for key, column in columns.items()}
    cores = {key: column.cores for key, column in columns.items()}
    p = _p_values(differences, cores, _together(columns, "query_ids"), test, samples, seed)
    return [
        _change(
            group,
            key,
            _mean(column.a),
            _mean(column.b),
            differences[key],
            resampled[key],
            column.estimate,
            _test_of(*key, test),
            p[key],
        )
        for key, column in columns.items()
    ]


def _mean(values: np.ndarray) -> float:
    return math.fsum(values.tolist()) / len(values)


def _change(
    group: str,
    key: Key,
    a: float,
    b: float,
    differences: np.ndarray,
    resampled: np.ndarray,
    estimate: Estimate,
    test: str,
    p: float,
) -> Change:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    up, down = int((differences > 0).sum()), int((differences < 0).sum())
    return Change(
        group=group,
        mode=key[1],
        measure=key[0],
        a=a,
        b=b,
        difference=b - a,
        relative=(b - a) / abs(a) if a else math.nan,
        queries=len(differences),
        low=float(low),
        high=float(high),
        detectable=estimate.detectable(),
        effect=effect_size(differences),
        test=test,
        p=p,
        holm=p,
        up=up,
        down=down,
        same=len(differences) - up - down,
    )


def _adjusted(changes: list[Change]) -> list[Change]:
    """With p adjusted for all numbers of the group."""
    adjusted = iter(holm([change.p for change in changes if not math.isnan(change.p)]))
    return [change if math.isnan(change.p) else replace(change, holm=next(adjusted)) for change in changes]


def _averages(tables, test: str, samples: int, seed: int) -> list[Change]:
    """The macro average over the groups: every group counts alike, so a query counts by the size of its group."""
    keys = list(dict.fromkeys(key for _, columns, _ in tables for key in columns))
    together, parts, weighted, cores = defaultdict(list), {}, {}, {}
    for key in keys:
        groups = [(columns[key], resampled[key]) for _, columns, resampled in tables if key in columns]
        parts[key] = groups
        total = sum(len(column.query_ids) for column, _ in groups)
        # their plain mean is the macro average of the differences
        weighted[key] = np.concatenate(
            [column.differences * total / (len(groups) * len(column.query_ids)) for column, _ in groups]
        )
        starts = np.cumsum([0, *(column.cores.max() + 1 for column, _ in groups)])
        cores[key] = np.concatenate([column.cores + start for (column, _), start in zip(groups, starts, strict=False)])
        together[tuple(column.query_ids for column, _ in groups)].append(key)
    p = _p_values(weighted, cores, together.values(), test, samples, seed)
    rows = []
    for key, groups in parts.items():
        a, b = (math.fsum(_mean(getattr(column, name)) for column, _ in groups) / len(groups) for name in ("a", "b"))
        resampled = np.mean([means for _, means in groups], axis=0)
        estimate = average([column.estimate for column, _ in groups])
        rows.append(_change(AVERAGE, key, a, b, weighted[key], resampled, estimate, _test_of(*key, test), p[key]))
    return rows


def _moved(group: str, columns: Mapping[Key, PairedValues]) -> Iterator[Moved]:
    for (measure, mode), column in columns.items():
        for row in np.flatnonzero(column.differences):
            yield Moved(group, column.query_ids[row], mode, measure, float(column.a[row]), float(column.b[row]))


def _notes(tables, judgments: Judgments) -> Iterator[str]:
    left = [part.group for part in judgments.parts if part.group not in {compared.group for compared, _, _ in tables}]
    if left:
        yield f"not compared, as no query of theirs has a value in both runs: {', '.join(left)}"
    independent = {part.group: max(int(column.cores.max()) + 1 for column in columns.values()) for part, columns, _ in tables}
    few = {group: number for group, number in independent.items() if number < FEW}
    if few:
        shown = ", ".join(f"{group} {number}" for group, number in few.items())
        yield f"few core queries ({shown}): intervals are too narrow, and only large effects show"
