"""Do the measures of a benchmark order runs alike?"""

from collections.abc import Sequence

from toolkit.core.runs import Run
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.metrics.agreement import Agreement, Graded, agreement, orders
from toolkit.metrics.evaluation import PAIRED


def measures(
    runs: Sequence[Run], judged: Judgments, wanted: Sequence[str] | None = None
) -> tuple[list[Agreement], tuple[str, ...]]:
    """Kendall's tau-b between the orders of runs by each measure, over all groups, and the notes of their evaluation.

    runs     of different names
    wanted   None for those of the benchmark's table

    Where the benchmark's gold documents have a rank in the instructed and in the reversed mode, their mean movement is one of
    the orders. Raises ToolkitError for fewer than two runs or measures.
    """
    scores = Evaluation(tuple(runs), judged).scores(wanted)
    graded = (Graded(row.run, row.measure, "" if row.mode == PAIRED else row.mode, row.value) for row in scores.overall())
    return agreement(orders(graded, judged.modes)), scores.notes
