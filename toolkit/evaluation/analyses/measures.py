"""Do the measures of a benchmark order runs alike?"""

from collections.abc import Sequence

from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.judgments import Judgments, read_runs
from toolkit.evaluation.scores.score_output import Shown
from toolkit.metrics.agreement import Agreement, Graded, agreement, lay_out, long_forms, orders


def agreement_of(
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


def tables(runs: Sequence[str], judged: Judgments, measures: Sequence[str] | None = None) -> Shown:
    """`agreement_of` run files; those of one tag or none are called by their files."""
    rows, notes = agreement_of(read_runs(runs, judged, apart=True), judged, measures)
    return [lay_out(rows, notes)], long_forms(rows, notes)
