"""What ir_measures asks: `tandem` computes the plain measures fast, `tandem_measures` those that only Tandem has.

The second stands first in ir_measures' default pipeline, so that its measures work everywhere, also mixed with others.
The first is registered by name only: nobody's nDCG changes when this package is imported.

What computes is imported when it is called: this module is loaded in the middle of whichever one imports ir_measures first.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import TYPE_CHECKING

import ir_measures
import numpy as np
from ir_measures import Metric, measures, providers
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED, Any, Choices

from toolkit import registry
from toolkit.files.runs.conversion import as_qrels, as_run

if TYPE_CHECKING:
    from toolkit.metrics.compute import Joined


class TandemEvaluator(providers.Evaluator):
    """Scores runs against one set of judgments.

    Where all measures are about the same thing, values have ids of their own: a query without its mode for paired measures, a
    core query for grouped ones. Beside measures of another kind they have the query ids of the qrels instead, as PyTerrier's
    Experiment looks every measure up for every query id that it was given: see `_for_each_query`.
    """

    def __init__(self, measures: Iterable[Measure], qrels):
        self.measures = list(measures)
        self.qrels = as_qrels(qrels)
        self.mixed = len({registry.measure(measure.NAME).over or "mode" for measure in self.measures}) > 1

    @property
    def qrel_qids(self):
        """No queries for which ir_measures has to add a default: absent ones have their value, and those left out have none.

        FallbackEvaluator alone asks, when it sets measures of other providers beside these.
        """
        self.mixed = True
        return ()

    def iter_calc(self, run) -> Iterator[Metric]:
        """The values of the measures, query by query."""
        from toolkit.metrics.compute import Joined, compute
        from toolkit.metrics.families.diagnostics import without_group

        joined = Joined(as_run(run), self.qrels)
        grouped = [measure.NAME for measure in self.measures if registry.measure(measure.NAME).over == "group"]
        if grouped and joined.without_group:
            warnings.warn(without_group(grouped[0])[0], stacklevel=2)
        for measure in self.measures:
            result = compute(joined, measure)
            counted = ~np.isnan(result.values)
            values = dict(zip(compress(result.query_ids, counted), result.values[counted].tolist(), strict=True))
            if self.mixed:
                values = _for_each_query(joined, measure, values)
            for query_id, value in values.items():
                yield Metric(query_id=query_id, measure=measure, value=value)


def _for_each_query(joined: Joined, measure: Measure, values: Mapping[str, float]) -> dict[str, float]:
    """Values by query id of the qrels, each repeated for all modes or instructions that it is about.

    Aggregates of ir_measures count a repeated value once (`WithoutRepeated`). PyTerrier's plain mean over query ids is the same
    number where each value has equally many; else repeated values are NaN, and so is that mean.
    """
    from toolkit.metrics.definitions import Repeated

    owner = {"paired": lambda query_id: joined.modes.split(query_id)[0], "group": joined.group}
    owner_of = owner.get(registry.measure(measure.NAME).over, str)
    owners = {query_id: owner_of(query_id) for query_id in joined.qrels.query_ids}
    sizes = Counter(owners.values())
    alike = sizes.keys() == values.keys() and len(set(sizes.values())) == 1
    if not alike:
        what = "it leaves queries out, or its values are about unequally many"
        warnings.warn(f"{measure} has no mean over query ids ({what}): evaluate it alone with pt.Experiment", stacklevel=3)
    rest = dict(values)
    return {
        query_id: rest.pop(name) if name in rest else Repeated(values[name] if alike else np.nan)
        for query_id, name in owners.items()
    }


class FastProvider(providers.Provider):
    """trec_eval's measures, computed a column at a time."""

    NAME = "tandem"
    SUPPORTED_MEASURES = (
        measures._nDCG(cutoff=Any(), dcg=Choices("log2"), gains=Choices(NOT_PROVIDED), judged_only=Choices(False)),
        *(
            each(cutoff=Any(), rel=Any(), judged_only=Choices(False))
            for each in (measures._P, measures._R, measures._RR, measures._AP, measures._Success)
        ),
        measures._Judged(cutoff=Any()),
    )
    _evaluator = TandemEvaluator


class TandemProvider(providers.Provider):
    """The measures of registry/measures.yaml."""

    NAME = "tandem_measures"
    _evaluator = TandemEvaluator

    def supports(self, measure):
        """Whether it is one of ours, whatever its parameters; ir_measures' error where these are wrong."""
        measure.validate_params()
        return registry.measure(measure.NAME).over not in ("", "aggregate")

    def qrel_inputs(self, measures):
        """The columns of the qrels that the measures read; the iteration names the perspective."""
        return ["query_id", "doc_id", "relevance", "iteration"]


FAST = providers.register(FastProvider())
OURS = providers.register(TandemProvider())


def is_ours(measure: Measure) -> bool:
    """Whether it is computed here, by columns; the others are left to ir_measures' providers."""
    return OURS.supports(measure) or FAST.supports(measure)


ir_measures.DefaultPipeline.providers.insert(0, OURS)
