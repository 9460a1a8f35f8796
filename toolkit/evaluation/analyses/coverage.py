"""How far one has to read until every perspective of a question has been seen (BERDS, section 7)."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, Score, Scores
from toolkit.evaluation.scores.judgments import Judgments, Part, read_runs
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.evaluation.scores.subtopics import has_subtopics, named_perspectives, unjudged_notes, unlined_note
from toolkit.metrics.families.join import positions

DEPTH = 100
UNION = "union"


def coverage(runs: Sequence[Run], judgments: Judgments, *, depth: int = DEPTH, by_query: bool = False) -> Scores:
    """The smallest top n that holds every perspective, and the share of questions that have one; of the runs' union the share.

    depth     n is at most this; a question that has no such n, or is absent from the run, is left out of the mean (NaN by
              query), and counts in the share, whose denominator is every judged question
    by_query  also each question

    `CoveringPrefix@100` and `Covered@100`; the latter is MRecall@100 where no question has more than 100 perspectives. The
    union of several runs is a set: their top documents together. Raises ToolkitError for qrels without perspectives.
    """
    if depth < 1:
        raise ToolkitError(f"depth is {depth}", "a whole number from 1 on")
    names = run_names(runs)
    rows: list[Score] = []
    for part in judgments.parts:
        check_perspectives(part.qrels)
        firsts = [first_ranks(run, part.qrels, depth) for run in runs]
        for name, first in zip(names, firsts, strict=True):
            rows += _rows(name, part, prefixes(first, part.qrels), depth, by_query)
        if len(runs) > 1:
            rows += _rows(UNION, part, prefixes(np.minimum.reduce(firsts), part.qrels), depth, by_query, is_union=True)
    means = [row for row in rows if row.measure.startswith("CoveringPrefix") and not row.query_id]
    covered = {name: sum(row.queries for row in means if row.run == name) for name in names}
    by_measure: dict[tuple[str, str], list[Score]] = {}  # whose mean over the groups is undefined where it is in one of them
    for row in rows if len(judgments.parts) > 1 else ():
        if not row.query_id:
            by_measure.setdefault((row.run, row.measure), []).append(row)
    for (name, measure), own in by_measure.items():
        value = math.fsum(row.value for row in own) / len(own)
        rows.append(Score(name, AVERAGE, "", measure, value, sum(row.queries for row in own)))
    return Scores(tuple(rows), tuple(_notes(runs, covered, judgments, depth)))


def tables(runs: Sequence[str], judged: Judgments, *, depth: int = DEPTH, by_query: bool = False) -> Shown:
    """`coverage` of run files."""
    return shown(coverage(read_runs(runs, judged, apart=True), judged, depth=depth, by_query=by_query), by_query=by_query)


def run_names(runs: Sequence[Run]) -> list[str]:
    """What to call runs: their tags; where two have one, the files. ToolkitError for two that have both in common."""
    tags, sources = [run.tag or run.source for run in runs], [run.source for run in runs]
    if len(set(tags)) == len(tags):
        return tags
    if twice := [source for source in dict.fromkeys(sources) if sources.count(source) > 1]:
        raise ToolkitError(f"{twice[0] or 'a run'} is given twice", "name each file once; runs in memory have tags")
    return sources


def check_perspectives(qrels: Qrels) -> None:
    """ToolkitError where the second column is the same in every line."""
    if not has_subtopics(qrels):
        message = f"{qrels.source or 'the qrels'}: the second column names no perspectives"
        raise ToolkitError(message, "`tandem judge` writes qrels with them")


def first_ranks(run: Run, qrels: Qrels, depth: int) -> np.ndarray:
    """(m,) float64, parallel to `named_perspectives`: the best rank of a document that holds it; infinite where none does."""
    located, pairs, width = positions(run, qrels), named_perspectives(qrels), len(qrels.iterations)
    held = (located.relevance > 0) & ~located.missing & (located.ranks <= depth)
    places = np.searchsorted(pairs[0] * width + pairs[1], (located.queries * width + located.subtopics)[held])
    first = np.full(pairs.shape[1], np.inf)
    np.minimum.at(first, places, located.ranks[held])
    return first


def prefixes(first: np.ndarray, qrels: Qrels) -> np.ndarray:
    """(queries,) float64: where the last of a question's perspectives is first held; infinite where one is not."""
    covering = np.zeros(len(qrels.query_ids))
    np.maximum.at(covering, named_perspectives(qrels)[0], first)
    return covering


def _rows(name: str, part: Part, covering: np.ndarray, depth: int, by_query: bool, is_union: bool = False) -> Iterator[Score]:
    """Of a run both measures; of the union of runs, which is a set, the share alone."""
    reached = np.isfinite(covering)
    mean = float(covering[reached].mean()) if reached.any() else math.nan
    prefixes = [int(value) if math.isfinite(value) else math.nan for value in covering.tolist()]
    found = {} if is_union else {f"CoveringPrefix@{depth}": (mean, int(reached.sum()), prefixes)}
    found[f"Covered@{depth}"] = (float(reached.mean()), len(covering), list(map(int, reached.tolist())))
    for measure, (value, queries, values) in found.items():
        yield Score(name, part.group, "", measure, value, queries)
        for query_id, own in zip(part.qrels.query_ids, values, strict=True) if by_query else ():
            yield Score(name, part.group, "", measure, own, 1, query_id)


def _notes(runs: Sequence[Run], covered: Mapping[str, int], judgments: Judgments, depth: int) -> Iterator[str]:
    """covered  the name of each run -> how many questions it covers"""
    qrels = judgments.qrels
    yield from judgments.notes
    yield from unjudged_notes(qrels, "negative")
    for (name, count), run in zip(covered.items(), runs, strict=True):
        absent = set(qrels.query_ids).difference(run.query_ids)
        named = f" ({three(absent)})" if absent else ""
        yield f"{name}: covers {count:,} of {len(qrels.query_ids):,} questions; {len(absent):,} are absent from the run{named}"
        yield from (f"{name}: {line}" for line in unlined_note(run, qrels, [f"MRecall@{depth}"]))
