"""Which side of a question a system retrieves, and how far it follows the side that the query takes (BERDS, section 7)."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.evaluation.analyses.coverage import check_perspectives
from toolkit.evaluation.scores import stance as sides
from toolkit.evaluation.scores.judgments import Judgments, read_runs
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.evaluation.scores.subtopics import unjudged_notes, unlined_note
from toolkit.files.formats import read_run


def stance(
    runs: Mapping[str, Run],
    judgments: Judgments,
    stances: sides.Stances | None = None,
    *,
    cutoff: int = sides.CUTOFF,
    by_query: bool = False,
) -> Scores:
    """What the top documents of questions with two perspectives hold, and the lean towards the supporting one.

    runs      by the form of the query: `question`, `supporting`, `opposing` (one of `FORMS`); all have the questions' ids
    stances   which perspective supports; the first where nothing says it. A question that it lacks is left out
    by_query  also each question

    For each form `SupportingOnly`, `OpposingOnly`, `Both` and `Neither` are shares of questions (one absent from the run is
    `Neither`); `P` and `N` the shares of all retrieved documents that support and oppose, `Lean` (P - N) / P, NaN where P is
    0; `BoundedLean` the mean of (p - n) / (p + n) over the questions where it is defined. Each is also given as the difference
    to the form `question`, where there are others.
    """
    if cutoff < 1:
        raise ToolkitError(f"cutoff is {cutoff}", "a whole number from 1 on")
    name = next(iter(runs.values())).tag
    rows: list[Score] = []
    notes = [*judgments.notes, *unjudged_notes(judgments.qrels, "negative")]
    for part in judgments.parts:
        check_perspectives(part.qrels)
        stance = sides.contested_questions(part.qrels, stances)
        if not len(stance.queries):
            raise ToolkitError(f"{part.qrels.source or part.group}: no question has two sides", "stance is of such questions")
        tallies = {form: sides.tally(run, part.qrels, stance, cutoff) for form, run in runs.items()}
        numbers = {form: _numbers(counts) for form, counts in tallies.items()}
        question = numbers[sides.FORMS[0]]
        for form in [form for form in numbers if form != sides.FORMS[0]]:  # behind all forms, each minus the question
            values = [(what, *value, *question[what]) for what, value in numbers[form].items()]
            numbers[f"{form} - {sides.FORMS[0]}"] = {what: (a - b, min(of_a, of_b)) for what, a, of_a, b, of_b in values}
        for form, measured in numbers.items():
            rows += [Score(name, part.group, form, f"{what}@{cutoff}", *value) for what, value in measured.items()]
        for form, counts in tallies.items() if by_query else ():
            query_ids = [part.qrels.query_ids[code] for code in stance.queries]
            rows += _rows_by_query(name, part.group, form, counts, query_ids, cutoff)
        prefix = f"{part.group}: " if len(judgments.parts) > 1 else ""
        notes += [f"{prefix}{line}" for line in _notes(runs, part.qrels, stance, tallies, cutoff)]
    return Scores(tuple(rows), tuple(notes))


def tables(
    question: str,
    judged: Judgments,
    supporting: str | None = None,
    opposing: str | None = None,
    perspectives: str | None = None,
    *,
    stances: str | None = None,
    cutoff: int = sides.CUTOFF,
    by_query: bool = False,
) -> Shown:
    """`stance` of run files.

    perspectives  in place of those of the two sides: a run of all perspectives, see `by_stance`
    stances       the file that `read_stances` reads
    """
    if perspectives and (supporting or opposing):
        raise ToolkitError("the perspectives' runs are named twice", "--perspectives, or --supporting and --opposing")
    known = sides.read_stances(stances) if stances else None
    files = {form: file for form, file in zip(sides.FORMS, (question, supporting, opposing), strict=True) if file}
    runs = dict(zip(files, read_runs(list(files.values()), judged), strict=True))
    if perspectives:
        runs |= sides.by_stance(read_run(perspectives), judged, known)
    return shown(stance(runs, judged, known, cutoff=cutoff, by_query=by_query), by_query=by_query)


def _numbers(counts: sides.Tally) -> dict[str, tuple[float, int]]:
    """What is measured -> the value and over how many questions it is."""
    questions, bounded = len(counts.documents), counts.bounded[~np.isnan(counts.bounded)]
    shares = {what: (float(which.mean()), questions) for what, which in counts.stances().items()}
    mean = math.fsum(bounded.tolist()) / len(bounded) if len(bounded) else math.nan
    leans = {"P": counts.p, "N": counts.n, "Lean": counts.lean}
    return {**shares, **{what: (value, questions) for what, value in leans.items()}, "BoundedLean": (mean, len(bounded))}


def _rows_by_query(
    name: str, group: str, form: str, counts: sides.Tally, query_ids: Sequence[str], cutoff: int
) -> Iterator[Score]:
    counted: dict[str, np.ndarray] = {
        **{what: which.astype(int) for what, which in counts.stances().items()},
        "SupportingDocuments": counts.supporting,
        "OpposingDocuments": counts.opposing,
        "Documents": counts.documents,
        "BoundedLean": counts.bounded,
    }
    for what, values in counted.items():
        for query_id, value in zip(query_ids, values.tolist(), strict=True):
            yield Score(name, group, form, f"{what}@{cutoff}", value, 1, query_id)


def _notes(
    runs: Mapping[str, Run], qrels: Qrels, stance: sides.Contested, tallies: Mapping[str, sides.Tally], cutoff: int
) -> Iterator[str]:
    others = f"{len(stance.left_out):,} have another number of perspectives and are left out"
    yield f"{len(stance.queries):,} of {len(qrels.query_ids):,} questions count; {others}"
    if stance.unknown:
        yield f"the supporting perspective is unknown in {len(stance.unknown):,} more: left out ({three(stance.unknown)})"
    asked = {qrels.query_ids[code] for code in stance.queries}
    for form, run in runs.items():
        absent = asked.difference(run.query_ids)
        documents, undefined = int(tallies[form].documents.sum()), int(np.isnan(tallies[form].bounded).sum())
        named = f", {len(absent):,} questions absent from the run ({three(absent)})" if absent else ""
        yield f"{form} ({run.tag}): {documents:,} documents; BoundedLean undefined for {undefined:,} questions{named}"
        yield from (f"{form}: {line}" for line in unlined_note(run.select(asked), qrels, [f"MRecall@{cutoff}"]))
