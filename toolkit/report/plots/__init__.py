"""The plots of a report: each says what it needs, and draws one figure."""

from toolkit.report.plots.baseline_differences import DIFFERENCES
from toolkit.report.plots.controls import CONTROLS
from toolkit.report.plots.depth import COVERAGE, MRECALL
from toolkit.report.plots.heatmap import HEATMAP
from toolkit.report.plots.histograms import HISTOGRAMS
from toolkit.report.plots.intervals import INTERVALS
from toolkit.report.plots.paraphrases import PARAPHRASES
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.radar import RADAR
from toolkit.report.plots.rank_slopes import QUERY_SLOPES, RANK_SLOPES
from toolkit.report.plots.size import SIZE
from toolkit.report.plots.stance_bars import LEANS, STANCES
from toolkit.report.plots.surface import WISE_REWARD, WISE_SURFACE
from toolkit.report.plots.system_ranks import SYSTEM_RANKS
from toolkit.report.plots.tradeoff import TRADEOFF
from toolkit.report.plots.win_tie_loss import WIN_TIE_LOSS

__all__ = ["PLOTS", "Drawn", "Plot"]

# in the order of a page
PLOTS: tuple[Plot, ...] = (
    TRADEOFF,
    RANK_SLOPES,
    QUERY_SLOPES,
    DIFFERENCES,
    CONTROLS,
    WIN_TIE_LOSS,
    SYSTEM_RANKS,
    RADAR,
    INTERVALS,
    PARAPHRASES,
    HEATMAP,
    SIZE,
    WISE_SURFACE,
    WISE_REWARD,
    HISTOGRAMS,
    MRECALL,
    COVERAGE,
    STANCES,
    LEANS,
)
