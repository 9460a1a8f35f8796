"""Judgments of perspectives: what was asked and not answered, what nobody asked, and how many perspectives a question has.

The second column of the qrels names the perspective. A label of -1 says that a judge was asked and gave no answer; a pair of
a document and a perspective without a line counts as not holding.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrel, Qrels, join_qrels
from toolkit.core.runs import Run
from toolkit.core.tables.columns import lookup
from toolkit.core.topics import Topic

UNJUDGED = -1
CHOICES = ("refuse", "negative")
MEASURES = ("MRecall@5", "MRecall@10", "PerspectiveP@1", "PerspectiveP@5", "PerspectiveP@10")  # of BERDS' tables
NOWHERE = ""  # a document that no run can have


def has_subtopics(qrels: Qrels) -> bool:
    """Whether the second column tells perspectives apart; in other collections it is the same in every line."""
    return len(qrels.iterations) > 1


def with_all_perspectives(qrels: Qrels, topics: Sequence[Topic]) -> Qrels:
    """The judgments of these questions, with every perspective that the benchmark has of each, the n-th as subtopic n.

    What was not judged at all is named by a line of no document: it counts among the perspectives, and nothing holds it.
    Raises ToolkitError for subtopics that a question does not have.
    """
    numbers = {topic.query_id: [str(n) for n in range(1, len(topic.perspectives) + 1)] for topic in topics}
    named = {(qrels.query_ids[query], qrels.iterations[subtopic]) for query, subtopic in named_perspectives(qrels).T.tolist()}
    known = {(query_id, n) for query_id, perspectives in numbers.items() for n in perspectives}
    if strange := {f"{query_id} {n}" for query_id, n in named - known if numbers[query_id]}:
        hint = "the second column is the number of the perspective in the benchmark, from 1"
        raise ToolkitError(f"{qrels.source or 'the qrels'}: {len(strange)} perspectives are unknown ({three(strange)})", hint)
    lacking = [Qrel(query_id, NOWHERE, 0, n) for query_id, n in sorted(known - named)]
    return join_qrels([qrels, Qrels.from_rows(lacking)], qrels.source) if lacking else qrels


def unjudged_notes(qrels: Qrels, unjudged: str) -> list[str]:
    """What is to be said of unanswered pairs.

    unjudged  `refuse`: a ToolkitError says how many there are; `negative`: they count as not holding

    Collections without subtopics use negative labels otherwise (spam), and -2 is no judge's: nothing is said of them.
    """
    count = int((qrels.relevance == UNJUDGED).sum()) if has_subtopics(qrels) else 0
    if not count:
        return []
    pairs = int((qrels.docs != lookup([NOWHERE], qrels.doc_ids)[0]).sum())
    what = f"{count:,} of {pairs:,} pairs of a document and a perspective are unanswered (label {UNJUDGED})"
    if unjudged == "refuse":
        hint = "judge them (`tandem judge` repeats the requests), or count them as negative with --unjudged negative"
        raise ToolkitError(f"{qrels.source or 'the qrels'}: {what}", hint)
    return [f"{what}: counted as negative"]


def deepest(measures: Iterable[str]) -> int:
    """The largest cutoff of the measures that read perspectives; 0 where none of them does."""
    import ir_measures

    deepest = 0
    for measure in map(tandem.parse, measures):
        if "subtopics" in registry.measure(measure.NAME).needs or ir_measures.pyndeval.supports(measure):
            deepest = max(deepest, measure.params.get("cutoff", 0))
    return deepest


def unlined_note(run: Run, qrels: Qrels, measures: Sequence[str]) -> list[str]:
    """How many pairs of a retrieved document and a perspective of its question have no line, down to the deepest cutoff."""
    depth = deepest(measures) if has_subtopics(qrels) else 0
    if not depth:
        return []
    located = tandem.positions(run, qrels)
    lined = int((~located.missing & (located.ranks <= depth)).sum())
    pairs = int((np.minimum(located.lengths, depth) * perspectives(qrels)).sum())
    if lined == pairs:
        return []
    what = f"{pairs - lined:,} of {pairs:,} pairs of a top {depth} document and a perspective"
    return [f"{what} have no judgment: counted as negative"]


def named_perspectives(qrels: Qrels) -> np.ndarray:
    """(2, m) int64: the different pairs of a question and a perspective that are named for it, as codes of the qrels."""
    return np.unique(np.stack([qrels.queries, qrels.subtopics]).astype(np.int64), axis=1)


def perspectives(qrels: Qrels) -> np.ndarray:
    """(queries,) int64: how many perspectives the qrels name for each question."""
    return np.bincount(named_perspectives(qrels)[0], minlength=len(qrels.query_ids))
