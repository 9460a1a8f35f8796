"""Scores as MTEB has them. Its models are systems by name: `system="mteb:intfloat/multilingual-e5-small"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.core.scores import Scores

if TYPE_CHECKING:
    from mteb.results import TaskResult

__all__ = ["task_result"]


def task_result(scores: Scores, benchmark: str | None = None) -> TaskResult:
    """The scores of one run as MTEB's `TaskResult`: a subset for each group, `main_score` is the first measure of each.

    benchmark  whose name is the task's

    Raises ToolkitError for scores of several runs.
    """
    from mteb.results import TaskResult

    from toolkit.evaluation.scores.mteb_results import to_mteb

    return TaskResult.model_validate_json(to_mteb(scores, benchmark))
