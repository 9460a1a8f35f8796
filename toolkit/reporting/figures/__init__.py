"""The plots of a report: each says what it needs, and draws one figure."""

from toolkit.reporting.figures.charts import Drawn, Plot
from toolkit.reporting.figures.intervals import INTERVALS, PARAPHRASES
from toolkit.reporting.figures.kinds.baseline_differences import DIFFERENCES, WIN_TIE_LOSS
from toolkit.reporting.figures.kinds.controls import CONTROLS, TEMPLATES
from toolkit.reporting.figures.kinds.group_values import HEATMAP, RADAR
from toolkit.reporting.figures.kinds.histograms import HISTOGRAMS
from toolkit.reporting.figures.kinds.perspectives import COVERAGE, LEANS, MRECALL, STANCES
from toolkit.reporting.figures.kinds.rank_slopes import QUERY_SLOPES, RANK_SLOPES
from toolkit.reporting.figures.kinds.size import SIZE
from toolkit.reporting.figures.kinds.surface import WISE_REWARD, WISE_SURFACE
from toolkit.reporting.figures.kinds.system_ranks import SYSTEM_RANKS
from toolkit.reporting.figures.kinds.tradeoff import TRADEOFF

__all__ = ["PLOTS", "Drawn", "Plot"]

# in the order of a page
PLOTS: tuple[Plot, ...] = (
    TRADEOFF,
    RANK_SLOPES,
    QUERY_SLOPES,
    DIFFERENCES,
    CONTROLS,
    TEMPLATES,
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
