"""Evaluate a run: every measure, per mode or paired, per query and in aggregate."""

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from ir_measures.measures import MeanAgg, Measure

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.compute import Joined, PerQuery, compute
from toolkit.metrics.definitions import parse_all
from toolkit.metrics.ir_measures_adapter import values_by_ir_measures
from toolkit.metrics.providers import is_ours

MISSING = ("worst", "skip", "error")


@dataclass(frozen=True, eq=False)
class MeasureValues:
    """One measure in one mode.

    measure    ir_measures' own string for it
    mode       a mode, `paired`, or empty where query ids carry no mode
    query_ids  without mode; core queries for grouped measures
    values     (n,) float64, parallel to query_ids; (n, m) of m runs
    aggregate  their mean (their sum for ir_measures' counts), (m,) of m runs; NaN over no query
    """

    measure: str
    mode: str
    query_ids: tuple[str, ...]
    values: np.ndarray
    aggregate: float


def evaluate(
    measures: str | Measure | Iterable[str | Measure],
    run: Run,
    qrels: Qrels,
    *,
    groups: Mapping[str, str] | None = None,
    missing: str = "worst",
) -> list[MeasureValues]:
    """The values of each measure, in the order given, mode by mode.

    run, qrels  ours, or any form that ir_measures takes; query ids carry their mode, one of `qrels.modes` or of a benchmark's
    groups      query id without mode -> core query, for Robustness; guessed from the ids where it is None
    missing     a query that the run lacks counts its `worst` value, is left out (`skip`), or is an `error`

    Raises ToolkitError for an unknown measure, and for absent queries where `missing` is `error`.
    """
    assert missing in MISSING, missing
    parsed = parse_all(measures)
    joined = Joined(as_run(run), as_qrels(qrels), groups, skip_absent=missing == "skip")
    others = [measure for measure in parsed if not is_ours(measure)]
    computed = values_by_ir_measures(others, joined) if others else {}
    results = []
    for measure in parsed:
        result = computed[measure] if measure in computed else compute(joined, measure)
        if missing == "error" and result.absent.any():
            absent = np.array(result.query_ids, object)[result.absent]
            what = f"lacks {len(absent)} of the queries that {measure} needs: {', '.join(absent[:3])}"
            hint = "--missing worst counts them with their worst value, --missing skip leaves them out"
            raise ToolkitError(f"{joined.run.source or 'the run'} {what}", hint)
        results += by_mode(measure, result, joined.modes, missing)
    return results


def by_mode(measure: Measure, result: PerQuery, modes: Modes, missing: str) -> list[MeasureValues]:
    """What was computed, mode by mode, without the queries that have no value and those that are skipped."""
    paired = registry.measure(measure.NAME).over == PAIRED
    counted = ~np.isnan(result.values) & ~(result.absent & (missing == "skip"))
    results = []
    for mode, rows, query_ids in _modes_of(result.query_ids, None if paired else tuple(modes.items())):
        if not counted[rows].all():
            query_ids = tuple(query_id for query_id, counts in zip(query_ids, counted[rows], strict=True) if counts)
            rows = rows[counted[rows]]
        values = result.values[rows]
        results.append(MeasureValues(str(measure), mode, query_ids, values, aggregate(measure, values)))
    return results


@functools.lru_cache(maxsize=128)  # many runs are evaluated against the same judgments
def _modes_of(
    query_ids: tuple[str, ...], roles: tuple[tuple[str, str], ...] | None
) -> list[tuple[str, np.ndarray, tuple[str, ...]]]:
    """Each mode, the rows of its queries, and their ids without it; roles  of the modes, None where the ids are without."""
    if roles is None:
        return [(PAIRED, np.arange(len(query_ids)), query_ids)] if query_ids else []
    modes = Modes(roles)
    of_mode: dict[str, list[tuple[int, str]]] = {}
    for row, query_id in enumerate(query_ids):
        base, mode = modes.split(query_id)
        of_mode.setdefault(mode, []).append((row, base))
    ordered = sorted(of_mode, key=modes.place)
    return [(mode, np.array([row for row, _ in of_mode[mode]]), tuple(base for _, base in of_mode[mode])) for mode in ordered]


def aggregate(measure: Measure, values: np.ndarray) -> float | np.ndarray:
    """What a measure makes of the values of all queries, as `MeasureValues` has them."""
    aggregator = measure.aggregator()
    if isinstance(aggregator, MeanAgg):
        return mean(values)
    if values.ndim > 1:
        return np.array([aggregate(measure, of_run) for of_run in values.T])
    for value in values.tolist():
        aggregator.add(value)
    return aggregator.result()


def mean(values: np.ndarray) -> float | np.ndarray:
    """Over the first axis: of (n,) exact, so that the order of queries does not change the last digit; NaN over none."""
    if values.ndim > 1:
        return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan
