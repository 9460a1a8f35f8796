"""Instructed queries and the core queries they belong to: means over the first, worst cases over the second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.modes import guess_group, join_mode
from toolkit.core.runs import Run
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.evaluation.scores.scoring import own_queries
from toolkit.metrics.inference import TESTED, Estimate

FOUND = ("95 % from", "95 % to", "p")  # the modes of what is known of a difference


@dataclass(frozen=True, eq=False)
class Instances:
    """All judged queries of a benchmark.

    query_ids  (n,) with their mode where they have one
    groups     (n,) int64, the code of each query's core query (in its mode)
    names      the core queries, by code
    """

    query_ids: tuple[str, ...]
    groups: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, judgments: Judgments) -> Instances:
        """The instances of a benchmark, whose reader says what belongs together, or of files, whose ids have to tell."""
        query_ids, codes, known = [], [], {}
        for part in judgments.parts:
            modes = registry.modes_of(part.qrels)
            for query_id in part.qrels.query_ids:
                base, mode = modes.split(query_id)
                core = guess_group(base) if part.cores is None else part.cores[base]
                codes.append(known.setdefault((part.group, join_mode(core, mode)), len(known)))
                query_ids.append(query_id)
        return cls(tuple(query_ids), np.array(codes, np.int64), tuple(name for _, name in known))

    def values(self, run: Run, judgments: Judgments, measure: str) -> np.ndarray:
        """(n,) float64: a plain measure of each instance; 0 where the run lacks it."""
        value_of: dict[str, float] = {}
        for part in judgments.parts:
            value_of |= plain_values(run, part, measure)
        return np.array([value_of[query_id] for query_id in self.query_ids])

    def worst(self, values: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
        """(groups,) float64: the smallest value of each group, NaN where nothing is left; kept  (n,) bool, all where None."""
        lowest = np.full(len(self.names), np.inf)
        rows = slice(None) if kept is None else kept
        np.minimum.at(lowest, self.groups[rows], values[rows])
        return np.where(np.isinf(lowest), np.nan, lowest)


def plain_values(run: Run, part: Part, measure: str) -> dict[str, float]:
    """Query id with its mode -> a plain measure of it, of the queries of a group."""
    found: dict[str, float] = {}
    for measured in tandem.evaluate([measure], own_queries(run, part), part.qrels):
        ids = (join_mode(query_id, measured.mode) for query_id in measured.query_ids)
        found |= zip(ids, measured.values.tolist(), strict=True)
    return found


def found_of(difference: Estimate) -> tuple[float, float, float]:
    """The numbers of `FOUND`; NaN where nothing is tested."""
    return (*map(float, difference.interval()), float(difference.p))


def untested_note(what: str, difference: Estimate) -> list[str]:
    """Why a difference is not tested, where it is not."""
    if difference.state == TESTED:
        return []
    return [f"{what}: {difference.differing:,} of {difference.core_queries:,} core queries differ: not tested"]
