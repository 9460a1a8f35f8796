"""Do two columns of numbers order the same things alike?"""

from __future__ import annotations

import math
from collections.abc import Sequence


def tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b of two parallel columns, which may have ties; NaN for fewer than two rows, or where a column is all
    ties."""
    from scipy import stats

    return float(stats.kendalltau(first, second).statistic) if len(first) > 1 else math.nan
