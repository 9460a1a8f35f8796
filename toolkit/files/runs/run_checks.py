"""What every run must be, whatever form it was in: finite scores, and each document of a query once."""

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.runs.problems import codes

FLOAT32_MAX = 3.4028234663852886e38


def checked(run: Run) -> Run:
    """The run. Raises ToolkitError for a score that is not finite and for a document twice in a query."""
    check_scores(run)
    if run.documents.comes_twice(run.queries):
        raise ToolkitError(f"{_place(run)}a query has the same document twice", codes()["R004"].hint)
    return run


def check_scores(run: Run) -> None:
    """Raise ToolkitError for the first score that is not finite."""
    fine = np.abs(run.scores) <= FLOAT32_MAX  # NaN is never below
    if not fine.all():
        line = int(np.argmin(fine))
        query_id, doc_id = run.query_ids[run.queries[line]], run.documents[line]
        raise ToolkitError(
            f"{_place(run)}score {run.scores[line]} of document {doc_id} in query {query_id} is not a finite number",
            codes()["R003"].hint,
        )


def _place(run: Run) -> str:
    return f"{run.source}: " if run.source else ""
