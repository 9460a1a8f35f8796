"""Which systems are told apart, pair by pair, and the ranks that this leaves each of them."""

import functools
import math
from dataclasses import dataclass

from toolkit import registry
from toolkit.core.scores import SIGNIFICANT
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.metrics.inference import Pairs, pairs
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, query_values


@dataclass(frozen=True)
class Ranked:
    """One system by one number.

    first, last  rank that it may have: one below the systems that are significantly better, one above those that are worse
    behind       the best score minus this one, not below 0; NaN for the best
    """

    name: str
    first: int
    last: int
    score: float
    behind: float

    @property
    def ranks(self) -> str:
        """`1`, or `2\u20134`."""
        return f"{self.first}" if self.first == self.last else f"{self.first}\u2013{self.last}"


@dataclass(frozen=True, eq=False)
class Ranking:
    """All systems by one number, best first, and their pairs in that order."""

    systems: tuple[Ranked, ...]
    pairs: Pairs

    def told_apart(self, first: int, second: int) -> bool:
        """Whether two of them are."""
        return bool(self.pairs.better[first, second] or self.pairs.better[second, first])

    def alike(self, first: int, second: int) -> bool:
        """Whether nothing tells them apart: a p below 0.05 that the correction takes back is neither one nor the other."""
        return not self.pairs.p[first, second] < SIGNIFICANT


@functools.lru_cache(maxsize=16)  # a table and a figure of one report ask for the same
def ranked(model: ReportModel) -> dict[Key, Ranking]:
    """Number of the main table -> the systems. Left out is what is no mean over the queries of every group."""
    found = {}
    for key in (Key(model.overall, *column) for column in model.columns(model.overall)):
        parts = [Key(part.group, key.measure, key.mode) for part in model.judgments.parts]
        # every run has values in every group, query by query: only means of these can be tested
        tested = all(each in facts.values and facts.values[each].query_ids for facts in model.runs for each in parts)
        if tested and is_ranked(key.measure, key.mode, model.judgments.modes):
            found[key] = ranking(model, key, model.systems)
    return found


def ranking(model: ReportModel, key: Key, runs: tuple[RunFacts, ...]) -> Ranking:
    """Some runs by one number."""
    higher = registry.measure(key.measure).direction != "lower"
    scores = {facts.name: facts.value(key.measure, key.mode, key.group) for facts in runs}
    ordered = sorted(runs, key=lambda facts: -scores[facts.name] if higher else scores[facts.name])
    values = []
    for part in model.judgments.parts:
        query_ids, of_runs = query_values(ordered, key._replace(group=part.group))
        values.append((of_runs, core_queries(query_ids, part)[1]))
    found = pairs(values, higher=higher)
    best = scores[ordered[0].name]
    systems = [
        Ranked(facts.name, *ranks, scores[facts.name], abs(best - scores[facts.name]) if place else math.nan)
        for place, (facts, ranks) in enumerate(zip(ordered, found.ranks(), strict=True))
    ]
    return Ranking(tuple(systems), found)
