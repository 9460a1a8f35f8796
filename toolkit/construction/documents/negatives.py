"""Documents that a ranking should not confuse with the gold ones, written by a model and filtered by a judge.

Hard negatives (InfoSearch, arXiv 2410.23841, section 2.2) are near the query and do not answer it. Instruction negatives
(Promptriever, arXiv 2409.11136) answer the query and break the instruction: a judge has to say both. Adversarial documents
reuse the query's words and do not answer it. The last two are steps of any kind whose items have a query and an instruction:
`query` and `instruction` name the fields.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from toolkit.construction.answer_forms import read_document, read_verdict
from toolkit.construction.documents.built_benchmark import BREAKING, GOLD, HARD, family, siblings, written_entry
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.construction.tools import BY_RULE, Tools
from toolkit.models.lucene.okapi import stem, stop_words

ANSWERS, DOES_NOT = "it answers the query", "it does not answer the query"
FOLLOWS = "it does what the instruction asks for"
ANSWERS_PROMPT, FOLLOWS_PROMPT = "build-answers-search.v1", "build-follows-instruction.v1"
WRITTEN = "written"  # what ids of documents begin with where items have no core query
Slots = Callable[[Item], Mapping[str, str]]


class Negatives:
    """Documents written for items, which one filter after the other goes over. step: who adds them.

    written  item, and what was written for it, as an item of its own with `document`; rejected, where it is no negative
    """

    def __init__(self, items: Sequence[Item], step: Step, tools: Tools):
        self.items, self.step, self.tools = items, step, tools
        self.written: list[tuple[Item, Item]] = []

    def write(self, model: str, prompt: str, slots: Slots, count: int, *, apart: bool = False) -> None:
        """Ask for `count` documents an item, each with a seed of its own.

        apart  whether the items of one query have documents of their own; else those of one prompt share them
        """
        made = self.tools.made("wrote", model, prompt)
        known: set[tuple[str, str]] = set()
        groups = siblings(self.items).values() if apart else [[item] for item in self.items]
        for number in range(1, count * max(map(len, groups), default=0) + 1):
            place, seed = (number - 1) // count, {"seed": number} if number > 1 else {}
            asked = [group[place] for group in groups if place < len(group)]
            texts = self.tools.parsed(model, prompt, map(slots, asked), read_document, options=seed)
            for item, text in zip(asked, texts, strict=True):
                why = "" if text and (item.id, text) not in known else "the same text as another" if text else UNREADABLE
                fields, name = {"document": text} if text else {}, f"{item.id}.{self.step.name}-{number - place * count}"
                self.written.append((item, Item(name, fields, (item.id,), (made,), why)))
                known.add((item.id, text or ""))

    def judge(self, model: str, prompt: str, slots: Slots, wanted: bool, why: str) -> None:
        """Reject documents of which the judge does not say what is wanted."""
        left = [place for place, (_, document) in enumerate(self.written) if not document.rejected]
        rows = ({**slots(item), **document.fields} for item, document in (self.written[place] for place in left))
        verdicts = self.tools.parsed(model, prompt, rows, read_verdict)
        made = self.tools.made("filtered", model, prompt)
        for place, verdict in zip(left, verdicts, strict=True):
            self._filter(place, made, "" if verdict is wanted else UNREADABLE if verdict is None else why)

    def reject(self, why: str, is_wrong: Callable[[Item, str], bool]) -> None:
        """Reject documents by a rule, which is given the item and the text."""
        for place, (item, document) in enumerate(self.written):
            if not document.rejected:
                self._filter(place, self.tools.made("filtered"), why if is_wrong(item, document.fields["document"]) else "")

    def _filter(self, place: int, made: Mapping[str, str], why: str) -> None:
        item, document = self.written[place]
        self.written[place] = item, document.by(*document.made, made).reject(why)

    def added(self, into: str) -> Iterator[Item]:
        """Each item with its documents in the field `into`, behind it those that were rejected, as items of their own."""
        by_item: dict[str, list[Item]] = {item.id: [] for item in self.items}
        for item, document in self.written:
            by_item[item.id].append(document)
        for item in self.items:
            entries = [self._entry(item, document) for document in by_item[item.id] if not document.rejected]
            made = {str(row): row for document in by_item[item.id] for row in document.made}
            yield item.passed(**{into: [*item.fields.get(into, ()), *entries]}).by(*made.values())
            yield from (document for document in by_item[item.id] if document.rejected)

    def _entry(self, item: Item, document: Item) -> dict[str, Any]:
        entry = written_entry(item.fields.get("core", WRITTEN), document.fields["document"], {}, self.step.name)
        return {**entry, "made": [{**row, "step": self.step.name} for row in document.made]}


@dataclass(frozen=True)
class HardNegatives(Step):
    """The gold documents of a query's other conditions as its instruction negatives, and documents near the query.

    count  documents near the query that are written for each item, of the query alone; 0 asks for none. Three make four
           documents an instruction (table 9)

    A query of which no other condition is left has no instruction negative, and is rejected.
    """

    model: str = "writer"
    judge_model: str = "judge"
    prompt: str = "build-hard-negative.v2"
    answers_prompt: str = ANSWERS_PROMPT
    count: int = 3

    name: ClassVar[str] = "negatives"
    about: ClassVar[str] = "instruction negatives of the other conditions, and hard negatives"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query",), "answers_prompt": ("query", "document")}
    published: ClassVar[Mapping[str, str]] = {"prompt": "infosearch-table8"}
    version: ClassVar[int] = 2

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        groups = siblings(items)
        paired = []
        for item in items:
            own = {document["id"] for document in item.fields[GOLD]}
            others = {document["id"]: document for other in groups[family(item)] for document in other.fields[GOLD]}
            breaking = [document for doc_id, document in others.items() if doc_id not in own]
            done = item.passed(**{BREAKING: breaking})
            if breaking:
                paired.append(done)
            else:
                yield done.by(BY_RULE).reject("no other condition of its query is left")
        negatives = Negatives(paired, self, tools)
        if self.count:
            negatives.write(self.model, self.prompt, _query("query"), self.count, apart=True)
            negatives.judge(self.judge_model, self.answers_prompt, _query("query"), False, ANSWERS)
        yield from negatives.added(HARD)


@dataclass(frozen=True)
class InstructionNegatives(Step):
    """Documents that answer the query and break the instruction; a judge has to say both.

    count               documents an item
    query, instruction  the fields of an item that hold them
    """

    model: str = "writer"
    judge_model: str = "judge"
    prompt: str = "build-instruction-negative.v1"
    answers_prompt: str = ANSWERS_PROMPT
    follows_prompt: str = FOLLOWS_PROMPT
    count: int = 1
    query: str = "query"
    instruction: str = "instruction"

    name: ClassVar[str] = "instruction-negatives"
    about: ClassVar[str] = "documents that answer the query and break the instruction"
    counted: ClassVar[tuple[str, ...]] = ("count",)
    optional: ClassVar[bool] = True
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt": ("query", "instruction"),
        "answers_prompt": ("query", "document"),
        "follows_prompt": ("query", "instruction", "document"),
    }

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        negatives = Negatives(items, self, tools)
        negatives.write(self.model, self.prompt, self._slots, self.count)
        negatives.judge(self.judge_model, self.answers_prompt, _query(self.query), True, DOES_NOT)
        negatives.judge(self.judge_model, self.follows_prompt, self._slots, False, FOLLOWS)
        yield from negatives.added(BREAKING)

    def _slots(self, item: Item) -> dict[str, str]:
        return {"query": item.fields[self.query], "instruction": item.fields[self.instruction]}


@dataclass(frozen=True)
class Adversarial(Step):
    """Documents that reuse the query's words and do not answer it, as a judge says.

    count    documents an item
    overlap  the share of the query's words, by their stems and without stop words, that a document has to have
    query    the field of an item that holds it
    """

    model: str = "writer"
    judge_model: str = "judge"
    prompt: str = "build-adversarial.v1"
    answers_prompt: str = ANSWERS_PROMPT
    count: int = 1
    overlap: float = 0.8
    query: str = "query"

    name: ClassVar[str] = "adversarial"
    about: ClassVar[str] = "documents that reuse the query's words and do not answer it"
    counted: ClassVar[tuple[str, ...]] = ("count",)
    optional: ClassVar[bool] = True
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query",), "answers_prompt": ("query", "document")}

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        negatives = Negatives(items, self, tools)
        negatives.write(self.model, self.prompt, _query(self.query), self.count)
        why = "it has too few words of the query"
        negatives.reject(why, lambda item, text: shared_words(item.fields[self.query], text) < self.overlap)
        negatives.judge(self.judge_model, self.answers_prompt, _query(self.query), False, ANSWERS)
        yield from negatives.added(HARD)


def added_to(item: Item) -> list[Mapping[str, Any]]:
    """The documents that the steps of this module added to an item of a kind without other negatives."""
    return [*item.fields.get(BREAKING, ()), *item.fields.get(HARD, ())]


def shared_words(query: str, text: str) -> float:
    """The share of a query's words that a text has, by their stems and without stop words; 1.0 for a query of stop words."""
    wanted, found = stems(query), stems(text)
    return len(wanted & found) / len(wanted) if wanted else 1.0


def stems(text: str) -> set[str]:
    """Stems of a text's words without stop words."""
    return {stem(word) for word in re.findall(r"\w+", text.casefold()) if word not in stop_words()}


def _query(name: str) -> Slots:
    return lambda item: {"query": item.fields[name]}
