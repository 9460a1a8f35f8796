"""Runs compared: what changed between two runs, by how much, and whether that is more than chance."""

from toolkit.diff.comparison import Change, Comparison, Moved, compare
from toolkit.diff.rankings import Likeness, kendall_tau, likeness, rbo

__all__ = ["Change", "Comparison", "Likeness", "Moved", "compare", "kendall_tau", "likeness", "rbo"]
