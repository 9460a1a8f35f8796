"""The lambda that serves development questions best, for other questions (BERDS, section 5)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.measures.join import positions
from toolkit.measures.perspectives import mrecall

CUTOFF = 5


def macro_mrecall(run: Run, sets: Sequence[Qrels], cutoff: int = CUTOFF) -> float:
    """MRecall@cutoff as a mean over data sets of the mean over each one's judged questions; one that the run lacks counts 0."""
    means = [mrecall(positions(run, qrels), cutoff) for qrels in sets]
    return math.fsum(float(values.mean()) for values in means) / len(means)


def tune(diversified: Mapping[float, Run], sets: Sequence[Qrels], cutoff: int = CUTOFF) -> dict[float, float]:
    """lambda -> macro MRecall@cutoff.

    diversified  lambda -> the run of all development questions
    sets         the judgments of each data set
    """
    return {lam: macro_mrecall(run, sets, cutoff) for lam, run in diversified.items()}


def best_lambda(values: Mapping[float, float]) -> float:
    """The lambda with the highest value; of equal ones the largest, which moves the retriever's order least."""
    return max(values, key=lambda lam: (values[lam], lam))


def check_judged(query_ids: Collection[str], sets: Sequence[Qrels]) -> None:
    """ToolkitError where a data set judges none of these questions, and where two judge the same one."""
    seen: set[str] = set()
    for qrels in sets:
        if twice := seen.intersection(qrels.query_ids):
            raise ToolkitError(
                f"{qrels.source}: {len(twice)} questions are judged twice ({three(twice)})", "a file is a data set"
            )
        if not set(query_ids).intersection(qrels.query_ids):
            raise ToolkitError(f"{qrels.source} judges no question of the runs to tune on", "name their qrels")
        seen.update(qrels.query_ids)
