"""MRecall and PerspectiveP of a judged run beside what they are once the judge's errors are taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.judge.agreement import pair_of
from toolkit.judge.judging import ask
from toolkit.judge.labelled import Labels
from toolkit.judge.prediction_powered import Estimate, corrected_mean
from toolkit.models.judges import Judge

MEASURES = ("MRecall@5", "MRecall@10", "PerspectiveP@1", "PerspectiveP@5", "PerspectiveP@10")
FORM = re.compile(r"(MRecall|PerspectiveP)@([1-9]\d*)")


class Corrected(NamedTuple):
    """One measure: as the judge has it, corrected with its interval, and over how many labelled units."""

    measure: str
    judged: float
    corrected: Estimate
    labelled: int
    unit: str


class Question(NamedTuple):
    """A question's best documents. holds: (perspectives, documents) bool, ranks from left to right."""

    query_id: str
    holds: np.ndarray

    def first(self, k: int) -> np.ndarray:
        """The same of the best k."""
        return self.holds[:, :k]


def parse_measures(names: Sequence[str]) -> list[tuple[str, int]]:
    """Name and cutoff of each measure; ToolkitError for others than MRecall@k and PerspectiveP@k."""
    if unknown := [name for name in names if not FORM.fullmatch(name)]:
        raise ToolkitError(f"no measure {unknown[0]!r} that can be corrected", "MRecall@k and PerspectiveP@k")
    return [(match[1], int(match[2])) for match in map(FORM.fullmatch, names)]


def correct(run: Run, qrels: Qrels, labelled: Labels, judge: Judge, measures: Sequence[str] = MEASURES) -> list[Corrected]:
    """Each measure of a run, corrected by labelled pairs.

    qrels     the judge's, of every document of the run down to the largest cutoff
    labelled  subtopic qrels by people: the questions are corrected whose best documents they have in full, and these are the
              unit; or JSON lines with texts, of any documents, for PerspectiveP@k: the judge is asked about these too, and its
              error on documents is taken for its error on the run

    See `toolkit.judge.prediction_powered` for what is assumed. Raises ToolkitError for unjudged pairs, a run deeper than what
    was judged, too few labels, and MRecall@k with JSON lines (`check_labels`).
    """
    check_labels(labelled, measures)
    wanted = parse_measures(measures)
    depth = max(k for _, k in wanted)
    questions = questions_of(run, _judged(qrels), _subtopics(qrels), depth)
    if labelled.in_words:
        return _by_documents(questions, labelled, judge, wanted)
    check_labelled(run, _subtopics(qrels), labelled, measures)
    return _by_questions(questions, run, _subtopics(qrels), labelled, wanted)


def check_labels(labelled: Labels, measures: Sequence[str]) -> None:
    """Raise ToolkitError for MRecall@k and labelled pairs of any documents: perspectives differ in how common they are, and one
    error of the judge for all pairs moves the value away from the truth (0.490 judged as 0.512 was corrected to 0.610).
    """
    recalls = [name for name in measures if name.startswith("MRecall")]
    if labelled.in_words and recalls:
        hint = (
            "label every perspective of the best documents of some questions, as qrels: --correct QRELS; or -m PerspectiveP@5"
        )
        raise ToolkitError(f"{recalls[0]} cannot be corrected by labelled pairs ({labelled.source})", hint)


def measure_of(name: str, question: np.ndarray, k: int) -> float:
    """MRecall@k or PerspectiveP@k of one question's best k documents."""
    if name == "MRecall":
        return float(question.any(1).sum() >= min(k, len(question)))
    return float(question.any(0).sum()) / k


def questions_of(
    run: Run, labels: Mapping[tuple[str, str, str], bool], subtopics: Mapping[str, Sequence[str]], depth: int
) -> list[Question]:
    """The questions of the subtopics with their best documents; ToolkitError for a pair without label."""
    ranked = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.head(depth).rankings()}
    questions = []
    for query_id, names in subtopics.items():
        docs = ranked.get(query_id, [])
        missing = [doc_id for doc_id in docs for name in names if (query_id, name, doc_id) not in labels]
        if missing:
            message = f"{query_id}: document {missing[0]} is not judged for each perspective"
            raise ToolkitError(message, f"judge the run down to rank {depth} (--depth)")
        held = [[labels[query_id, name, doc_id] for doc_id in docs] for name in names]
        questions.append(Question(query_id, np.array(held, bool).reshape(len(names), len(docs))))
    return questions


def _judged(qrels: Qrels) -> dict[tuple[str, str, str], bool]:
    vain = int((qrels.relevance < 0).sum())
    if vain:
        message = f"{vain:,} of {len(qrels):,} pairs are unjudged: what they would change is not known"
        raise ToolkitError(message, "judge again: their requests are repeated", status=1)
    return {(row.query_id, row.iteration, row.doc_id): row.relevance > 0 for row in qrels}


def _subtopics(qrels: Qrels) -> dict[str, list[str]]:
    perspectives: dict[str, dict[str, None]] = {}
    for row in qrels:
        perspectives.setdefault(row.query_id, {})[row.iteration] = None
    return {query_id: list(names) for query_id, names in perspectives.items()}


def check_labelled(run: Run, subtopics: Mapping[str, Sequence[str]], labelled: Labels, measures: Sequence[str]) -> None:
    """Raise ToolkitError where people's qrels have too few of a run's questions in full; nothing has to be judged for that.

    subtopics  query id -> its perspectives, as the qrels number them
    """
    for _, k in parse_measures(measures):
        if (full := len(_fully_labelled(run, subtopics, labelled, k))) < 2:
            message = f"{labelled.source} has the best {k} documents of {full} questions in full"
            raise ToolkitError(message, "label every perspective of the best documents of two questions or more")


def _by_questions(
    questions: Sequence[Question], run: Run, subtopics: Mapping, labelled: Labels, wanted: Sequence[tuple[str, int]]
) -> list[Corrected]:
    rows = []
    for name, k in wanted:
        values = {each.query_id: measure_of(name, each.first(k), k) for each in questions}
        people = _fully_labelled(run, subtopics, labelled, k)
        truth = {each.query_id: measure_of(name, each.first(k), k) for each in people}
        corrected = corrected_mean(list(values.values()), [values[query_id] for query_id in truth], list(truth.values()))
        rows.append(Corrected(f"{name}@{k}", _mean(values.values()), corrected, len(truth), "questions"))
    return rows


def _fully_labelled(run: Run, subtopics: Mapping[str, Sequence[str]], labelled: Labels, k: int) -> list[Question]:
    """The questions whose best k documents have people's labels for every perspective."""
    labels = {key: bool(label) for key, label in labelled.labels.items() if label is not None}
    ranked = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.head(k).rankings()}
    full = {
        query_id: names
        for query_id, names in subtopics.items()
        if all((query_id, name, doc_id) in labels for doc_id in ranked.get(query_id, []) for name in names)
        and any((query_id, name, doc_id) in labels for doc_id in ranked.get(query_id, []) for name in names)
    }
    return questions_of(run, labels, full, k)


def _by_documents(
    questions: Sequence[Question], labelled: Labels, judge: Judge, wanted: Sequence[tuple[str, int]]
) -> list[Corrected]:
    truth = {key: bool(label) for key, label in labelled.labels.items() if label is not None}
    verdicts = ask(judge, [pair_of(judge, key) for key in truth])
    if vain := sum(verdict.holds is None for verdict in verdicts):
        raise ToolkitError(f"{vain} labelled pairs are unanswered", "run again: their requests are repeated", status=1)
    said = dict(zip(truth, (bool(verdict.holds) for verdict in verdicts), strict=True))
    ours, theirs = _any_perspective(said), _any_perspective(truth)
    rows = []
    for name, k in wanted:
        judged = _mean(measure_of(name, each.first(k), k) for each in questions)
        rows.append(Corrected(f"{name}@{k}", judged, _precision(questions, ours, theirs, k), len(theirs), "documents"))
    return rows


def _precision(questions: Sequence[Question], ours: Mapping, theirs: Mapping, k: int) -> Estimate:
    """Of the documents that are there, corrected; times the share of ranks that have one."""
    held = [bool(value) for each in questions for value in each.first(k).any(0)]
    groups = [each.query_id for each in questions for _ in range(each.first(k).shape[1])]
    if not held:
        raise ToolkitError("the run has no documents for any question", "check the run")
    labelled_groups = [question for question, _ in theirs]
    estimate = corrected_mean(
        held, [ours[key] for key in theirs], list(theirs.values()), groups=groups, labelled_groups=labelled_groups
    )
    filled = len(held) / (k * len(questions))
    return Estimate(*(value * filled for value in estimate))


def _any_perspective(labels: Mapping[tuple[str, str, str], bool]) -> dict[tuple[str, str], bool]:
    """(question, document) -> whether it holds any of the perspectives that are labelled."""
    held: dict[tuple[str, str], bool] = {}
    for (question, document, _), label in labels.items():
        held[question, document] = held.get((question, document), False) or label
    return held


def _mean(values) -> float:
    return float(np.mean(list(values)))
