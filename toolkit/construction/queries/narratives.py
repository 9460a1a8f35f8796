"""FollowIR's steps: narratives of topics become narrower, so that about half of the relevant documents fall.

Items, by step:

    topics      query, narrative, published (its id as published), group, corpus (the seeds' group with its documents),
                relevant (document -> label, above 0), others (document -> label)
    edits       and topic (its id), changed (the whole narrative, narrowed), edit (its sentences that the narrative has not):
                `<topic>/<n>`, n from 1
    rejudge     topic, query, narrative, changed, edit_id, doc_id, document (its text), relevant (whether it still is):
                `<topic>/<n>/<document>`
    choose      those of the edit, fell (documents no longer relevant), share (of the relevant ones, that fell); an edit
                that is chosen has the topic's id, others keep theirs
    translate   and language, in another group (`kinds.followir`); what people write of it has `people`
    candidates  and candidates (documents to rerank)

Source: FollowIR (arXiv 2403.15246, section 3) and mFollowIR (arXiv 2501.19264, section 3.1), where people who had read all
relevant documents changed narratives and judged; here a model does, and people may judge (`review`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import ClassVar

from toolkit import registry
from toolkit.construction import answer_forms
from toolkit.construction.documents.candidate_pools import check_pool, pooled, searched
from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.review.review_step import ReviewStep, said_of
from toolkit.construction.steps import Item, Step, by_fields
from toolkit.construction.tools import BY_RULE, Tools
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.files.texts.topics import read_narratives
from toolkit.models.lucene.language_id import script

CROSS_LINGUAL = "cross-lingual/"  # groups whose topics are in another language than their documents
LEXICAL = {"bm25", "bm25-fields", "okapi", "impact"}  # kinds of systems that find words of one language alone
WORDS = re.compile(r"[^\W\u3040-\u9fff]+|[\u3040-\u9fff]")  # Chinese and Japanese by the character
SENTENCE_END = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])")
MOST_CHANGED = 0.5  # of the words of a narrative and of the narrowed one: ours, the paper's changes are called small
YES, NO = "Yes", "No"
STILL = "relevant"  # the question of the form by which people judge again; a pair's own label has the same name


@dataclass(frozen=True)
class Topics(Step):
    """Topics with a narrative and enough relevant documents.

    least     relevant documents that a topic needs
    most      that it may have: each is judged again once for each edit
    language  of the documents, as in `fa`, where the seeds do not say it: systems search by it
    """

    name: ClassVar[str] = "topics"
    about: ClassVar[str] = "topics with a narrative and enough relevant documents"
    counted: ClassVar[tuple[str, ...]] = ("least", "most")
    least: int = 4
    most: int = 200
    language: str = ""

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a topic, under its id without mode."""
        seeds = tools.seeds
        labels: dict[str, dict[str, int]] = {}
        for row in seeds.qrels:
            labels.setdefault(row.query_id, {})[row.doc_id] = row.relevance
        groups = {topic.query_id: part.group for part in seeds.topic_set.parts for topic in part.topics}
        narratives: dict[str, str] = {}  # those that topics have beside their instruction: of TREC files and of ir_datasets
        for path in seeds.paths("topics"):
            narratives |= read_narratives(path)
        read = getattr(seeds.topic_set.benchmark, "narratives", None)
        narratives |= read() if read else {}
        for topic in seeds.queries():
            name, judged = topic.query_id, labels.get(topic.query_id, {})
            fields = {
                "query": nfc(topic.query or topic.text).strip(),
                "narrative": nfc(topic.instruction or narratives.get(name, "")).strip(),
                "published": published_id(topic),
                "group": groups[name],
                "corpus": groups[name],
                "relevant": {doc_id: label for doc_id, label in judged.items() if label > 0},
                "others": {doc_id: label for doc_id, label in judged.items() if label <= 0},
            }
            item = Item(topic.base_id, fields)
            yield item.reject(self._why_not(item))

    def _why_not(self, item: Item) -> str:
        count = len(item.fields["relevant"])
        if not item.fields["narrative"]:
            return "no narrative"
        if count < self.least:
            return f"fewer than {self.least} relevant documents"
        return f"more than {self.most} relevant documents" if count > self.most else ""


def published_id(topic: Topic) -> str:
    """The id of a topic as published, without its mode; its own where nothing else was published."""
    return topic.original_id.removesuffix(f"-{topic.mode}") if topic.original_id else topic.base_id


@dataclass(frozen=True)
class Edits(Step):
    """Narratives, each narrowed by a small change inside it or at its end, by a model that sees all relevant documents.

    count         changed narratives of each topic, written in one answer
    characters    of all relevant documents together: each is shown with an equal part of them
    most_changed  the share of words, of both narratives, that may differ; 1 for any
    """

    name: ClassVar[str] = "edits"
    about: ClassVar[str] = "narratives that are narrowed by a small change"
    counted: ClassVar[tuple[str, ...]] = ("count", "characters")
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query", "narrative", "documents", "count")}
    model: str = "writer"
    prompt: str = "build-followir-edits.v2"
    count: int = 3
    characters: int = 60_000
    most_changed: float = MOST_CHANGED

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a changed narrative; one with the topic's own id where the answer cannot be read."""
        texts = tools.seeds.texts([doc_id for item in items for doc_id in item.fields["relevant"]])
        rows = (self._row(item, texts) for item in items)
        for item, narratives in tools.answered("wrote", self, items, rows, answer_forms.texts(self.count)):
            if narratives is None:
                yield item
            for number, changed in enumerate(narratives or (), 1):
                fields = {**item.fields, "topic": item.id, **narrowed(item.fields["narrative"], changed)}
                why = not_narrowed(item.fields["narrative"], fields["changed"], self.most_changed)
                yield Item(f"{item.id}/{number}", fields, (item.id,), item.made).reject(why)

    def _row(self, item: Item, texts: Mapping[str, Doc]) -> dict[str, str]:
        documents = [texts[doc_id].contents for doc_id in item.fields["relevant"] if doc_id in texts]
        part = self.characters // max(len(documents), 1)
        shown = "\n\n".join(f"[{number}] {text[:part]}" for number, text in enumerate(documents, 1))
        return {**item.only("query", "narrative"), "documents": shown, "count": str(self.count)}


def narrowed(narrative: str, changed: str) -> dict[str, str]:
    """The fields of a narrowed narrative: `changed`, and `edit`, its sentences that the other does not have."""
    changed = nfc(changed).strip()
    before = set(SENTENCE_END.split(" ".join(narrative.split())))
    return {"changed": changed, "edit": " ".join(each for each in SENTENCE_END.split(changed) if each not in before)}


def not_narrowed(narrative: str, changed: str, most: float = MOST_CHANGED) -> str:
    """Why a text cannot be the narrative with a small change; empty where it may. most: share of the words that may differ."""
    before, after = (WORDS.findall(text.casefold()) for text in (narrative, changed))
    if script(changed) != script(narrative):
        return "not in the script of the narrative"
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) == len(after):
        return "it says nothing that the narrative does not"
    return f"more than {most:g} of the narrative differs" if 1 - matcher.ratio() > most else ""


@dataclass(frozen=True)
class Rejudge(Step):
    """Every relevant document, judged again with the narrower narrative. No other can be relevant: a change only restricts.

    model       "" asks none: people judge (`review`)
    characters  of a document that are shown
    """

    name: ClassVar[str] = "rejudge"
    about: ClassVar[str] = "relevant documents judged again"
    counted: ClassVar[tuple[str, ...]] = ("characters",)
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query", "narrative", "changed", "document")}
    model: str = "judge"
    prompt: str = "build-followir-judge.v2"
    characters: int = 6000

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a relevant document of each edit."""
        texts = tools.seeds.texts(list(dict.fromkeys(doc_id for item in items for doc_id in item.fields["relevant"])))
        pairs = [self._pair(item, doc_id, texts) for item in items for doc_id in item.fields["relevant"]]
        readable = [pair for pair in pairs if not pair.rejected]
        rows = (pair.only(*self.slots["prompt"]) for pair in readable)
        verdicts = tools.answered("judged", self, readable, rows, answer_forms.choice(YES, NO)) if self.model else iter(())
        for pair in pairs:
            if pair.rejected or not self.model:
                yield pair
                continue
            judged, verdict = next(verdicts)
            judged = replace(judged, sources=pair.sources)
            yield judged if verdict is None else judged.having(**{STILL: verdict == YES})

    def _pair(self, edit: Item, doc_id: str, texts: Mapping[str, Doc]) -> Item:
        fields = edit.only("topic", "query", "narrative", "changed") | {"edit_id": edit.id}
        document = texts[doc_id].contents[: self.characters] if doc_id in texts else ""
        item = Item(f"{edit.id}/{doc_id}", {**fields, "doc_id": doc_id, "document": document}, (edit.id,))
        return item.reject("" if document.strip() else "no text of the document")


@dataclass(frozen=True)
class Review(ReviewStep):
    """People judge the same pairs: what the majority says counts, whatever the model said."""

    about: ClassVar[str] = "people judge the relevant documents again"
    form: str = "followir-relevance"


@dataclass(frozen=True)
class Choose(Step):
    """Of each topic the edit with which the share of relevant documents that fall is nearest to `target`.

    min, max  shares, above 0 and below 1, outside of which an edit is rejected
    """

    name: ClassVar[str] = "choose"
    about: ClassVar[str] = "the edit with which the share that falls is nearest to the target"
    reads: ClassVar[tuple[str, ...]] = ("edits",)
    min: float = 0.25
    max: float = 0.75
    target: float = 0.5

    def __post_init__(self):
        if not 0 < self.min <= self.target <= self.max < 1:
            message = f"step choose: min {self.min}, target {self.target}, max {self.max} are no shares in this order"
            raise ToolkitError(message, "shares above 0 and below 1: something has to fall, and something to stay")

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item an edit, with the share that falls; at most one of each topic is passed on."""
        judged = by_fields(items, "edit_id")
        edits = [self._weighed(edit, judged.get(edit.id, [])) for edit in tools.step("edits")]
        # of equally near ones the first; rounded, for 0.3 and 0.7 are equally far from 0.5
        fit = (edit for edit in edits if not edit.rejected)
        nearest = sorted(fit, key=lambda edit: round(abs(edit.fields["share"] - self.target), 4))
        best = {edit.fields["topic"]: edit.id for edit in reversed(nearest)}
        for edit in edits:
            if edit.rejected:
                yield edit
            elif best[edit.fields["topic"]] == edit.id:
                yield replace(edit, id=edit.fields["topic"])
            else:
                yield edit.reject("another edit of its topic is nearer to the target")

    def _weighed(self, edit: Item, pairs: Sequence[Item]) -> Item:
        """The edit with what falls; rejected where that is too little, too much or unknown."""
        labels = {pair.fields["doc_id"]: said_of(pair, STILL) for pair in pairs}
        item = Item(edit.id, edit.fields, (edit.id, *(pair.id for pair in pairs)), (BY_RULE,))
        if any(labels.get(doc_id) is None for doc_id in edit.fields["relevant"]):
            return item.reject("a relevant document has no judgment")
        fell = [doc_id for doc_id in edit.fields["relevant"] if not labels[doc_id]]
        share = len(fell) / len(edit.fields["relevant"])
        why = f"the share that falls is below {self.min:g}" if share < self.min else ""
        why = f"the share that falls is above {self.max:g}" if share > self.max else why
        return item.having(fell=fell, share=round(share, 4)).reject(why)

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """How many edits have which share, in tenths."""
        tenths = Counter(int(item.fields["share"] * 10) for item in items if "share" in item.fields)
        return {"share": {f"{tenth / 10:.1f}": tenths[tenth] for tenth in range(11)}}


@dataclass(frozen=True)
class Candidates(Step):
    """Documents to rerank, pooled from runs. A topic and its translations share them; relevant ones are always among them.

    systems  of the registry, which search the narratives as they were, in all languages that there are
    runs     files of runs in the build's folder, under the topics' ids
    size     documents of each pool
    """

    name: ClassVar[str] = "candidates"
    about: ClassVar[str] = "documents to rerank, pooled from runs of several systems"
    systems: tuple[str, ...] = ("bm25",)
    runs: tuple[str, ...] = ()
    size: int = 1000

    def __post_init__(self):
        check_pool(self.name, self.systems, self.runs, size=self.size)

    def problems(self, seeds: Seeds, steps: Sequence[Step]) -> Iterator[str]:
        """Topics in another language than their documents, for which nothing but words of their own is searched."""
        to = next((step.parameters()["to"] for step in steps if step.name == "translate"), {})
        across = [group for group in seeds.groups() if group.startswith(CROSS_LINGUAL)]
        lacking = [group for group in across if group.removeprefix(CROSS_LINGUAL) not in to]
        kinds = {registry.systems()[name].kind if name in registry.systems() else "" for name in self.systems}
        if lacking and not self.runs and kinds <= LEXICAL:
            finds = f"{', '.join(self.systems)} finds words of one language, and topics of {', '.join(lacking)} are in another"
            yield f"{finds} than their documents: name a multilingual system, files of runs, or the step translate"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The topics with their candidates."""
        topics: dict[str, list[Topic]] = {}
        for item in items:
            query, narrative = item.fields["query"], item.fields["narrative"]
            topic = Topic(item.id, f"{query} {narrative}", query, narrative)
            topics.setdefault(item.fields["corpus"], []).append(topic)
        runs = searched(topics, tools, self.systems, self.files(tools.folder), self.size)
        pools = pooled(runs, {item.id: item.fields["topic"] for item in items}, self.size)
        of_topic = {item.fields["topic"]: item.fields["relevant"] for item in items}
        missed = [topic for topic, relevant in of_topic.items() if set(pools.get(topic, ())) <= set(relevant)]
        if missed and len(missed) == len(of_topic):
            raise ToolkitError(
                f"step {self.name}: nothing but relevant documents was pooled of {len(missed):,} topics: any order is ideal",
                "name systems that search the documents' language with the topics' (multilingual ones), or files of runs",
            )
        for item in items:
            found = dict.fromkeys([*pools.get(item.fields["topic"], ()), *item.fields["relevant"]])
            why = "nothing but relevant documents was pooled" if item.fields["topic"] in missed else ""
            yield item.passed(candidates=list(found)).by(tools.made("filtered")).reject(why)


def nfc(text: str) -> str:
    """The text in Unicode's normal form C, in which equal texts are equal bytes; nothing that is read is lost."""
    return unicodedata.normalize("NFC", text)
