"""Does the instruction matter? Queries whose labels, or whose score by a run, are the same when the instruction is ignored."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from toolkit import metrics as tandem
from toolkit.construction.checks.judged_texts import JudgedTexts
from toolkit.core.modes import BASE, join_mode
from toolkit.evaluation.comparison.references import blind
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.scoring import own_queries

LABELS, SCORE = "labels", "score"
MEASURE = "nDCG@10"
SAME = 1e-9  # by which two scores may differ and be one


class Ignored(NamedTuple):
    """A query whose instruction could be left out.

    what  is the same then: `LABELS`, or `SCORE` of the ranking
    run   whose score it is
    """

    group: str
    query_id: str
    what: str
    run: str = ""


class Effect(NamedTuple):
    """How many of a group's instructed queries (in each mode) have an instruction without effect. run: as of `Ignored`."""

    group: str
    what: str
    run: str
    queries: int
    ignored: tuple[Ignored, ...]


def unchanged_labels(texts: JudgedTexts) -> Effect:
    """Queries with the same relevant documents, in the same degrees, as without the instruction.

    Without a base mode that is what is relevant to any instruction of the core query, where it has several.
    """
    instructions: dict[tuple[str, str], int] = {}
    for row in texts.instructed:
        instructions[row.core, row.mode] = instructions.get((row.core, row.mode), 0) + 1
    has_base = bool(texts.benchmark.spec.modes.of(BASE))
    rows = [row for row in texts.instructed if has_base or instructions[row.core, row.mode] > 1]
    same = (Ignored(texts.group, row.query_id, LABELS) for row in rows if row.before == row.relevant)
    return Effect(texts.group, LABELS, "", len(rows), tuple(same))


def unchanged_scores(evaluation: Evaluation, only: str = "all") -> Iterator[Effect]:
    """Of each run and group: queries where the ranking that it gives without the instruction scores the same (nDCG@10).

    only  what the only group is called, where there is one

    Nothing where the benchmark has no base mode.
    """
    judgments = evaluation.judgments
    modes = judgments.modes
    if not modes.of(BASE):
        return
    for run in evaluation.runs:
        ignorant = blind(run, modes)
        for part in judgments.parts:
            own, without = (_values(each, part) for each in (own_queries(run, part), ignorant))
            asked = [query_id for query_id in own if modes.split(query_id)[1] not in modes.of(BASE)]
            same = [query_id for query_id in asked if abs(own[query_id] - without.get(query_id, 0.0)) <= SAME]
            group = part.group if len(judgments.parts) > 1 else only
            yield Effect(
                group, SCORE, run.tag, len(asked), tuple(Ignored(group, query_id, SCORE, run.tag) for query_id in same)
            )


def _values(run, part) -> Mapping[str, float]:
    """Query id with its mode -> nDCG@10."""
    found = {}
    for measured in tandem.evaluate([MEASURE], own_queries(run, part), part.qrels):
        ids = (join_mode(query_id, measured.mode) for query_id in measured.query_ids)
        found |= zip(ids, measured.values.tolist(), strict=True)
    return found
