"""Facets: a benchmark of documents that people have tagged, without a language model.

Items, by step:

    documents   title, text, tags (`facet::value`): a document that has tags and a text, under its id
    topics      facet, tags (one or two of topical facets), query (the text), relevant (ids; of rejected ones how many), met
                (value -> ids of those that have it), ways (value -> ways to say it): `<facet> <tag> <tag>`
    queries     facet, value, tags, query, relevant, met (ids of the gold documents), instructed, reversed (instructions):
                `<facet>-<n>`, n from 001

The seeds are `tagged` (JSON lines with id, title, text and tags) and `vocabulary` (YAML: tag -> its name), without which a tag
is called by its own words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from toolkit.construction.documents.built_benchmark import doc_of, write_benchmark
from toolkit.construction.kinds import template
from toolkit.construction.queries.facet_queries import CoreQuery, Limits, chosen, core_queries, instruction, judged
from toolkit.construction.step_files import BuiltSteps
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import PERSON, Tools
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.core.system.yaml_json import decode_yaml, read_yaml
from toolkit.datasets.own.own_new import Content
from toolkit.files.texts.lines import json_rows, read_bytes, text_lines

SEED_FILES = ("tagged", "vocabulary")
MODES = {"base": BASE, "with": INSTRUCTED, "without": REVERSED}
MEASURES = ("nDCG@10", "pMRR", "WISE@20")
TAGGED = 'a line is: {"id": "d1", "title": "...", "text": "...", "tags": ["facet::value"]}'


@cache
def defaults() -> Mapping[str, Any]:
    """The parameters of each step as `build new` writes them."""
    return decode_yaml(template("facets"))["steps"]


def tagged_rows(path: Path) -> Iterator[dict[str, Any]]:
    """id, title, text and tags of each line. ToolkitError with every line that is wrong."""
    problems: list[str] = []
    yield from json_rows(text_lines(read_bytes(path), str(path)), _tagged, problems)
    if problems:
        raise ToolkitError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)}", TAGGED, problems=problems)


def _tagged(row: Any) -> dict[str, Any]:
    row = {"title": "", **row} if isinstance(row, dict) else {}
    tags = row.get("tags") if all(isinstance(row.get(name), str) for name in ("id", "title", "text")) else None
    if not isinstance(tags, list) or not all(isinstance(tag, str) and "::" in tag for tag in tags):
        raise ValueError("expected id, text and tags")
    return row


@dataclass(frozen=True)
class Documents(Step):
    """The documents that have tags and a text; of those with the same title and text the first by id."""

    name: ClassVar[str] = "documents"
    about: ClassVar[str] = "documents with tags and a text, each text once"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """Fields: title, text, tags."""
        seen: set[tuple[str, str]] = set()
        rows = (row for path in tools.seeds.paths("tagged") for row in tagged_rows(path))
        for row in sorted(rows, key=lambda row: row["id"]):
            content = {"title": row["title"], "text": row["text"], "tags": row["tags"]}
            is_known = (row["title"], row["text"]) in seen
            wrong = {"no tags": not row["tags"], "no text": not row["text"], "the same title and text as another": is_known}
            if why := next((why for why, is_so in wrong.items() if is_so), ""):
                yield Item(row["id"], {"title": row["title"], "tags": row["tags"]}, rejected=why)
            else:
                seen.add((row["title"], row["text"]))
                yield Item(row["id"], content, made=({"role": "judged", "by": PERSON},))


@dataclass(frozen=True)
class Topics(Step):
    """Every topic among the documents that are judged on a facet.

    least, most  see `facet_queries.Limits`
    wordings     topical facet -> how a tag is put in a query: a text with {name}
    conditions   facet -> value -> ways to say it
    """

    name: ClassVar[str] = "topics"
    about: ClassVar[str] = "one tag, or two of different facets, with enough documents on both sides of a condition"

    least: int = 4
    most: int = 100
    wordings: dict[str, str] = field(default_factory=lambda: defaults()["topics"]["wordings"])
    conditions: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaults()["topics"]["conditions"])

    def __post_init__(self) -> None:
        problems = list(_wrong_wordings("wordings", self.wordings, "{name}"))
        if not 1 <= self.least <= self.most:
            problems.append(f"least is {self.least}, most is {self.most}: expected 1 <= least <= most")
        for facet, values in self.conditions.items():
            if facet in self.wordings:
                problems.append(f"conditions: {facet} is a facet of topics, too")
            problems += (f"conditions: {facet}: {value}: no way to say it" for value, ways in values.items() if not ways)
        _refuse("topics", problems)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """Fields: facet, tags, query (the text), relevant (ids), met (value -> ids), ways (value -> ways to say it)."""
        docs = {item.id: item.fields["tags"] for item in items}
        names: dict[str, str] = {}  # of tags
        for path in tools.seeds.paths("vocabulary"):
            read = read_yaml(path)
            if not isinstance(read, dict) or not all(isinstance(text, str) for row in read.items() for text in row):
                raise ToolkitError(f"{path} is no vocabulary", "it has a line for each tag: facet::value, a colon, its name")
            names |= read
        limits = Limits(self.least, self.most)
        for facet in self.conditions:
            for query in core_queries(docs, facet, self.conditions, self.wordings, names, limits):
                fields: dict[str, Any] = {"facet": query.facet, "tags": list(query.tags), "query": query.text}
                name = " ".join((query.facet, *query.tags))
                if query.rejected:
                    yield Item(name, {**fields, "relevant": len(query.relevant)}, rejected=query.rejected)
                    continue
                ways = {value: list(self.conditions[query.facet][value]) for value in query.met}
                fields |= {"relevant": list(query.relevant), "met": {value: list(ids) for value, ids in query.met.items()}}
                yield Item(name, {**fields, "ways": ways}, made=(tools.made("wrote"),))


@dataclass(frozen=True)
class Queries(Step):
    """Topics with a condition, an instruction and its reverse.

    count                of each facet, where there are so many
    overlap              see `facet_queries.Limits`
    seed                 what topics, conditions and wordings are drawn by
    instructed, reversed  frames with {condition}
    """

    name: ClassVar[str] = "queries"
    about: ClassVar[str] = "a topic, a value of the facet, and an instruction in two modes"

    count: int = 100
    overlap: float = 0.75
    seed: int = 1
    instructed: tuple[str, ...] = field(default_factory=lambda: tuple(defaults()["queries"]["instructed"]))
    reversed: tuple[str, ...] = field(default_factory=lambda: tuple(defaults()["queries"]["reversed"]))

    def __post_init__(self) -> None:
        problems = []
        for name in ("instructed", "reversed"):
            problems += _wrong_wordings(name, dict(enumerate(getattr(self, name), 1)), "{condition}")
        if self.count < 1:
            problems.append(f"count is {self.count}: expected 1 or more")
        if not 0 < self.overlap <= 1:
            problems.append(f"overlap is {self.overlap}: expected more than 0, up to 1")
        _refuse("queries", problems)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """Fields: facet, value, tags, query, relevant, met (ids of gold documents), instructed, reversed (instructions)."""
        candidates: dict[str, list[CoreQuery]] = {}
        ways = {}
        for item in items:
            given = item.fields
            met = {value: tuple(ids) for value, ids in given["met"].items()}
            core = CoreQuery(given["facet"], tuple(given["tags"]), given["query"], tuple(given["relevant"]), met)
            candidates.setdefault(core.facet, []).append(core)
            ways[core.facet, core.tags] = item
        numbers = dict.fromkeys(candidates, 0)
        drawn = set()
        for query in chosen(candidates, self.count, Limits(overlap=self.overlap), self.seed):
            facet = query.core.facet
            numbers[facet] += 1
            source = ways[facet, query.core.tags]
            drawn.add(source.id)
            name = f"{facet}-{numbers[facet]:03}"
            fields = source.only("facet", "tags", "query", "relevant") | {"value": query.value, "met": list(query.met)}
            for mode in ("instructed", "reversed"):
                fields[mode] = instruction(source.fields["ways"][query.value], getattr(self, mode), self.seed, name, mode)
            yield Item(name, fields, (source.id,), (tools.made("wrote"),))
        yield from (item.reject("not drawn") for item in items if item.id not in drawn)


def _wrong_wordings(name: str, wordings: Mapping[Any, str], slot: str) -> Iterator[str]:
    """What is wrong with texts that need a slot."""
    if not wordings:
        yield f"{name}: expected texts with {slot}"
    for key, wording in wordings.items():
        if wording.count("{") != 1 or slot not in wording:
            yield f"{name}: {key}: expected a text with {slot}: {wording!r}"


def _refuse(step: str, problems: Sequence[str]) -> None:
    if problems:
        raise ToolkitError(f"step {step}: {problems[0]}", "`tandem build new facets DIR` writes an example", problems=problems)


STEPS = (Documents, Topics, Queries)


def benchmark(build: BuiltSteps, to: Path) -> None:
    """A group for each facet of conditions, with the documents that are judged on it and on any topic as its corpus."""
    docs, queries = {item.id: item for item in build.passed("documents")}, build.passed("queries")
    wordings = next(step.wordings for step in build.config.steps if isinstance(step, Topics))
    tags = {doc_id: item.fields["tags"] for doc_id, item in docs.items()}
    facets = dict.fromkeys(item.fields["facet"] for item in queries)
    corpora = {facet: judged(tags, facet, wordings) for facet in facets}
    rows: list[dict[str, Any]] = []
    qrels: dict[str, list[tuple[str, str, str, str]]] = {mode: [] for mode in MODES}
    for item in queries:
        given, met = item.fields, set(item.fields["met"])
        instructions = {mode: given[role] for mode, role in MODES.items() if role != BASE}
        row = {"id": item.id, "query": given["query"], "instructions": instructions}
        rows.append({**row, "group": given["facet"], "condition": f"{given['facet']}::{given['value']}"})
        # in base mode all are relevant, instructed those that meet the condition, reversed the others
        for mode, role in MODES.items():
            relevant = {doc_id: role == BASE or (doc_id in met) == (role == INSTRUCTED) for doc_id in given["relevant"]}
            qrels[mode] += ((item.id, "0", doc_id, str(int(is_so))) for doc_id, is_so in relevant.items())
    documents = {facet: [doc_of({"id": doc_id, **docs[doc_id].fields}) for doc_id in ids] for facet, ids in corpora.items()}
    used = {doc_id: build.made["documents"][doc_id] for ids in corpora.values() for doc_id in ids}
    made = {item.id: build.made["queries"][item.id] for item in queries} | used
    write_benchmark(build, to, Content(rows=rows, qrels=qrels, corpora=documents), Modes(MODES), made=made, measures=MEASURES)
