"""Instruction first or query first: what the order of the two does to a system (InstructIR, table 4)."""

from collections.abc import Sequence

import numpy as np

from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.evaluation.analyses.instances import FOUND, Instances, found_of, untested_note
from toolkit.evaluation.comparison.notes import run_notes
from toolkit.evaluation.scores.judgments import Judgments, read_runs
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.metrics.evaluation import mean
from toolkit.metrics.inference import Cores, estimate

MODES = ("instruction-first", "query-first", "gap", *FOUND)


def order(first: Run, second: Run, judgments: Judgments, *, cutoff: int = 10, by_query: bool = False) -> Scores:
    """nDCG and Robustness of two runs of the same queries, and query first minus instruction first, the paper's sign.

    first, second  instruction first, query first; an instance that a run lacks scores 0 in it
    by_query       also the differences of each core query, mean and worst case

    The gaps have their 95 % interval and p over core queries (`toolkit.metrics.inference`).
    """
    instances = Instances.of(judgments)
    measures = (f"nDCG@{cutoff}", f"Robustness@{cutoff}")
    pair = [instances.values(run, judgments, measures[0]) for run in (first, second)]
    worst = [instances.worst(values) for values in pair]
    name = second.tag if first.tag == second.tag else f"{first.tag} / {second.tag}"
    gap = pair[1] - pair[0]
    gaps = [estimate([Cores.of(gap, instances.groups)]), estimate([Cores.of(worst[1] - worst[0], np.arange(len(worst[0])))])]
    rows = [*_rows(name, measures[0], pair, found_of(gaps[0])), *_rows(name, measures[1], worst, found_of(gaps[1]))]
    if by_query:
        sizes = np.bincount(instances.groups)
        per_group = (np.bincount(instances.groups, gap) / sizes, worst[1] - worst[0])
        for code, group in enumerate(instances.names):
            for measure, values in zip(measures, per_group, strict=True):
                rows.append(Score(name, "all", "gap", measure, float(values[code]), int(sizes[code]), group))
    unknown = [line for measure, each in zip(measures, gaps, strict=True) for line in untested_note(measure, each)]
    higher, lower = int((gap > 0).sum()), int((gap < 0).sum())
    equal = len(gap) - higher - lower
    counts = f"of {len(gap):,} instances {higher:,} score higher query first, {lower:,} lower, {equal:,} equally"
    notes = [*judgments.notes, *unknown, counts]
    if equal == len(gap):
        sent = "of other systems `tandem systems explain` shows what was sent"
        notes.append(f"no instance scores differently: a bag of words (BM25) has no order; {sent}")
    for run, mode in ((first, MODES[0]), (second, MODES[1])):
        notes += [f"{mode}, {note}" for note in run_notes([run], judgments, [measures[0]], "worst")]
    return Scores(tuple(rows), tuple(notes))


def tables(first: str, second: str, judged: Judgments, *, cutoff: int = 10, by_query: bool = False) -> Shown:
    """`order` of two run files."""
    return shown(order(*read_runs([first, second], judged), judged, cutoff=cutoff, by_query=by_query), by_query=by_query)


def _rows(name: str, measure: str, pair: Sequence[np.ndarray], interval: Sequence[float]) -> list[Score]:
    first, second = (mean(values) for values in pair)
    numbers = (first, second, second - first, *interval)
    return [Score(name, "all", mode, measure, value, len(pair[0])) for mode, value in zip(MODES, numbers, strict=True)]
