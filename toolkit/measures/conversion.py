"""Runs and qrels in every form that ir_measures takes, as our columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run

if TYPE_CHECKING:
    import pandas


def as_run(run: Run | pandas.DataFrame | Mapping | Iterable) -> Run:
    """A Run from a Run, a DataFrame, pytrec_eval's dict or (query_id, doc_id, score) tuples.

    Raises ToolkitError where a score is not finite.
    """
    if isinstance(run, Run):
        return run
    if hasattr(run, "itertuples"):
        made = Run.from_frame(run)
    elif isinstance(run, Mapping):
        made = Run.from_dict(run)
    else:
        made = Run.from_rows((row.query_id, row.doc_id, row.score) for row in run)
    if not np.isfinite(made.scores).all():
        line = int(np.flatnonzero(~np.isfinite(made.scores))[0])
        query_id, doc_id = made.query_ids[made.queries[line]], made.doc_ids[int(made.docs[line])]
        raise ToolkitError(f"the score of document {doc_id} for query {query_id} is not finite", "scores must be numbers")
    return made


def as_qrels(qrels: Qrels | pandas.DataFrame | Mapping | Iterable) -> Qrels:
    """Qrels from Qrels, a DataFrame, pytrec_eval's dict or (query_id, doc_id, relevance[, iteration]) tuples."""
    if isinstance(qrels, Qrels):
        return qrels
    if hasattr(qrels, "itertuples"):
        columns = [qrels[name].astype(str).tolist() for name in ("query_id", "doc_id", "iteration") if name in qrels.columns]
        return Qrels.from_columns(*columns[:2], qrels["relevance"], *columns[2:])
    if isinstance(qrels, Mapping):
        rows = [(q, d, relevance, "0") for q, docs in qrels.items() for d, relevance in docs.items()]
    else:
        rows = [(row.query_id, row.doc_id, row.relevance, getattr(row, "iteration", "0")) for row in qrels]
    return Qrels.from_columns(*([row[column] for row in rows] for column in range(4)))
