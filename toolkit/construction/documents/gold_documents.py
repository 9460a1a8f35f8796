"""The documents that are to meet query and condition (InfoSearch, arXiv 2410.23841, appendix A.2 and A.4), and which do.

Whether one answers its query, and meets its condition and no other one of its query, the paper left to people; here a rule or
a model says it (`Screening`), and people where a dimension wants them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from toolkit.construction.answer_forms import read_document, read_documents, read_verdict
from toolkit.construction.documents.anomalies import ANOMALY
from toolkit.construction.documents.built_benchmark import BREAKING, GOLD, doc_of, family, fits, siblings, written_entry
from toolkit.construction.documents.posts import split_post
from toolkit.construction.queries.dimensions import KEEP, MODEL, PART, PERSON, REWRITE, RULE, SELECT
from toolkit.construction.queries.infosearch_steps import SeedQueries
from toolkit.construction.review.review_step import ReviewStep
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.construction.tools import Tools
from toolkit.core.errors import ToolkitError, three
from toolkit.files.texts.documents import corpus_from_files

# dimension -> its conditions whose documents one request asks for (table 6), and the label of each in the answer
LABELS = {
    "audience": {"layman": "Layman"},
    "length": {"sentence": "Sentence", "article": "Article"},
    "source": {"blog": "Blog", "forum post": "Forum"},
}


@dataclass(frozen=True)
class GoldDocuments(Step):
    """Documents that are to meet query and condition: kept as they were found, rewritten, a part of a post, or chosen.

    A condition with a rule takes the first of the query's documents that meets it as it is, before any is rewritten. What is
    rewritten are the documents that are kept for another condition (the news, the expert's text, the paragraph: appendix A.4).
    Nothing here has a title, which would tell what was found from what was written, but what is chosen.

    prompt            asks for one document of one condition
    audience_prompt, length_prompt, source_prompt   of the dimension of this name, for the documents of all its conditions that
                      are rewritten, in one request; empty: one by one, with `prompt`
    """

    model: str = "writer"
    prompt: str = "build-rewriting.v1"
    audience_prompt: str = "build-rewriting-audience.v1"
    length_prompt: str = "build-rewriting-length.v1"
    source_prompt: str = "build-rewriting-source.v1"

    name: ClassVar[str] = "documents"
    about: ClassVar[str] = "documents kept, rewritten, split or chosen so that they meet the condition"
    reads: ClassVar[tuple[str, ...]] = (SeedQueries.name,)
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt": ("query", "demand", "document"),
        **{f"{dimension}_prompt": ("query", "document") for dimension in LABELS},
    }
    published: ClassVar[Mapping[str, str]] = {f"{each}_prompt": f"infosearch-table6-{each}" for each in LABELS}
    version: ClassVar[int] = 2

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        known = {each["id"]: each for seed in tools.step(SeedQueries.name) for each in seed.fields["documents"]}
        found = {item.id: _found(item, [known[doc_id] for doc_id in item.fields["documents"]]) for item in items}
        asked = [item for item in items if not found[item.id] and REWRITE in (item.fields["satisfy"], item.fields["otherwise"])]
        # of each query in each dimension what is rewritten: the document that another condition keeps, else its first one
        origins = {family(item): doc_of(known[item.fields["documents"][0]]).contents for item in reversed(items)}
        kept = [item for item in items if item.fields["satisfy"] in (KEEP, PART) and found[item.id]]
        origins |= {family(item): found[item.id][0]["text"] for item in reversed(kept)}
        written = self._written(asked, origins, tools)
        for item in items:
            satisfy, part, taken = item.fields["satisfy"], item.fields["part"], found[item.id]
            text, made = written.get(item.id, ("", tools.made("filtered" if satisfy == SELECT else "wrote")))
            texts = [text] if text else [each["text"] for each in taken]
            gold = taken if satisfy == SELECT else [written_entry(item.fields["core"], one, made, self.name) for one in texts]
            source = {"source": taken[0]["source"] if taken else ""} if part == "manual" else {}
            done = item.passed(**({GOLD: gold, **source} if gold else {})).by(made)
            yield done if gold else done.reject(UNREADABLE if item.id in written else f"no {part} in the post")

    def _written(
        self, asked: Sequence[Item], origins: Mapping[tuple[str, str], str], tools: Tools
    ) -> dict[str, tuple[str | None, Mapping[str, str]]]:
        """Item -> the text that the model wrote for it, None where its answer cannot be read; and who wrote it."""
        written: dict[str, tuple[str | None, Mapping[str, str]]] = {}
        requests: dict[str, dict[Any, list[Item]]] = defaultdict(lambda: defaultdict(list))
        for item in asked:
            together = f"{item.fields['group']}_prompt" if _label(item) else ""
            alone = not together or not getattr(self, together)
            requests["prompt" if alone else together][item.id if alone else family(item)].append(item)
        for parameter, groups in requests.items():
            prompt, slots = getattr(self, parameter), self.slots[parameter][:-1]
            labels = LABELS.get(parameter.removesuffix("_prompt"), {}).values()
            firsts = [group[0] for group in groups.values()]
            rows = (item.only(*slots) | {"document": origins[family(item)]} for item in firsts)
            read: Callable[[str], Any] = read_documents(*labels) if labels else read_document
            made = tools.made("wrote", self.model, prompt)
            for group, answer in zip(groups.values(), tools.parsed(self.model, prompt, rows, read), strict=True):
                for item in group:
                    written[item.id] = answer[_label(item)] if isinstance(answer, dict) else answer, made
        return written


def _label(item: Item) -> str:
    return LABELS.get(item.fields["group"], {}).get(item.fields["condition"], "")


def _found(item: Item, documents: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The documents of an item's query that need not be written: all that may be chosen, or what meets its condition."""
    satisfy, part = item.fields["satisfy"], item.fields["part"]
    if satisfy == SELECT:
        return documents
    if satisfy == PART:
        posts = [split_post(doc_of(document).contents) for document in documents]
        post = next((one for one in posts if one.code), posts[0])  # all parts are of one post
        return [{"text": text, "source": post.source}] if (text := getattr(post, part)) else []
    chosen: Sequence[Mapping[str, Any]] = [document for document in documents if fits(item, document)][:1]
    if satisfy == KEEP and not chosen:  # without a rule `screening` keeps the first that meets the condition
        chosen = documents[:1] if item.fields["rule"] else documents
    return [{"text": doc_of(document).contents} for document in chosen]


NOT_MET = "does not meet its condition"
BOTH_MET = "meets another condition of its query, too"


@dataclass(frozen=True)
class Screening(Step):
    """Keeps gold documents that answer the query, meet their condition, and meet no other condition of their query.

    A dimension says who checks its conditions: a rule or the model here, people in the step `review`.

    answers_prompt  whether what a model wrote still answers the query; `` does not ask
    others          whether the model is asked about the other conditions, too; rules always are
    """

    model: str = "judge"
    prompt: str = "build-is-kind.v1"
    answers_prompt: str = "build-answers-search.v1"
    others: bool = True

    name: ClassVar[str] = "screening"
    about: ClassVar[str] = "gold documents that answer the query and meet their condition alone"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("demand", "document"), "answers_prompt": ("query", "document")}

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        screened = Screened(items, tools)
        screened.by_rules()
        if self.answers_prompt:
            written = [pair for pair in screened.left() if any(row["by"] != "rule" for row in pair.document.get("made", ()))]
            questions = [(pair, {"query": pair.item.fields["query"]}) for pair in written]
            screened.ask(self.model, self.answers_prompt, questions, True, "does not answer the query")
        questions = [(pair, {"demand": pair.item.fields["demand"]}) for pair in screened.left(MODEL)]
        screened.ask(self.model, self.prompt, questions, True, NOT_MET)
        if self.others:
            judged = [(pair, other) for pair in screened.left(MODEL) for other in screened.others(pair.item)]
            questions = [(pair, {"demand": other.fields["demand"]}) for pair, other in judged if other.fields["check"] == MODEL]
            screened.ask(self.model, self.prompt, questions, False, BOTH_MET)
        yield from screened.items()


class Pair(NamedTuple):
    """A gold document of an item."""

    item: Item
    document: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.item.id, self.document["id"]


class Screened:
    """Gold documents that one check after the other goes over; of what one rejects, the next is not asked."""

    def __init__(self, given: Sequence[Item], tools: Tools):
        self.given, self.tools = given, tools
        self.why: dict[tuple[str, str], str] = {}
        self.made: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        self.siblings = siblings(given)

    def left(self, check: str = "") -> list[Pair]:
        """The gold documents that no check has rejected; of one kind of check."""
        chosen = [item for item in self.given if check in ("", item.fields["check"])]
        pairs = [Pair(item, document) for item in chosen for document in item.fields[GOLD]]
        return [pair for pair in pairs if pair.key not in self.why]

    def others(self, item: Item) -> list[Item]:
        """The items of the query's other conditions."""
        return [other for other in self.siblings[family(item)] if other.id != item.id]

    def by_rules(self) -> None:
        """Reject what a rule finds not to meet its condition, or to meet another one of its query."""
        for pair in self.left(RULE):
            if not fits(pair.item, pair.document):
                self.why[pair.key] = NOT_MET
            elif any(fits(other, pair.document) for other in self.others(pair.item)):
                self.why[pair.key] = BOTH_MET
            self._count(pair.item, self.tools.made("filtered"))

    def ask(self, model: str, prompt: str, questions: Sequence[tuple[Pair, Mapping[str, str]]], wanted: bool, why: str) -> None:
        """Reject documents of which the model does not say what is wanted. questions: a document, and the slots beside it."""
        if not questions:
            return
        rows = ({**slots, "document": doc_of(pair.document).contents} for pair, slots in questions)
        made = self.tools.made("filtered", model, prompt)
        for (pair, _), verdict in zip(questions, self.tools.parsed(model, prompt, rows, read_verdict), strict=True):
            self._count(pair.item, made)
            if verdict is not wanted:
                self.why.setdefault(pair.key, UNREADABLE if verdict is None else why)

    def items(self) -> Iterator[Item]:
        """The items with what is left of their documents."""
        for item in self.given:
            left = [document for document in item.fields[GOLD] if Pair(item, document).key not in self.why]
            left = left[:1] if item.fields["satisfy"] == KEEP else left  # the first that meets the condition
            done = item.passed(**{GOLD: left or item.fields[GOLD]}).by(*self.made[item.id])
            yield done if left else done.reject(self.why[Pair(item, item.fields[GOLD][0]).key])

    def _count(self, item: Item, made: Mapping[str, str]) -> None:
        if made not in self.made[item.id]:
            self.made[item.id].append(made)


@dataclass(frozen=True)
class ScreeningByPeople(ReviewStep):
    """People look at anomalies, and at queries whose dimension has its conditions checked by people (`check: person`).

    others        whether they look at the other queries, too, or at a `share` of them
    replacements  a file of the build's folder with gold documents that people found instead of others: JSON lines with the
                  `id` of the item and `text`; reviewers see these, too

    What waits or is rejected leaves the negatives of others: nobody knows whether it answers the query.
    """

    form: str = "infosearch-screening"
    others: bool = False
    replacements: str = "replacements.jsonl"

    about: ClassVar[str] = "people screen anomalies and what the dimensions leave to them, and replace documents"
    optional: ClassVar[bool] = False
    version: ClassVar[int] = 2

    def files(self, folder: Path) -> Sequence[Path]:
        """The form, the answers and the replacements."""
        return *super().files(folder), folder / self.replacements

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        done = list(super().run(self._replaced(items, tools.folder / self.replacements), tools))
        lost = {document["id"] for item in done if not item.is_passed for document in item.fields[GOLD]}
        waiting = {family(item) for item in done if item.waiting}
        for item in done:
            if item.is_passed:
                breaking = [document for document in item.fields[BREAKING] if document["id"] not in lost]
                item = replace(item.having(**{BREAKING: breaking}), waiting=not breaking and family(item) in waiting)
                item = item if breaking or item.waiting else item.reject("no instruction negative is left")
            yield item

    def _replaced(self, items: Sequence[Item], path: Path) -> list[Item]:
        """The items, with what people found as the only gold document. ToolkitError for no file, no text, an unknown item."""
        if path.is_dir():
            raise ToolkitError(f"{path} is a folder", "replacements are JSON lines with id and text, in one file")
        found = {doc.doc_id: doc for doc in corpus_from_files(path).documents()} if path.exists() else {}
        if blank := sorted(name for name, doc in found.items() if not doc.contents.strip()):
            raise ToolkitError(f"{path}: no text for {three(blank)}", "write the document, or leave the line out")
        known = {item.id: item for item in items}
        if unknown := sorted(found.keys() - known.keys()):
            hint = "an id is that of an item which reaches this step: `tandem build show`"
            raise ToolkitError(f"{path}: no item {three(unknown)}", hint)
        made = {"role": "wrote", "by": PERSON}
        new = {name: written_entry(known[name].fields["core"], doc.contents, made, self.name) for name, doc in found.items()}
        old = {document["id"]: new[name] for name in new for document in known[name].fields[GOLD]}
        done = []
        for item in items:
            breaking = {(now := old.get(each["id"], each))["id"]: now for each in item.fields[BREAKING]}
            gold = {GOLD: [new[item.id]], ANOMALY: "its document was replaced"} if item.id in new else {}
            done.append(item.having(**{BREAKING: [*breaking.values()], **gold}))
        return done

    def prepared(self, items: Sequence[Item]) -> Iterator[Item]:
        """The items with the text of their first gold document."""
        for item in items:
            yield item.having(document=doc_of(item.fields[GOLD][0]).contents)

    def is_reviewed(self, item: Item) -> bool:
        """Whether it is an anomaly or was one, its dimension leaves it to people, or they look at others and it is drawn."""
        return item.fields["check"] == PERSON or ANOMALY in item.fields or (self.others and super().is_reviewed(item))
