"""Robustness: the worst of the instructions of one core query (InstructIR, arXiv 2402.14334)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def worst_of_groups(
    values: np.ndarray, absent: np.ndarray, groups: Sequence[str], *, skip_absent: bool
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The distinct groups, in order of first appearance, the minimum of each, and which groups are absent.

    values       (n,) float64, one a query
    absent       (n,) bool: the run has no line for the query
    groups       the n names of the queries' groups
    skip_absent  absent queries take no part, and a group is absent where all its queries are;
                 without it they count with their value, and a group is absent where any of its queries is
    """
    code: dict[str, int] = {}
    codes = np.array([code.setdefault(group, len(code)) for group in groups], np.int64)
    worst = np.full(len(code), np.inf)
    np.minimum.at(worst, codes, np.where(absent & skip_absent, np.inf, values))
    absences = np.bincount(codes, absent, minlength=len(code))
    absent_groups = absences == np.bincount(codes, minlength=len(code)) if skip_absent else absences > 0
    return tuple(code), worst, absent_groups
