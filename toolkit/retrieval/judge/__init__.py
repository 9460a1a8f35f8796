"""Judging: which of a question's perspectives the best documents hold, and how far a judge can be trusted."""

from toolkit.retrieval.judge.judging import Judged, judge_run

__all__ = ["Judged", "judge_run"]
