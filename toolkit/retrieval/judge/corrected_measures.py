"""MRecall and PerspectiveP of a judged run beside what they are once the judge's errors are taken out, by what people labelled.

Prediction-powered inference: Angelopoulos, Bates, Fannjiang, Jordan, Zrnic 2023 (Science 382).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import Table
from toolkit.metrics.inference import LEVEL, wilson
from toolkit.retrieval.judge.agreement import Labels, fractions

MEASURES = ("MRecall@5", "MRecall@10", "PerspectiveP@1", "PerspectiveP@5", "PerspectiveP@10")
FORM = re.compile(r"(MRecall|PerspectiveP)@([1-9]\d*)")


class Estimate(NamedTuple):
    """A corrected value with its interval; values of shares are clipped to 0 and 1."""

    value: float
    low: float
    high: float


def corrected_mean(judged: Sequence[float], judged_labelled: Sequence[float], labelled: Sequence[float]) -> Estimate:
    """The mean of what people would say, from what the judge says of many and people of a few (PPI, section 2).

    judged           (n,) the judge's values for all units
    judged_labelled  (m,) the judge's values for the units that people labelled, `labelled` theirs

    The value is mean(judged) - mean(judged_labelled - labelled); its variance is the sum of the two means', and Student's t
    with the degrees of freedom of the smaller number of units gives the interval. Assumed: labelled units are a random sample
    of those that are judged. Where the judge errs alike in all m, how often it would not is bounded by Wilson's interval of
    none in m.
    """
    judged, ours, theirs = (np.asarray(values, float) for values in (judged, judged_labelled, labelled))
    rectifier = ours - theirs
    value = judged.mean() - rectifier.mean()
    fewest = min(len(judged), len(rectifier))
    if fewest < 2:
        return Estimate(_share(value), 0.0, 1.0)
    variance = sum(values.var(ddof=1) / len(values) for values in (judged, rectifier))
    unseen = 0.0 if np.ptp(rectifier) else wilson(0.0, len(rectifier), len(rectifier) - 1)[1]
    reach = stdtrit(fewest - 1, (1 + LEVEL) / 2) * math.sqrt(variance) + unseen
    return Estimate(_share(value), _share(value - reach), _share(value + reach))


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


class Corrected(NamedTuple):
    """One measure: as the judge has it, corrected with its interval, and by how many labelled questions."""

    measure: str
    judged: float
    corrected: Estimate
    labelled: int


def parse_measures(names: Sequence[str]) -> list[tuple[str, int]]:
    """Name and cutoff of each measure; ToolkitError for others than MRecall@k and PerspectiveP@k."""
    if unknown := [name for name in names if not FORM.fullmatch(name)]:
        raise ToolkitError(f"no measure {unknown[0]!r} that can be corrected", "MRecall@k and PerspectiveP@k")
    return [(match[1], int(match[2])) for match in map(FORM.fullmatch, names)]


def measures_within(names: Sequence[str] | None, depth: int) -> list[str]:
    """The measures named, else all of `MEASURES` that this depth allows; ToolkitError for one that needs more."""
    chosen = names or [name for name in MEASURES if parse_measures([name])[0][1] <= depth]
    for name, (_, k) in zip(chosen, parse_measures(chosen), strict=True):
        if k > depth:
            raise ToolkitError(f"{name} needs the best {k} documents judged, and --depth is {depth}", f"--depth {k}")
    return list(chosen)


def lay_out(rows: Sequence[Corrected]) -> Table:
    """A row a measure."""
    heads = ("measure", "judged", "corrected", "low", "high", "labelled questions")
    return fractions(heads, ((row.measure, row.judged, *row.corrected, row.labelled) for row in rows))


def correct(run: Run, qrels: Qrels, labelled: Labels, measures: Sequence[str] = MEASURES) -> list[Corrected]:
    """Each measure of a run, corrected by the questions whose best documents people have labelled in full.

    qrels     the judge's, of every document of the run down to the largest cutoff
    labelled  subtopic qrels by people

    See `corrected_mean` for what is assumed. Raises ToolkitError for unjudged pairs, a run deeper
    than what was judged, and as `check_labelled` does.
    """
    perspectives: dict[str, dict[str, None]] = {}
    for row in qrels:
        perspectives.setdefault(row.query_id, {})[row.iteration] = None
    subtopics, wanted = {query_id: list(names) for query_id, names in perspectives.items()}, parse_measures(measures)
    check_labelled(run, subtopics, labelled, measures)
    if vain := int((qrels.relevance < 0).sum()):
        message = f"{vain:,} of {len(qrels):,} pairs are unjudged: what they would change is not known"
        raise ToolkitError(message, "judge again: their requests are repeated", status=1)
    judged = {(row.query_id, row.iteration, row.doc_id): row.relevance > 0 for row in qrels}
    questions = questions_of(run, judged, subtopics, max(k for _, k in wanted))
    rows = []
    for name, k in wanted:
        values = {query_id: measure_of(name, holds, k) for query_id, holds in questions.items()}
        people = _fully_labelled(run, subtopics, labelled, k)
        truth = {query_id: measure_of(name, holds, k) for query_id, holds in people.items()}
        corrected = corrected_mean(list(values.values()), [values[query_id] for query_id in truth], list(truth.values()))
        rows.append(Corrected(f"{name}@{k}", float(np.mean(list(values.values()))), corrected, len(truth)))
    return rows


def measure_of(name: str, holds: np.ndarray, k: int) -> float:
    """MRecall@k or PerspectiveP@k of a question; holds (perspectives, documents) bool, the best document first."""
    best = holds[:, :k]
    return float(best.any(1).sum() >= min(k, len(best))) if name == "MRecall" else float(best.any(0).sum()) / k


def questions_of(
    run: Run, labels: Mapping[tuple[str, str, str], bool], subtopics: Mapping[str, Sequence[str]], depth: int
) -> dict[str, np.ndarray]:
    """Question -> which perspectives its best documents hold, see `measure_of`; ToolkitError for a pair without label."""
    ranked = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.head(depth).rankings()}
    questions = {}
    for query_id, names in subtopics.items():
        docs = ranked.get(query_id, [])
        missing = [doc_id for doc_id in docs for name in names if (query_id, name, doc_id) not in labels]
        if missing:
            message = f"{query_id}: document {missing[0]} is not judged for each perspective"
            raise ToolkitError(message, f"judge the run down to rank {depth} (--depth)")
        held = [[labels[query_id, name, doc_id] for doc_id in docs] for name in names]
        questions[query_id] = np.array(held, bool).reshape(len(names), len(docs))
    return questions


def check_labelled(run: Run, subtopics: Mapping[str, Sequence[str]], labelled: Labels, measures: Sequence[str]) -> None:
    """Raise ToolkitError where people have too few of a run's questions in full; nothing has to be judged for that.

    Pairs of any documents, as JSON lines, are none: perspectives differ in how common they are and documents in how many of
    theirs are labelled, and one error of the judge for all pairs moves a value away from the truth (MRecall 0.490, judged as
    0.512, was corrected to 0.610).

    subtopics  query id -> its perspectives, as the qrels number them
    """
    hint = "label every perspective of the best documents of two questions or more, as qrels: --correct QRELS"
    if labelled.in_words:
        raise ToolkitError(f"{measures[0]} cannot be corrected by labelled pairs ({labelled.source})", hint)
    for _, k in parse_measures(measures):
        if (full := len(_fully_labelled(run, subtopics, labelled, k))) < 2:
            raise ToolkitError(f"{labelled.source} has the best {k} documents of {full} questions in full", hint)


def _fully_labelled(run: Run, subtopics: Mapping[str, Sequence[str]], labelled: Labels, k: int) -> dict[str, np.ndarray]:
    """The questions whose best k documents have people's labels for every perspective."""
    labels = {key: bool(label) for key, label in labelled.labels.items() if label is not None}
    ranked = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.head(k).rankings()}
    full = {}
    for query_id, names in subtopics.items():
        keys = {(query_id, name, doc_id) for doc_id in ranked.get(query_id, ()) for name in names}
        if keys and keys <= labels.keys():
            full[query_id] = names
    return questions_of(run, labels, full, k)
