"""Queries by the core query that they are made of, and means over these.

In the base mode the queries of one core query have one text, and so one ranking. InfoSearch's table 1 prints means of nDCG@10
in which each core query counts once (its Robustness@10, which is over core queries, is the same in all 18 rows); its tables 17
to 22, and the released evaluator, count it once for each instruction.
"""

from collections.abc import Iterator

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE
from toolkit.core.system.weak_cache import once_per_object
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.metrics.evaluation import mean
from toolkit.metrics.inference import Cores

INSTRUCTION, CORE, BOTH = UNITS = ("instruction", "core", "both")
BY_CORE = " by core"  # behind the mode, where both units are asked for


def core_queries(query_ids: tuple[str, ...], part: Part) -> tuple[tuple[str, ...], np.ndarray]:
    """The core queries, and (n,) int64 which of them each query is of; each its own where nobody says."""
    known = _core_queries(part)
    if query_ids not in known:
        core_of = query_ids if part.cores is None else [part.cores.get(query_id, query_id) for query_id in query_ids]
        core_ids, cores = np.unique(core_of, return_inverse=True)
        known[query_ids] = tuple(core_ids.tolist()), cores
    return known[query_ids]


@once_per_object
def _core_queries(part: Part) -> dict[tuple[str, ...], tuple[tuple[str, ...], np.ndarray]]:
    """What is known of a part: every pair of runs asks for the same few."""
    return {}


def check_unit(unit: str, judgments: Judgments) -> None:
    """Raise ToolkitError where there is nothing to count by core query."""
    if unit not in UNITS:
        raise ToolkitError(f"ori_unit is {unit!r}", f"one of {', '.join(UNITS)}")
    if unit == CORE and not (judgments.modes.of(BASE) and any(part.cores for part in judgments.parts)):
        hint = "leave --ori-unit out, or name --benchmark"
        raise ToolkitError(f"{judgments.name}: no base mode with known core queries", hint)


def by_unit(values: tandem.MeasureValues, part: Part, unit: str) -> Iterator[tuple[str, float, int]]:
    """Mode, aggregate and number of what it is over, of one measure in one mode; two of them for `both`.

    unit  what counts once in a mean over the base mode: a query of an `instruction`, a `core` query (whose value is the mean of
          its queries'), or `both`, the second in the mode `ori by core`
    """
    of_queries = registry.measure(values.measure).over in ("", "mode")  # nDCG and the rest of ir_measures say nothing
    is_mean = of_queries and values.mode in registry.modes_of(part.qrels).of(BASE)
    if unit != CORE or not is_mean:
        yield values.mode, values.aggregate, len(values.query_ids)
    if unit != INSTRUCTION and is_mean:
        core_ids, cores = core_queries(tuple(values.query_ids), part)
        sums, sizes, _ = Cores.of(values.values, cores)
        yield values.mode + (BY_CORE if unit == BOTH else ""), mean(sums / sizes), len(core_ids)
