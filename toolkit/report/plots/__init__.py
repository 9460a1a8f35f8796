"""The plots of a report: each says what it needs, and draws one figure."""

from __future__ import annotations

from toolkit.report.plots.plot import Plot

__all__ = ["PLOTS", "Plot"]

# in the order of a page
PLOTS: tuple[Plot, ...] = ()
