"""The same instruction in other words: how far a system's scores spread, and its worst case (InstructIR, figure 3)."""

from collections.abc import Sequence

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.evaluation.analyses.instances import FOUND, Instances, found_of, untested_note
from toolkit.evaluation.comparison.notes import run_notes
from toolkit.evaluation.scores.judgments import Declared, Judgments, judged_by, read_runs
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.metrics.evaluation import mean
from toolkit.metrics.inference import Cores, estimate

MODES = ("original", "mean", "best", "worst", "spread", "drop", *FOUND)


def paraphrase(
    original: Run, reworded: Run, judgments: Judgments, paraphrases: Judgments, *, cutoff: int = 10, by_query: bool = False
) -> Scores:
    """nDCG of the instructions that have paraphrases, against their paraphrases'; drop is original minus worst.

    original, reworded      runs of the instructions and of their paraphrases; what a run lacks scores 0 in it
    judgments, paraphrases  what judges each; a paraphrase's core query is the instruction that it says in other words
                            (in files without a benchmark, its id without `.<n>`)
    by_query                also original, best, worst, spread and drop of each instruction

    `mean` is over all paraphrases, `best` and `worst` over the best and the worst of each instruction, `spread` best minus
    worst. Interval and p are of the drop, over instructions.
    """
    measure = f"nDCG@{cutoff}"
    instances, others = Instances.of(judgments), Instances.of(paraphrases)
    place = {query_id: row for row, query_id in enumerate(instances.query_ids)}
    if unknown := [name for name in others.names if name not in place]:
        hint = f"the ids of paraphrases are `<instruction>.<n>`, those of instructions as in {judgments.name}"
        raise ToolkitError(f"{len(unknown):,} paraphrases are of instructions without judgments: {three(unknown)}", hint)
    own = instances.values(original, judgments, measure)[[place[name] for name in others.names]]
    values = others.values(reworded, paraphrases, measure)
    best = -others.worst(-values)
    worst = others.worst(values)
    columns = {"original": own, "mean": values, "best": best, "worst": worst, "spread": best - worst, "drop": own - worst}
    drop = estimate([Cores.of(own - worst, np.arange(len(own)))])
    numbers = zip(MODES, (*map(mean, columns.values()), *found_of(drop)), strict=True)
    rows = [Score(original.tag, "all", mode, measure, value, len(columns.get(mode, own))) for mode, value in numbers]
    if by_query:
        sizes = np.bincount(others.groups).tolist()
        for code, name in enumerate(others.names):
            numbers = {mode: float(columns[mode][code]) for mode in ("original", "best", "worst", "spread", "drop")}
            rows += [Score(original.tag, "all", mode, measure, value, sizes[code], name) for mode, value in numbers.items()]
    counts = f"{len(others.names):,} of {len(instances.query_ids):,} instances have paraphrases; the others are left out"
    notes = [*untested_note(measure, drop), *judgments.notes, counts]
    for name, run, judged in (("original", original, judgments), ("paraphrases", reworded, paraphrases)):
        notes += [f"{name}, {note}" for note in run_notes([run], judged, [measure], "worst")]
    return Scores(tuple(rows), tuple(notes))


def tables(
    run: str,
    reworded: str,
    benchmark: str | None = None,
    qrels: Sequence[str] | None = None,
    modes: Declared = None,
    paraphrase_qrels: Sequence[str] | None = None,
    *,
    cutoff: int = 10,
    by_query: bool = False,
) -> Shown:
    """`paraphrase` of two run files, judged by qrels for each or, without them, by a benchmark and its paraphrases."""
    if bool(qrels) != bool(paraphrase_qrels):
        raise ToolkitError("--qrels and --paraphrase-qrels go together", "name the qrels of both runs, or a benchmark")
    judged = judged_by(None if qrels else benchmark, qrels, modes)
    others = judged_by(None if qrels else f"{benchmark}-paraphrases", paraphrase_qrels, modes)
    runs = (*read_runs([run], judged), *read_runs([reworded], others))
    return shown(paraphrase(*runs, judged, others, cutoff=cutoff, by_query=by_query), by_query=by_query)
