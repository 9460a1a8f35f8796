"""InfoSearch's steps from seeds to instructed queries (arXiv 2410.23841, section 2.2 and appendix A).

What an item holds, beside what `built_benchmark` writes of it:

    demand           what its condition demands, in words
    satisfy, part    how a document comes to meet it
    check, rule      who says whether one does
    otherwise        what is done where a post has not the part
    wording          instruction and reversed instruction, where the dimension has them itself
    rephrased        the query in other words, as the instructed query begins where a model writes it
    documents        ids of the query's documents that its gold documents are made of, or are chosen from
    source           of a manual: the documentation that its post quotes; empty where it quotes none and a model wrote it
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from toolkit.construction.answer_forms import read_instructed_query, read_instruction, read_keywords
from toolkit.construction.documents.built_benchmark import doc_of
from toolkit.construction.queries.dimensions import (
    DIMENSIONS,
    PROPOSED,
    RULE,
    SELECT,
    Condition,
    Dimension,
    fill,
    load_dimensions,
)
from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.construction.tools import Tools
from toolkit.core.documents import Doc
from toolkit.core.system.yaml_json import read_yaml
from toolkit.datasets.own.own_new import entry_of
from toolkit.models.lucene.okapi import stop_words
from toolkit.registry import FOLDER
from toolkit.retrieval.search.rules import understand

SIX = ("audience", "keyword", "format", "language", "length", "source")


@dataclass(frozen=True)
class SeedQueries(Step):
    """Core queries with documents that are relevant to them; ids begin with the dimension where each has seeds of its own.

    queries    how many of each seeds, in the order of the topics; 0 for all
    documents  how many of each query's relevant documents
    """

    queries: int = 0
    documents: int = 5

    name: ClassVar[str] = "seeds"
    about: ClassVar[str] = "core queries with their relevant documents"
    version: ClassVar[int] = 2

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        for group, seeds in (tools.seeds.by_group or {"": tools.seeds}).items():
            chosen = [item.by(tools.made("filtered")) for item in self._chosen(seeds)]
            texts = seeds.texts(sorted({doc_id for item in chosen for doc_id in item.fields["documents"]}))
            prefix, of = (f"{group}-", {"group": group}) if group else ("", {})
            for item in chosen:
                found = [texts[doc_id] for doc_id in item.fields["documents"] if doc_id in texts]
                documents = [entry_of(doc._replace(doc_id=f"{prefix}{doc.doc_id}")) for doc in found]
                filled = replace(item, id=f"{prefix}{item.id}", fields={**item.fields, "documents": documents, **of})
                yield filled if found or item.rejected else filled.reject("no text of its relevant documents")

    def _chosen(self, seeds: Seeds) -> Iterator[Item]:
        """Core queries with the ids of their documents; those that are passed on are counted."""
        relevant = seeds.relevant()
        documents: dict[str, dict[str, None]] = defaultdict(dict)
        texts: dict[str, str] = {}
        for topic in seeds.queries():
            core = topic.group_id or topic.base_id
            texts.setdefault(core, topic.query or topic.text)
            documents[core] |= dict.fromkeys(relevant.get(topic.query_id, ()))
        known: set[str] = set()
        for core, query in texts.items():
            item = Item(core, {"query": query, "documents": list(documents[core])[: self.documents]})
            if self.queries and len(known) == self.queries:
                return
            if query.casefold() in known:
                yield item.reject("the same query as another one")
            elif not documents[core]:
                yield item.reject("no relevant document")
            else:
                known.add(query.casefold())
                yield item


@dataclass(frozen=True)
class Conditions(Step):
    """Each query with each condition of each dimension. Of proposed words those are conditions that one document alone has.

    dimensions  names of the shipped ones, or files of the build's folder, see `toolkit.construction.queries.dimensions`
    words       how many are to be proposed of each document; the first that no other document of the query has is taken
    """

    dimensions: tuple[str, ...] = SIX
    model: str = "writer"
    prompt: str = "build-keywords.v1"
    words: int = 5

    name: ClassVar[str] = "conditions"
    about: ClassVar[str] = "the conditions of the dimensions; keywords proposed and unique"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query", "document", "count")}
    published: ClassVar[Mapping[str, str]] = {"prompt": "infosearch-table3"}
    fixed: ClassVar[Mapping[str, Any]] = {"words": 1}
    version: ClassVar[int] = 2

    def files(self, folder: Path) -> Sequence[Path]:
        """The dimensions."""
        return [own if (own := folder / name).is_file() else DIMENSIONS / f"{name}.yaml" for name in self.dimensions]

    def problems(self, seeds: Seeds, steps: Sequence[Step]) -> Iterable[str]:
        """Dimensions without seeds of their own where others have some, and seeds of no dimension."""
        dimensions = load_dimensions(self.dimensions, seeds.folder) if seeds.by_group else ()
        for dimension in (each for each in dimensions if each.name not in seeds.by_group):
            sources = "; ".join(f"{name}: {taken}" for name, taken in dimension.sources.items())
            yield f"no seeds are named for {dimension.name}" + (f" (InfoSearch took {sources})" if sources else "")
        names = [dimension.name for dimension in dimensions]
        yield from (f"seeds of {group}, which is none of {', '.join(names)}" for group in seeds.by_group if group not in names)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        for dimension in load_dimensions(self.dimensions, tools.folder):
            mine = [item for item in items if item.fields.get("group", dimension.name) == dimension.name]
            if dimension.proposed:
                yield from self._proposed(mine, dimension, tools)
                continue
            for item in mine:
                documents = [document["id"] for document in item.fields["documents"]]
                for number, condition in enumerate(dimension.conditions, 1):
                    yield _with_condition(item, dimension, condition, number, documents)

    def _proposed(self, items: Sequence[Item], dimension: Dimension, tools: Tools) -> Iterator[Item]:
        pairs = [(item, document) for item in items for document in item.fields["documents"]]
        shared = {"count": str(self.words)}
        rows = ({**item.only("query"), "document": doc_of(document).contents, **shared} for item, document in pairs)
        made = tools.made("wrote", self.model, self.prompt), tools.made("filtered")
        answers = tools.parsed(self.model, self.prompt, rows, read_keywords)
        number: dict[str, int] = defaultdict(int)
        for (item, document), words in zip(pairs, answers, strict=True):
            taken = False
            for word in words or [""]:
                number[item.id] += 1
                rejected = UNREADABLE if words is None else "another word is taken" if taken else unfit(word, document, item)
                condition = dimension.condition(word or PROPOSED)
                made_of = _with_condition(item, dimension, condition, number[item.id], [document["id"]]).by(*made)
                taken = taken or not rejected
                yield made_of.reject(rejected) if rejected else made_of


def _with_condition(item: Item, dimension: Dimension, condition: Condition, number: int, documents: Sequence[str]) -> Item:
    """A query with a condition."""
    name = f"{item.id}-{number}" if "group" in item.fields else f"{dimension.name}-{item.id}-{number}"
    fields: dict[str, Any] = {"core": item.id, "query": item.fields["query"], "group": dimension.name}
    fields |= {"condition": condition.name, "demand": condition.demand, "satisfy": condition.satisfy, "part": condition.part}
    fields |= {"check": condition.check, "rule": condition.rule, "otherwise": condition.otherwise, "documents": list(documents)}
    wording = {role: texts[_lot(name, len(texts))] for role, texts in dimension.wordings.items()}
    if wording:
        fields["wording"] = {role: fill(text, condition.name, condition.demand) for role, text in wording.items()}
    return Item(name, fields, (item.id,))


def unfit(word: str, document: Mapping[str, Any], item: Item) -> str:
    """Why a word of a document is no keyword for a query (InfoSearch, section 2.2); empty where it is one."""
    condition = Condition(word, "", SELECT, check=RULE, rule="keyword")
    others = (doc_of(other) for other in item.fields["documents"] if other["id"] != document["id"])
    if all(part in stop_words() for part in word.casefold().split()):
        return "a stop word"
    if condition.fits(Doc("", "", item.fields["query"])):
        return "a word of the query"
    if not condition.fits(doc_of(document)):
        return "not in the document"
    return "in another document of the query" if any(map(condition.fits, others)) else ""


@dataclass(frozen=True)
class Instructions(Step):
    """An instructed query of two sentences for each query and condition: the query in other words, and the instruction.

    styles  in what way to word the instruction, in turn; those of `registry/instruction-styles.yaml` where none are named
    """

    model: str = "writer"
    prompt: str = "build-instruction.v2"
    styles: tuple[str, ...] = ()

    name: ClassVar[str] = "instructions"
    about: ClassVar[str] = "the query in other words, and an instruction, in varied wording"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query", "demand", "style")}
    published: ClassVar[Mapping[str, str]] = {"prompt": "infosearch-table5"}
    fixed: ClassVar[Mapping[str, Any]] = {"styles": ()}
    version: ClassVar[int] = 2

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        styles = self.styles or read_yaml(FOLDER / "instruction-styles.yaml")["styles"]
        asked = [item for item in items if "wording" not in item.fields]
        rows = {item.id: item.only("query", "demand") | {"style": styles[_lot(item.id, len(styles))]} for item in asked}
        yield from _worded(items, rows, self, tools, "instruction")


@dataclass(frozen=True)
class Reversal(Step):
    """The instruction that asks for anything but what the condition demands."""

    model: str = "writer"
    prompt: str = "build-reversal.v2"

    name: ClassVar[str] = "reversal"
    about: ClassVar[str] = "the reversed instruction"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("query", "instruction", "demand")}
    published: ClassVar[Mapping[str, str]] = {"prompt": "infosearch-table7"}

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        rows = {item.id: item.only("query", "instruction", "demand") for item in items if "wording" not in item.fields}
        yield from _worded(items, rows, self, tools, "reversed")


def _worded(
    items: Sequence[Item], rows: Mapping[str, Mapping[str, str]], step: Any, tools: Tools, field: str
) -> Iterator[Item]:
    """The items with an instruction, in `field`: the dimension's own wording, or what the model makes of the item's row: the
    reversed instruction, or the query in other words and the instruction."""
    role, read = ("reversed", read_instruction) if field == "reversed" else ("instructed", read_instructed_query)
    written = tools.made("wrote", step.model, step.prompt) if rows else {}
    texts = dict(zip(rows, tools.parsed(step.model, step.prompt, rows.values(), read), strict=True)) if rows else {}
    for item in items:
        if item.id not in rows:
            yield item.passed(**{field: item.fields["wording"][role]}).by(tools.made("wrote"))
        elif (text := texts[item.id]) is None:
            yield item.passed().by(written).reject(UNREADABLE)
        else:
            said = {"rephrased": text[0], field: text[1]} if isinstance(text, tuple) else {field: text}
            made = item.passed(**said).by(written, tools.made("filtered"))
            yield made.reject(reason) if (reason := misread(made, field)) else made


def misread(item: Item, field: str) -> str:
    """Why a rule that understands an instruction finds that it asks for the wrong thing; empty where none does."""
    fields = item.fields
    if field == "reversed" and fields["reversed"].casefold() == fields["instruction"].casefold():
        return "the reversed instruction is the instruction"
    restriction = understand(fields[field]) if fields["rule"] else None
    asked = restriction and (restriction.kind, restriction.value.casefold())
    if asked != (fields["rule"], fields["condition"].casefold()) or restriction.excluded is (field == "reversed"):
        return ""
    return "the reversed instruction asks for the same" if field == "reversed" else "the instruction asks for the opposite"


def _lot(name: str, count: int) -> int:
    """A number below `count` that the name alone decides."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % count
