"""Listwise reranking: a window slides over each query's candidates from the bottom up, and a ranker orders what it sees.

As in RankGPT (arXiv 2304.09542). With a ranker that errs nowhere, one pass with a window of w and a step of s brings the best
w - s documents into their places; p passes bring the best p * (w - s).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.progress import progress
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.models.listwise import ListwiseRanker, Window
from toolkit.rerank.candidates import count_tied

SCORES, TAILS = ("rank", "candidates"), ("keep", "drop")


class Span(NamedTuple):
    """Ranks from `start` to before `end`, from 0."""

    start: int
    end: int


class Sliding(NamedTuple):
    """How the window slides; see `rerank_listwise`."""

    depth: int
    window: int
    step: int
    passes: int
    shuffle: int | None

    def check(self) -> None:
        """Raise ToolkitError for what are no numbers, or numbers without meaning."""
        numbers = {name: value for name, value in self._asdict().items() if (name, value) != ("shuffle", None)}
        if wrong := [f"{name} is {value!r}" for name, value in numbers.items() if type(value) is not int]:
            raise ToolkitError(", ".join(wrong), "whole numbers")
        if self.depth < 1 or self.passes < 1:
            raise ToolkitError(f"depth is {self.depth}, passes is {self.passes}", "both are whole numbers from 1 on")
        if not (self.window >= 2 and 1 <= self.step <= self.window):
            message = f"window is {self.window}, step is {self.step}"
            raise ToolkitError(message, "a window holds 2 documents or more, and the step is from 1 to the window")


@dataclass
class _List:
    """One query on its way. docs: as the run has them; order: positions in `docs`, best first so far; spans: what is to do."""

    topic: Topic
    docs: list[ScoredDoc]
    tail: list[ScoredDoc]
    order: list[int]
    spans: list[Span]


def spans(count: int, window: int, step: int) -> list[Span]:
    """The windows of one pass over `count` documents, in their order: from the bottom up, the last one at the top.

    The last may be smaller. No windows where there is nothing to order.
    """
    spans = []
    for end in range(count, 1, -step):
        spans.append(Span(max(end - window, 0), end))
        if end <= window:
            break
    return spans


def rerank_listwise(
    run: Run,
    topics: Sequence[Topic],
    texts: Mapping[str, Doc],
    spec: SystemSpec,
    ranker: ListwiseRanker,
    *,
    depth: int = 100,
    window: int = 20,
    step: int = 10,
    passes: int = 1,
    shuffle: int | None = None,
    scores: str = "rank",
    tail: str = "keep",
) -> tuple[Run, dict[str, Any]]:
    """The run with its best `depth` documents in the ranker's order, and a report for its record.

    topics   of all queries of the run
    texts    doc_id -> document, of all documents down to `depth`
    shuffle  seed of a random order to start from, instead of the run's
    scores   `rank`: 1 / rank, which says no more than the rank; `candidates`: the document at rank r takes the score that the
             run had at rank r; where neighbours had equal ones, the tie order decides between them and not the ranker, and
             the report counts such pairs (`tied`)
    tail     `keep` the documents below `depth` behind the others in their order, or `drop` them

    The k-th windows of all queries are ranked in one call, so that a ranker can ask for them at the same time; the windows of
    one query follow one another. Raises ToolkitError for values without meaning, and topics or documents that are missing.
    """
    for name, value, known in (("scores", scores, SCORES), ("tail", tail, TAILS)):
        if value not in known:
            raise ToolkitError(f"{name} is {value!r}", f"known: {', '.join(known)}")
    sliding = Sliding(depth, window, step, passes, shuffle)
    lists = _lists(run, topics, texts, sliding)
    ranker.check()
    with progress(f"reranking with {spec.name}", sum(len(one.spans) for one in lists), "windows") as advance:
        for batch in _rounds(lists):
            orders = ranker.rank([_window(one, span, spec, texts) for one, span in batch], advance)
            for (one, span), order in zip(batch, orders, strict=True):
                _apply(one, span, order)
    rows = [row for one in lists for row in _rows(one, scores, tail)]
    report = {**sliding._asdict(), "scores": scores, "tail": tail, "rank_only": scores == "rank"}
    if scores == "candidates":
        report["tied"] = count_tied(run, depth)
    report |= ranker.facts()
    return Run.from_rows(rows, tag=spec.name, source=run.source), report


def plan_listwise(
    run: Run,
    topics: Sequence[Topic],
    texts: Mapping[str, Doc],
    spec: SystemSpec,
    ranker: ListwiseRanker,
    *,
    depth: int = 100,
    window: int = 20,
    step: int = 10,
    passes: int = 1,
    shuffle: int | None = None,
) -> dict[str, int]:
    """What `rerank_listwise` would ask, without asking: `requests`, of these `cached`, and `tokens` of the prompts to be sent.

    What is shown after an answer that is not known yet is not known either: such windows count as not cached, and their tokens
    are those of the candidates in the order of the moment.
    """
    lists = _lists(run, topics, texts, Sliding(depth, window, step, passes, shuffle))
    plan = {"requests": 0, "cached": 0, "tokens": 0}
    for one in lists:
        known = True
        for span in one.spans:
            order, tokens = ranker.peek(_window(one, span, spec, texts))
            known = known and order is not None
            plan["requests"] += 1
            plan["cached"] += known
            plan["tokens"] += 0 if known else tokens
            if known:
                _apply(one, span, order)
    return plan


def passage_text(spec: SystemSpec, doc: Doc) -> str:
    """A document as it is shown: the template `passage`; the parameter `titled_passage` where there is one and a title."""
    titled = spec.parameters.get("titled_passage") if doc.title else None
    return doc_input({"passage": titled} if titled else spec.templates, doc).whole


def _lists(run: Run, topics: Sequence[Topic], texts: Mapping[str, Doc], sliding: Sliding) -> list[_List]:
    """Each query's candidates and what is to do with them; all that is missing is said before anything is asked."""
    sliding.check()
    known = {topic.query_id: topic for topic in topics}
    if unknown := [query_id for query_id in run.query_ids if query_id not in known]:
        message = f"{run.source or 'the run'} has {len(unknown)} queries that the topics do not have ({three(unknown)})"
        raise ToolkitError(message, "name the topics that the run was made with")
    lists = []
    for query_id, docs in run.rankings():
        head, tail = docs[: sliding.depth], docs[sliding.depth :]
        order = list(range(len(head)))
        if sliding.shuffle is not None:
            # a text as seed: each query has its own order, which does not depend on the others
            random.Random(f"{sliding.shuffle} {query_id}").shuffle(order)
        todo = spans(len(head), sliding.window, sliding.step) * sliding.passes
        lists.append(_List(known[query_id], head, tail, order, todo))
    if absent := {doc.doc_id for one in lists for doc in one.docs if doc.doc_id not in texts}:
        raise ToolkitError(
            f"no text for {len(absent)} documents ({three(absent)})", "name the index or file that has their texts"
        )
    return lists


def _rounds(lists: Sequence[_List]) -> Iterator[list[tuple[_List, Span]]]:
    """The first windows of all queries, their second ones, and so on; queries with fewer are done earlier."""
    for turn in itertools.count():
        batch = [(one, one.spans[turn]) for one in lists if turn < len(one.spans)]
        if not batch:
            return
        yield batch


def _window(one: _List, span: Span, spec: SystemSpec, texts: Mapping[str, Doc]) -> Window:
    shown = one.order[span.start : span.end]
    passages = tuple(passage_text(spec, texts[one.docs[position].doc_id]) for position in shown)
    return Window(one.topic.query_id, topic_input(spec.templates, one.topic).whole, passages)


def _apply(one: _List, span: Span, order: Sequence[int]) -> None:
    shown = one.order[span.start : span.end]
    one.order[span.start : span.end] = [shown[position] for position in order]


def _rows(one: _List, scores: str, tail: str) -> Iterator[ScoredDoc]:
    """The query's lines, best first."""
    ranked = [one.docs[position] for position in one.order] + (one.tail if tail == "keep" else [])
    given = [doc.score for doc in one.docs + one.tail]
    for rank, doc in enumerate(ranked, 1):
        yield doc._replace(score=1 / rank if scores == "rank" else given[rank - 1])
