"""Runs judged: the best documents of each question, each with every perspective of the question, as subtopic qrels.

And questions judged: which of two perspectives supports the claim that the question is about.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run, round_robin
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import open_output
from toolkit.core.system.progress import progress
from toolkit.core.templates import doc_input
from toolkit.core.topics import Topic, check_among, topics_by_id
from toolkit.datasets import TopicSet
from toolkit.engine import Executor, LocalExecutor, units_of
from toolkit.models.judges import Judge, Pair, Sides, Verdict
from toolkit.models.judges.judge import NO, YES
from toolkit.retrieval.texts import Texts, check_texts

HOLDS, LACKS, UNJUDGED = 1, 0, -1
UNIT = 4096  # pairs
NOTHING = "-"  # stands for a document where a question has none: its perspectives are to be counted all the same


class Judged(NamedTuple):
    """qrels: `<query_id> <n> <doc_id> <label>`, see `judge_run`; report: for the record."""

    qrels: Qrels
    report: dict[str, Any]


def judge_run(
    runs: Run | Sequence[Run], topics: TopicSet, texts: Texts, judge: Judge, depth: int = 10, executor: Executor | None = None
) -> Judged:
    """Which perspectives the best `depth` documents of each question hold: subtopic qrels, the n-th perspective is subtopic n.

    Of several runs the best documents are judged together. Labels: 1 holds, 0 does not, -1 is unanswered (a later call asks
    again). A question without documents has a line of document `-` and label 0 for each of its perspectives, so that all of
    them are counted. Raises ToolkitError for what is missing, before anything is asked, and where not one pair was answered.
    """
    rows = rows_of(pool([runs] if isinstance(runs, Run) else runs, depth), topics, texts, judge.spec)
    verdicts = iter(ask(judge, [row.pair for row in rows if row.pair], executor))
    held = [next(verdicts).holds if row.pair else False for row in rows]  # a row without a pair is not asked
    labels = zip(rows, (UNJUDGED if holds is None else int(holds) for holds in held), strict=True)
    qrels = Qrels.from_rows(Qrel(row.query_id, row.doc_id, label, row.subtopic) for row, label in labels)
    questions = len({row.query_id for row in rows})
    without = len({row.query_id for row in rows if row.pair is None})
    counts = {"depth": depth, "questions": questions, "questions without documents": without}
    return Judged(qrels, {"name": judge.spec.name, **judge.facts(), **counts})


def ask(judge: Judge, pairs: Sequence[Pair | Sides], executor: Executor | None = None) -> list[Verdict]:
    """The verdicts, with progress, in units of UNIT pairs. ToolkitError where not one pair was answered: that is no result."""
    if not pairs:
        return []
    judge.check()
    with progress(f"judging with {judge.spec.name}", len(pairs), "pairs") as advance:
        units = (executor or LocalExecutor()).map(lambda unit: judge.judge(unit, advance), units_of(pairs, UNIT))
        verdicts = [verdict for unit in units for verdict in unit]
    if all(verdict.holds is None for verdict in verdicts):
        message = f"{judge.spec.name} answered none of {len(pairs)} pairs: {verdicts[0].said}"
        raise ToolkitError(message, "check the server, and run again", status=1)
    return verdicts


class Row(NamedTuple):
    """One line of the qrels to be. pair: what the judge is asked; None where the question has no document."""

    query_id: str
    subtopic: str
    doc_id: str
    pair: Pair | None


def pool(runs: Sequence[Run], depth: int) -> dict[str, list[str]]:
    """query id -> the documents among the best `depth` of any run, those of the best ranks first.

    Raises ToolkitError for a depth without meaning.
    """
    check_counts(depth=depth)
    lists: dict[str, list[list[str]]] = {}
    for run in runs:
        for query_id, docs in run.head(depth).rankings():
            lists.setdefault(query_id, []).append([doc.doc_id for doc in docs])
    return {query_id: round_robin(found) for query_id, found in lists.items()}


def rows_of(pooled: dict[str, list[str]], topics: TopicSet, texts: Texts, spec: SystemSpec) -> list[Row]:
    """What is to be judged: question by question, document by document, perspective by perspective.

    A question without documents has one row a perspective, of document `-`. Raises ToolkitError for queries that are not
    among the topics, topics without perspectives, and documents without text.
    """
    topics_by_id(topics.topics)  # refuses an id that comes twice
    if without := [topic.query_id for topic in topics.topics if not topic.perspectives]:
        message = f"{len(without)} of {len(topics.topics)} topics name no perspectives ({three(without)})"
        hint = "BERDS has them; in a file of your own: JSON lines with `perspectives`, a list of statements"
        raise ToolkitError(message, hint)
    check_among(pooled, {topic.query_id for topic in topics.topics}, topics.name)
    rows = []
    for part in topics.parts:
        documents: dict[str, Doc] = {}
        wanted = {doc_id for topic in part.topics for doc_id in pooled.get(topic.query_id, ())}
        if wanted:
            source, in_order = texts(part.group), sorted(wanted, key=str.encode)
            documents = source.find(in_order)
            check_texts(in_order, documents, source.place)
        shown = {doc_id: doc_input(spec.templates, doc).whole for doc_id, doc in documents.items()}
        for topic in part.topics:
            rows += _rows(topic, pooled.get(topic.query_id, []), shown)
    return rows


def _rows(topic: Topic, doc_ids: Sequence[str], shown: dict[str, str]) -> Iterator[Row]:
    for doc_id in doc_ids or [NOTHING]:
        for number, statement in enumerate(topic.perspectives, 1):
            yield Row(topic.query_id, str(number), doc_id, Pair(shown[doc_id], statement) if doc_ids else None)


def export(rows: Sequence[Row], judge: Judge, path: str | Path) -> tuple[int, int]:
    """Write the answered pairs as training pairs, JSON lines; (written, not answered yet). Asks nothing.

    A line has `messages` (the chat, the answer as the assistant's turn: Yes or No), and `query_id`, `perspective` (its
    number), `doc_id`, `label`; of a judge that gives one, its `share` too. Each pair once. Raises ToolkitError where nothing
    is answered.
    """
    if not judge.llm.backend.here:
        message = f"which commit of {judge.spec.checkpoint} gave the answers is not known"
        raise ToolkitError(message, "HF_HUB_OFFLINE=1 takes the one that is here, where none is pinned")
    pairs = {row.pair: row for row in rows if row.pair}
    answered = [(row, verdict) for row, verdict in zip(pairs.values(), judge.known(list(pairs)), strict=True) if verdict]
    if not answered:
        raise ToolkitError(f"{judge.spec.name} has answered none of {len(pairs):,} pairs", "judge the run first")
    with open_output(path) as out:
        for row, verdict in answered:
            turn = {"role": "assistant", "content": YES if verdict.holds else NO}
            line = {"messages": [*judge.messages(row.pair), turn], "query_id": row.query_id, "perspective": int(row.subtopic)}
            line |= {"doc_id": row.doc_id, "label": int(verdict.holds)}
            line |= {"share": verdict.share} if verdict.share is not None else {}
            out.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
    return len(answered), len(pairs) - len(answered)


class Stances(NamedTuple):
    """Query id -> the number (from 1) of the supporting perspective; how many questions are not among them, and why.

    others    have not exactly two perspectives, and were not asked
    unclear   the answer names neither perspective, or both
    unjudged  were unanswered
    """

    supporting: dict[str, int]
    others: int
    unclear: int
    unjudged: int

    def __str__(self) -> str:
        left_out = f"{self.others:,} without two perspectives, {self.unclear:,} unclear, {self.unjudged:,} unjudged"
        return f"{len(self.supporting):,} questions; left out: {left_out}"


def stances(topics: Sequence[Topic], judge: Judge) -> Stances:
    """Ask of each question with two perspectives which one supports: both are shown, in the order of the file.

    Raises ToolkitError where no topic has two perspectives.
    """
    contested = [topic for topic in topics if len(topic.perspectives) == 2]
    if not contested:
        raise ToolkitError("no topic has exactly two perspectives", "a stance is between two")
    verdicts = dict(zip((topic.query_id for topic in contested), ask(judge, sides_of(contested)), strict=True))
    answered = {query_id: verdict for query_id, verdict in verdicts.items() if verdict.holds is not None}
    clear = {query_id: verdict for query_id, verdict in answered.items() if not judge.is_unclear(verdict)}
    supporting = {query_id: 1 if verdict.holds else 2 for query_id, verdict in clear.items()}
    return Stances(supporting, len(topics) - len(contested), len(answered) - len(clear), len(verdicts) - len(answered))


def sides_of(topics: Sequence[Topic]) -> list[Sides]:
    """The questions that have two perspectives, each with these."""
    return [Sides(topic.query or topic.text, *topic.perspectives) for topic in topics if len(topic.perspectives) == 2]


def write_stances(stances: Stances, path: str | Path) -> None:
    """Write `query_id<TAB>n`, a line a question."""
    with open_output(path) as out:
        for query_id, number in stances.supporting.items():
            out.write(f"{query_id}\t{number}\n".encode())
