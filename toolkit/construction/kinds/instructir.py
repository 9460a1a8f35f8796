"""InstructIR (arXiv 2402.14334, section 3.1 and appendix A): queries that different people ask, a document for each of them.

Items, by step:

    seeds        query, document (its id), title, text: a query and its one relevant document, under the query's id
    scenarios    query, document, scenario (what a person says of themselves): `<query>_<n>`, n from 1
    targets      and target: the document rewritten for the scenario; the next four steps are in `target_filters`
    paraphrases  query, scenario (in other words): `<query>_<n>.<p>`, p from 1
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from toolkit.construction import answer_forms
from toolkit.construction.documents.built_benchmark import doc_of, write_benchmark
from toolkit.construction.documents.negatives import Adversarial, InstructionNegatives, added_to
from toolkit.construction.queries.target_filters import Choice, Fit, Groups, Review, by_query, query_of, seeded
from toolkit.construction.step_files import BuiltSteps
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import Tools
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.modes import Modes
from toolkit.core.topics import Topic
from toolkit.datasets.layouts.instructir import instructed, query_first
from toolkit.datasets.own.own_new import Content
from toolkit.models.lucene.okapi import stop_words

# appendix A; each filter is asked of all targets
FUNNEL = {"targets": 16_157, "fit": 15_669, "choice": 11_992, "groups": 9_906}
MEASURES = ("Robustness@10", "nDCG@10")
WORD = re.compile(r"\w+")
SHORTEST_KEYWORD = 4  # letters
QUERY_FIRST = ".query-first"  # what the id of a query ends in whose scenario stands behind it


@dataclass(frozen=True)
class Seeds(Step):
    """Queries of a length with a single relevant document of a length (section 3.1: the middle half of MS MARCO's).

    shortest, longest                    characters of the query
    shortest_document, longest_document  characters of its document, title and text
    most                                 how many are taken, in the order of the seeds; 0 for all

    ToolkitError where no query is left.
    """

    name = "seeds"
    about = "queries by length, with a single relevant document"
    shortest: int = 24
    longest: int = 40
    shortest_document: int = 255
    longest_document: int = 371
    most: int = 0

    def __post_init__(self):
        check_counts(**{name: value for name, value in self.parameters().items() if name != "most"}, most=self.most or None)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The queries with their documents."""
        relevant, queries = tools.seeds.relevant(), tools.seeds.queries()
        texts = tools.seeds.texts([doc_id for topic in queries for doc_id in relevant.get(topic.query_id, ())[:1]])
        known: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        left = 0
        for topic in queries:
            found = relevant.get(topic.query_id, [])
            doc = texts.get(found[0]) if found else None
            document = {"document": doc.doc_id, "title": doc.title, "text": doc.text} if doc else {}
            item = Item(topic.query_id, {"query": topic.query or topic.text, **document})
            why = self._why_not(item, found, known)
            if not why and self.most and left == self.most:
                why = f"more than {self.most:,} queries"
            left += not why
            reasons[why] += 1
            yield item.reject(why)
        if not left:
            said = "; ".join(f"{why} ({count:,})" for why, count in reasons.most_common(3)) or "there is none"
            hint = "other bounds in build.yaml, as in seeds: {shortest: 10, longest_document: 1000} under steps"
            raise ToolkitError(f"step {self.name}: no query is left: {said}", hint)

    def _why_not(self, item: Item, relevant: Sequence[str], known: Counter[str]) -> str:
        query = " ".join(item.fields["query"].casefold().split())
        known[query] += 1
        if known[query] > 1:
            return "the query of an earlier seed"
        if why := _outside(len(item.fields["query"].strip()), self.shortest, self.longest):
            return why
        if len(relevant) != 1:
            return "no relevant document" if not relevant else "several relevant documents"
        if not item.fields.get("text", "").strip():
            return "no text of its document"
        why = _outside(len(contents(item).strip()), self.shortest_document, self.longest_document)
        return f"its document has {why}" if why else ""


def _outside(characters: int, least: int, most: int) -> str:
    if characters < least:
        return f"fewer than {least} characters"
    return f"more than {most} characters" if characters > most else ""


@dataclass(frozen=True)
class Scenarios(Step):
    """People with different situations who all ask the query.

    count  scenarios of each query, written in one answer
    """

    name = "scenarios"
    about = "people with different situations who ask the query"
    counted: ClassVar = ("count",)
    slots: ClassVar = {"prompt": ("query", "count")}
    published: ClassVar = {"prompt": "instructir-figure4"}
    fixed: ClassVar = {"count": 10}
    model: str = "writer"
    prompt: str = "build-scenarios.v2"
    count: int = 10

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a scenario; one with the query's own id where the answer cannot be read."""
        rows = ({"query": item.fields["query"], "count": str(self.count)} for item in items)
        for item, scenarios in tools.answered("wrote", self, items, rows, answer_forms.numbered("Scenario", self.count)):
            if scenarios is None:
                yield item
            for number, scenario in enumerate(scenarios or (), 1):
                fields = {"query": item.fields["query"], "document": item.fields["document"], "scenario": scenario}
                yield Item(f"{item.id}_{number}", fields, (item.id,), item.made)


@dataclass(frozen=True)
class Targets(Step):
    """The document rewritten for each scenario. The prompt asks that it has no words which only the scenario has.

    most_keywords  of the scenario (no stop words, not in the query or the document) that the target may have; 0 for any number:
                   the paper asks for it and does not check
    """

    name = "targets"
    about = "the document rewritten for each of them"
    reads = ("seeds",)
    slots: ClassVar = {"prompt": ("query", "scenario", "document")}
    published: ClassVar = {"prompt": "instructir-figure5"}
    model: str = "writer"
    prompt: str = "build-target.v2"
    most_keywords: int = 0

    def __post_init__(self):
        check_counts(most_keywords=self.most_keywords or None)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a scenario, with its target."""
        seeds = {seed.id: seed for seed in tools.step("seeds")}
        rows = ({**item.only("query", "scenario"), "document": contents(seeds[query_of(item)])} for item in items)
        read = answer_forms.labelled("PLAN", "REVISED (?:DOCUMENT|TARGET)")
        for item, target in tools.answered("wrote", self, items, rows, read):
            if target is None:
                yield item
                continue
            known = f"{item.fields['query']} {contents(seeds[query_of(item)])}"
            found = keywords(item.fields["scenario"], known) & words_of(target)
            too_many = self.most_keywords and len(found) > self.most_keywords
            why = f"more than {self.most_keywords} keywords of the scenario" if too_many else ""
            yield item.having(target=target, keywords=sorted(found)).reject(why)


@dataclass(frozen=True)
class Paraphrases(Step):
    """Other wordings of one scenario of each query.

    count  of them, written in one answer
    seed   of which scenario it is
    """

    name = "paraphrases"
    about = "other wordings of one scenario of each query"
    counted: ClassVar = ("count",)
    slots: ClassVar = {"prompt": ("instruction", "count")}
    model: str = "writer"
    prompt: str = "build-paraphrases.v1"
    count: int = 5
    seed: int = 0

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a paraphrase; one with the scenario's own id where the answer cannot be read."""
        chosen = [seeded(f"{self.seed} {query_of(group[0])}").choice(group) for group in by_query(items)]
        rows = ({"instruction": item.fields["scenario"], "count": str(self.count)} for item in chosen)
        for item, written in tools.answered("wrote", self, chosen, rows, answer_forms.texts(self.count)):
            if written is None:
                yield item
            for number, text in enumerate(written or (), 1):
                yield Item(f"{item.id}.{number}", {"query": item.fields["query"], "scenario": text}, (item.id,), item.made)


@dataclass(frozen=True)
class ScenarioNegatives(InstructionNegatives):
    """Documents that answer the query and do not fit the scenario."""

    instruction: str = "scenario"


STEPS = (Seeds, Scenarios, Targets, Fit, Choice, Groups, Review, ScenarioNegatives, Adversarial, Paraphrases)


def benchmark(build: BuiltSteps, to: Path) -> None:
    """A folder with three groups over one corpus: `all` (scenario first), `query-first`, and `paraphrases`.

    The corpus: targets of `all`, each relevant for its own scenario alone; as noise the passages of other seeds (section 3.2:
    about 6,000 of 16,072). Negatives that further steps wrote are judged as not relevant.
    """
    last = Review.name if Review.name in build.config.names else Groups.name
    groups, reworded = build.passed(last), build.passed("paraphrases")
    # the documents of seeds without a group, which no seed with one has
    seeds, kept = list(build.items("seeds")), {query_of(item) for item in groups}
    used = {seed.fields["document"] for seed in seeds if seed.id in kept}
    rest = (seed.fields for seed in seeds if seed.fields.get("text", "").strip() and seed.fields["document"] not in used)
    unrevised = {row["document"]: Doc(row["document"], row["title"], row["text"]) for row in rest}
    docs = [*(Doc(item.id, "", item.fields["target"]) for item in groups), *unrevised.values()]
    topics = {
        "all": [_topic(item, item.id) for item in groups],
        "query-first": [query_first(_topic(item, f"{item.id}{QUERY_FIRST}")) for item in groups],
        "paraphrases": [_topic(item, item.id) for item in reworded],
    }
    gold = {item.id: item.id for item in groups} | {f"{item.id}{QUERY_FIRST}": item.id for item in groups}
    gold |= {item.id: item.sources[0] for item in reworded}
    made = {item.id: build.made["targets"][item.id] for item in groups} | dict.fromkeys(unrevised, ())
    made |= {query_id: build.made[last][doc_id] for query_id, doc_id in gold.items()}
    made |= {item.id: build.made["paraphrases"][item.id] for item in reworded}
    judged = [(query_id, "0", doc_id, "1") for query_id, doc_id in gold.items()]
    ran = [name for name in (ScenarioNegatives.name, Adversarial.name) if name in build.config.names]
    negatives = {item.id: added_to(item) for item in build.passed(ran[-1])} if ran else {}
    entries = {entry["id"]: entry for added in negatives.values() for entry in added}
    docs += map(doc_of, entries.values())
    made |= {doc_id: entry["made"] for doc_id, entry in entries.items()}
    judged += [(query_id, "0", entry["id"], "0") for query_id, item in gold.items() for entry in negatives.get(item, ())]
    write_benchmark(build, to, Content(docs, (), {"": judged}, topics), Modes(), made=made, measures=MEASURES)


def _topic(item: Item, query_id: str) -> Topic:
    """A scenario before its query, as InstructIR sends it."""
    return instructed(query_id, query_of(item), item.fields["query"], item.fields["scenario"])


def contents(seed: Item) -> str:
    """The text of a seed's document: title, one blank, text."""
    return Doc("", seed.fields["title"], seed.fields["text"]).contents


def keywords(scenario: str, known: str) -> set[str]:
    """The words of a scenario that tell it from others: four letters and more, no stop words, and not in the text `known`."""
    return {word for word in words_of(scenario) if len(word) >= SHORTEST_KEYWORD} - stop_words() - words_of(known)


def words_of(text: str) -> set[str]:
    """The words of a text in lower case."""
    return set(WORD.findall(text.casefold()))
