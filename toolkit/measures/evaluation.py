"""Evaluate a run: every measure, per mode or paired, per query and in aggregate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ir_measures.measures import MeanAgg, Measure

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.formats.conversion import as_qrels, as_run
from toolkit.measures.compute import Joined, PerQuery, compute
from toolkit.measures.definitions import parse_all
from toolkit.measures.ir_measures_adapter import values_by_ir_measures
from toolkit.measures.providers import FAST, OURS

MISSING = ("worst", "skip", "error")


@dataclass(frozen=True, eq=False)
class MeasureValues:
    """One measure in one mode.

    measure    ir_measures' own string for it
    mode       a mode, `paired`, or empty where query ids carry no mode
    query_ids  without mode; core queries for grouped measures
    values     (n,) float64, parallel to query_ids
    aggregate  their mean (their sum for ir_measures' counts); NaN over no query
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
    others = [measure for measure in parsed if not (OURS.supports(measure) or FAST.supports(measure))]
    computed = values_by_ir_measures(others, joined) if others else {}
    results = []
    for measure in parsed:
        result = computed[measure] if measure in computed else compute(joined, measure)
        if missing == "error" and result.absent.any():
            _refuse_absent(joined.run, measure, np.array(result.query_ids, object)[result.absent])
        counted = ~np.isnan(result.values) & ~(result.absent & (missing == "skip"))
        results += _by_mode(measure, result, counted, joined.modes)
    return results


def _by_mode(measure: Measure, result: PerQuery, counted: np.ndarray, modes: Modes) -> list[MeasureValues]:
    if registry.measure(measure.NAME).over == PAIRED:
        split = [(query_id, PAIRED) for query_id in result.query_ids]
    else:
        split = [modes.split(query_id) for query_id in result.query_ids]
    results = []
    for mode in sorted({mode for _, mode in split}, key=modes.place):
        rows = [row for row, (_, split_off) in enumerate(split) if split_off == mode and counted[row]]
        values = result.values[rows]
        query_ids = tuple(split[row][0] for row in rows)
        results.append(MeasureValues(str(measure), mode, query_ids, values, _aggregate(measure, values.tolist())))
    return results


def _aggregate(measure: Measure, values: Sequence[float]) -> float:
    aggregator = measure.aggregator()
    if isinstance(aggregator, MeanAgg):
        # exact, so that the order of queries does not change the last digit
        return math.fsum(values) / len(values) if values else math.nan
    for value in values:
        aggregator.add(value)
    return aggregator.result()


def _refuse_absent(run: Run, measure: Measure, query_ids: Sequence[str]) -> None:
    shown = ", ".join(query_ids[:3])
    raise ToolkitError(
        f"{run.source or 'the run'} lacks {len(query_ids)} of the queries that {measure} needs: {shown}",
        "--missing worst counts them with their worst value, --missing skip leaves them out",
    )
