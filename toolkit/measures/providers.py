"""What ir_measures asks: `tandem` computes the plain measures fast, `tandem_measures` those that only Tandem has.

The second stands first in ir_measures' default pipeline, so that its measures work everywhere, also mixed with others.
The first is registered by name only: nobody's nDCG changes when this package is imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import ir_measures
import numpy as np
from ir_measures import Metric, measures, providers
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED, Any, Choices

from toolkit.measures.compute import Joined, compute
from toolkit.measures.definitions import MEASURES
from toolkit.measures.inputs import as_qrels, as_run
from toolkit.measures.wording import ALONE


class TandemEvaluator(providers.Evaluator):
    """Scores runs against one set of judgments."""

    def __init__(self, measures: Iterable[Measure], qrels):
        # no query ids: ir_measures would add a default for each that has no value, but ids of paired measures have
        # no mode, and absent queries have their value already
        super().__init__(measures, qrel_qids=())
        self.qrels = as_qrels(qrels)

    def _iter_calc(self, run) -> Iterator[Metric]:
        joined = Joined(as_run(run), self.qrels)
        if any(measure.NAME == "Robustness" for measure in self.measures) and joined.without_group:
            warnings.warn(ALONE, stacklevel=2)
        for measure in self.measures:
            result = compute(joined, measure)
            kept = ~np.isnan(result.values)
            for query_id, value, keep in zip(result.query_ids, result.values.tolist(), kept, strict=True):
                if keep:
                    yield Metric(query_id=query_id, measure=measure, value=value)


class FastProvider(providers.Provider):
    """trec_eval's measures, computed a column at a time."""

    NAME = "tandem"
    SUPPORTED_MEASURES = (
        measures._nDCG(cutoff=Any(), dcg=Choices("log2"), gains=Choices(NOT_PROVIDED), judged_only=Choices(False)),
        measures._P(cutoff=Any(), rel=Any(), judged_only=Choices(False)),
        measures._R(cutoff=Any(), rel=Any(), judged_only=Choices(False)),
        measures._RR(cutoff=Any(), rel=Any(), judged_only=Choices(False)),
        measures._AP(cutoff=Any(), rel=Any(), judged_only=Choices(False)),
        measures._Success(cutoff=Any(), rel=Any(), judged_only=Choices(False)),
        measures._Judged(cutoff=Any()),
    )

    def _evaluator(self, measures, qrels):
        return TandemEvaluator(measures, qrels)


class TandemProvider(providers.Provider):
    """The measures of registry/measures.yaml."""

    NAME = "tandem_measures"
    SUPPORTED_MEASURES = tuple(measure(**{name: Any() for name in measure.SUPPORTED_PARAMS}) for measure in MEASURES.values())

    def _evaluator(self, measures, qrels):
        return TandemEvaluator(measures, qrels)

    def qrel_inputs(self, measures):
        """The columns of the qrels that the measures read; the iteration names the perspective."""
        return ["query_id", "doc_id", "relevance", "iteration"]


FAST = providers.register(FastProvider())
OURS = providers.register(TandemProvider())
ir_measures.DefaultPipeline.providers.insert(0, OURS)
