"""Measures that only other providers of ir_measures compute: they get our order, our labels, and ids that none misreads."""

from collections.abc import Sequence
from dataclasses import replace

import ir_measures
import numpy as np
from ir_measures.measures import Measure

from toolkit.core.errors import ToolkitError
from toolkit.metrics.compute import Joined, PerQuery


def values_by_ir_measures(measures: Sequence[Measure], joined: Joined) -> dict[Measure, PerQuery]:
    """What ir_measures' default pipeline gives; queries that the run lacks get the measure's own default.

    Measures with subtopics see every judgment, the others a document's highest label.
    """
    # gdeval keeps of a query id what follows its last dash, and takes digits only
    names = joined.qrels.query_ids
    numbers = {query_id: str(number) for number, query_id in enumerate(names)}
    run = joined.run.select(names)
    run = run.with_query_ids(numbers[query_id] for query_id in run.query_ids)
    # falling ranks for scores: each provider sorts for itself, and now none finds a tie to break
    frame = replace(run, scores=-run.ranks().astype(np.float64)).to_frame()
    qrels = joined.qrels.with_query_ids(numbers.values())

    values = {measure: np.full(len(names), measure.DEFAULT, np.float64) for measure in measures}
    diverse = [measure for measure in measures if ir_measures.pyndeval.supports(measure)]
    plain = [measure for measure in measures if measure not in diverse]
    # one judgment a (query, document), with its highest label; other providers would take the last one
    order = np.lexsort((qrels.relevance, qrels.docs, qrels.queries))
    last = np.ones(len(order), bool)
    last[:-1] = (np.diff(qrels.queries[order]) != 0) | (np.diff(qrels.docs[order]) != 0)
    columns = {name: getattr(qrels, name)[order[last]] for name in ("queries", "docs", "relevance", "subtopics")}
    for some, judgments in ((diverse, qrels), (plain, replace(qrels, **columns))):
        try:
            metrics = ir_measures.iter_calc(some, judgments.to_frame(), frame) if some else ()
        except ValueError as error:
            wanted = ", ".join(map(str, some))
            raise ToolkitError(f"no provider of ir_measures computes {wanted}", "`tandem measures list` has ours") from error
        for metric in metrics:
            values[metric.measure][int(metric.query_id)] = metric.value
    absent = joined.documents("trec").absent
    return {measure: PerQuery(names, column, absent) for measure, column in values.items()}
