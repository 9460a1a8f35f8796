"""Listwise reranking: a window slides over each query's candidates from the bottom up, and a ranker orders what it sees.

As in RankGPT (arXiv 2304.09542). With a ranker that errs nowhere, one pass with a window of w and a step of s brings the best
w - s documents into their places; p passes bring the best p * (w - s).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress, say
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.engine import Executor, LocalExecutor, units_of
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.listwise_ranker import ListwiseRanker
from toolkit.retrieval.rerank.candidates import Candidates, Part, check_choices, count_tied, read_candidates

SCORES = ("rank", "candidates")
UNIT = 256  # queries


class Span(NamedTuple):
    """Ranks from `start` to before `end`, from 0."""

    start: int
    end: int


class Sliding(NamedTuple):
    """How the window slides over the best `depth` documents.

    window  documents that the ranker sees at once; `step` is how far the window moves up, `passes` how often it goes over all
    shuffle seed of a random order to start from, instead of the run's
    """

    depth: int = 100
    window: int = 20
    step: int = 10
    passes: int = 1
    shuffle: int | None = None

    def check(self) -> None:
        """Raise ToolkitError for what are no numbers, or numbers without meaning."""
        numbers = {name: value for name, value in self._asdict().items() if (name, value) != ("shuffle", None)}
        if wrong := [f"{name} is {value!r}" for name, value in numbers.items() if type(value) is not int]:
            raise ToolkitError(", ".join(wrong), "whole numbers")
        check_counts(depth=self.depth, passes=self.passes)
        if not (self.window >= 2 and 1 <= self.step <= self.window):
            message = f"window is {self.window}, step is {self.step}"
            raise ToolkitError(message, "a window holds 2 documents or more, and the step is from 1 to the window")


@dataclass
class _List:
    """One query on its way.

    shown  document id -> its text as the ranker is shown it
    order  positions in the head, best first so far
    spans  what is to do
    """

    candidates: Candidates
    query: str
    shown: Callable[[str], str]
    order: list[int]
    spans: list[Span]

    def window(self, span: Span) -> Window:
        """What the ranker is shown."""
        docs = (self.candidates.head[position] for position in self.order[span.start : span.end])
        return Window(self.candidates.topic.query_id, self.query, tuple(self.shown(doc.doc_id) for doc in docs))

    def reorder(self, span: Span, order: Sequence[int]) -> None:
        """Put the documents of a window in the ranker's order."""
        shown = self.order[span.start : span.end]
        self.order[span.start : span.end] = [shown[position] for position in order]


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
    scores: str = "rank",
    tail: str = "keep",
    executor: Executor | None = None,
    **sliding: Any,
) -> tuple[Run, dict[str, Any]]:
    """The run with its best `depth` documents in the ranker's order, and a report for its record.

    sliding  see `Sliding`
    scores   `rank` or `candidates`, see `Candidates.ranked`; of the latter, where neighbours had equal scores, the tie order
             decides between them and not the ranker, and the report counts such pairs (`tied`)

    Queries are ranked in units of UNIT: the k-th windows of a unit's queries in one call, so that a ranker can ask for them at
    the same time; the windows of one query follow one another. Raises ToolkitError for values without meaning, topics or
    documents that are missing, and where no answer has a single id.
    """
    check_choices(scores, tail, SCORES)
    how = Sliding(**sliding)
    lists = _lists(Part(run, topics, texts), spec, how)
    ranker.check()
    with progress(f"reranking with {spec.name}", sum(len(one.spans) for one in lists), "windows") as advance:
        units = (executor or LocalExecutor()).map(lambda unit: _orders(unit, ranker, advance), units_of(lists, UNIT))
        orders = [order for unit in units for order in unit]
    rows = [row for one, order in zip(lists, orders, strict=True) for row in one.candidates.ranked(order, scores, tail)]
    report = {**how._asdict(), "scores": scores, "tail": tail, "rank_only": scores == "rank"}
    if scores == "candidates":
        report["tied"] = count_tied(run, how.depth)
    facts = ranker.facts()
    windows = facts.get("windows", {})
    count, unreadable = windows.get("windows", 0), windows.get("repairs", {}).get("unreadable", 0)
    if unreadable and unreadable == count:
        message = f"{spec.name}: no id could be read in any of {count:,} answers, so the run would have the candidates' order"
        hint = "look at an answer (`tandem cache`), and give a prompt that the model answers with ids (--prompt)"
        raise ToolkitError(message, hint)
    if unreadable:
        say(f"warning: {spec.name}: no id could be read in {unreadable:,} of {count:,} answers: the old order stands there")
    return Run.from_rows(rows, tag=spec.name, source=run.source), report | facts


def _orders(lists: Sequence[_List], ranker: ListwiseRanker, advance: Callable[[int], None]) -> list[list[int]]:
    """The order of each query of a unit: first windows of all, then second ones; queries with fewer are done earlier."""
    for turn in range(max(len(one.spans) for one in lists)):
        batch = [(one, one.spans[turn]) for one in lists if turn < len(one.spans)]
        for (one, span), order in zip(batch, ranker.rank([one.window(span) for one, span in batch], advance), strict=True):
            one.reorder(span, order)
    return [one.order for one in lists]


def plan_listwise(
    run: Run, topics: Sequence[Topic], texts: Mapping[str, Doc], spec: SystemSpec, ranker: ListwiseRanker, **sliding: Any
) -> dict[str, int]:
    """What `rerank_listwise` would ask, without asking: `requests`, of these `cached`, and `tokens` of the prompts to be sent.

    What is shown after an answer that is not known yet is not known either: such windows count as not cached, and their tokens
    are those of the candidates in the order of the moment.
    """
    plan = {"requests": 0, "cached": 0, "tokens": 0}
    for one in _lists(Part(run, topics, texts), spec, Sliding(**sliding)):
        known = True
        for span in one.spans:
            order, tokens = ranker.peek(one.window(span))
            known = known and order is not None
            plan["requests"] += 1
            plan["cached"] += known
            plan["tokens"] += 0 if known else tokens
            if known:
                one.reorder(span, order)
    return plan


def passage_text(spec: SystemSpec, doc: Doc) -> str:
    """A document as it is shown: the template `passage`; the parameter `titled_passage` where there is one and a title."""
    titled = spec.parameters.get("titled_passage") if doc.title else None
    return doc_input({"passage": titled} if titled else spec.templates, doc).whole


def _lists(part: Part, spec: SystemSpec, sliding: Sliding) -> list[_List]:
    """Each query's candidates and what is to do with them; all that is missing is said before anything is asked."""
    sliding.check()

    def shown(doc_id: str) -> str:
        return passage_text(spec, part.texts[doc_id])

    lists = []
    for one in read_candidates(part, sliding.depth):
        order = list(range(len(one.head)))
        if sliding.shuffle is not None:
            # a text as seed: each query has its own order, which does not depend on the others
            random.Random(f"{sliding.shuffle} {one.topic.query_id}").shuffle(order)
        todo = spans(len(order), sliding.window, sliding.step) * sliding.passes
        lists.append(_List(one, topic_input(spec.templates, one.topic).whole, shown, order, todo))
    return lists
