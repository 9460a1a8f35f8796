"""InstructIR's filters: a judge's two questions about each target, what both let pass, and people's questions about some of it.

Items, by step:

    fit      those of targets, and score, from 1 to 5
    choice   those of targets, and candidates (ids of the targets shown, in that order) and chosen (one of them)
    groups   those of both
    review   and passages (ids and texts of the targets shown), right_passage (the item's own), people (what they chose)

Source: InstructIR (arXiv 2402.14334, section 3.1, step 4; section 3.2; appendices A and B).
"""

import hashlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from toolkit.construction import answer_forms
from toolkit.construction.review.review_forms import digest
from toolkit.construction.review.review_step import CHOSEN, ReviewStep
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import Tools
from toolkit.core.errors import check_counts


@dataclass(frozen=True)
class Fit(Step):
    """Filter one: a judge's score of how relevant the target is to the query (figure 7), whoever asks it.

    above  a score from 1 to 5; targets with a higher one are passed
    """

    name = "fit"
    about = "filter one: how relevant the target is to the query"
    slots: ClassVar = {"prompt": ("query", "document")}
    published: ClassVar = {"prompt": "instructir-figure7"}
    model: str = "judge"
    prompt: str = "build-fit.v2"
    above: int = 3

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The items with their scores."""
        rows = ({"query": item.fields["query"], "document": item.fields["target"]} for item in items)
        read = answer_forms.tagged("Score", answer_forms.number(1, 5))
        for item, score in tools.answered("filtered", self, items, rows, read):
            why = "" if score and score > self.above else f"score not above {self.above}"
            yield item if score is None else item.having(score=score).reject(why)

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """How often each score was given."""
        scores = Counter(item.fields["score"] for item in items if "score" in item.fields)
        return {"score": {str(score): scores[score] for score in range(1, 6)}}


@dataclass(frozen=True)
class Choice(Step):
    """Filter two, asked of all targets: shown those of the query, a judge has to pick the scenario's own.

    seed  of the order in which they are shown, which is another for each scenario
    """

    name = "choice"
    about = "filter two: the judge picks the target among all of the query"
    after = "targets"
    slots: ClassVar = {"prompt": ("query", "scenario", "documents", "count")}
    published: ClassVar = {"prompt": "instructir-figure8"}
    model: str = "judge"
    prompt: str = "build-choice.v1"
    seed: int = 0

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The items with what was shown and chosen."""
        written = {query_of(group[0]): group for group in by_query(items)}
        shown = [self._order(item, written[query_of(item)]) for item in items]
        rows = (self._row(item, order) for item, order in zip(items, shown, strict=True))
        readers = (answer_forms.tagged("Ranking", answer_forms.number(1, len(order))) for order in shown)
        for order, (item, number) in zip(shown, tools.answered("filtered", self, items, rows, readers), strict=True):
            if number is None:
                yield item
                continue
            given = item.having(candidates=[each.id for each in order], chosen=order[number - 1].id)
            yield given.reject("" if given.fields["chosen"] == item.id else "another target was chosen")

    def _order(self, item: Item, group: Sequence[Item]) -> list[Item]:
        order = list(group)
        seeded(f"{self.seed} {item.id}").shuffle(order)
        return order

    @staticmethod
    def _row(item: Item, order: Sequence[Item]) -> dict[str, str]:
        documents = "\n\n".join(f"[{number}] {each.fields['target']}" for number, each in enumerate(order, 1))
        return {**item.only("query", "scenario"), "documents": documents, "count": str(len(order))}


@dataclass(frozen=True)
class Groups(Step):
    """What both filters have passed, of queries that have enough of it.

    smallest  scenarios of a query
    """

    name = "groups"
    about = "what both filters passed, of queries with enough scenarios left"
    counted: ClassVar = ("smallest",)
    reads = ("fit",)
    smallest: int = 6

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The items that filter two has passed, with their scores."""
        scores = {item.id: item.fields["score"] for item in tools.step("fit")}
        made = tools.made("filtered")
        for group in by_query(items):
            is_small = sum(item.id in scores for item in group) < self.smallest
            small = f"fewer than {self.smallest} scenarios of the query are left" if is_small else ""
            for item in group:
                if item.id in scores:
                    yield item.passed(score=scores[item.id]).by(made).reject(small)
                else:
                    yield item.passed().by(made).reject("filter one has not passed it")


@dataclass(frozen=True)
class Review(ReviewStep):
    """The three questions of the paper's evaluation by people (section 3.2, table 7), as a step that decides.

    share      of the queries, rounded up, of which people see
    instances  scenarios each, drawn with the seed
    passages   targets of the query that are shown, the scenario's own among them: three in the paper (appendix B)
    """

    about: ClassVar[str] = "people say whether scenario and target fit"
    form: str = "instructir-quality"
    share: float = 0.08
    fields: dict[str, str] = field(default_factory=lambda: {"instruction": "scenario"})
    instances: int = 2
    passages: int = 3

    def __post_init__(self):
        super().__post_init__()
        check_counts(instances=self.instances, passages=self.passages)

    def prepared(self, items: Sequence[Item]) -> Iterator[Item]:
        """The items; those that were drawn with the targets among which people choose."""
        groups = sorted(by_query(items), key=lambda group: digest([self.seed, query_of(group[0])]))
        seen: dict[str, list[Item]] = {}
        for group in groups[: math.ceil(self.share * len(groups))]:
            drawn = seeded(f"{self.seed} {query_of(group[0])}").sample(group, min(self.instances, len(group)))
            seen |= {item.id: group for item in drawn}
        for item in items:
            others = [each for each in seen.get(item.id, ()) if each is not item]
            if item.id not in seen:
                yield item
            elif not others:
                yield item.passed().reject("no other target of its query to choose from")
            else:
                seeded(f"{self.seed} {item.id}").shuffle(others)
                shown = [{"id": each.id, "text": each.fields["target"]} for each in (item, *others[: self.passages - 1])]
                yield item.having(passages=shown, right_passage=item.id)

    def is_reviewed(self, item: Item) -> bool:
        """Whether people see it: it has the targets to choose from."""
        return "passages" in item.fields and (CHOSEN in item.fields or not item.rejected)


def by_query(items: Sequence[Item]) -> Iterator[list[Item]]:
    """The items of each query, which stand together."""
    return (list(group) for _, group in itertools.groupby(items, key=query_of))


def query_of(item: Item) -> str:
    """The id of the query that an item's scenario is of."""
    return item.id.rpartition("_")[0]


def seeded(text: str) -> random.Random:
    """The same for the same text, on every machine."""
    return random.Random(hashlib.sha256(text.encode()).digest())
