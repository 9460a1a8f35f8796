"""The engine of objects of Python that find documents by themselves: a search service, another library's retriever."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import decode_json
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic, topics_by_id
from toolkit.datasets import TopicSet
from toolkit.files.store.keyed_cache import key_of
from toolkit.files.texts.documents import ContentDigest, is_empty
from toolkit.models.checkpoints.own_systems import Called
from toolkit.retrieval.index import Index, Source, corpus_name
from toolkit.retrieval.search.chosen_system import Chosen
from toolkit.retrieval.search.engines import Candidates, Engine, SearchOptions
from toolkit.retrieval.search.lexical_engines import CORPUS
from toolkit.retrieval.steps import Tools

BATCH, RETRIES = 32, 2  # queries of a call; how often a call that raises is made again
IDS = ("doc_id", "id", "_id", "id_", "node_id")  # names under which retrievers have a document's id, ours first
INNER = ("metadata", "meta", "payload")  # where they keep what their users gave
Found = list[tuple[str, float | None]]  # (document id, score or None), best first


class Objects(Engine):
    """Asks an object with `retrieve` for the best documents of each topic; what was answered is not asked again on a resume."""

    OPENED = ("_call",)
    LEFT = ("_cache", "_benchmark")

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        if index:
            raise ToolkitError(f"{chosen.name} finds documents by itself: it searches no index", "leave --index out")
        self.chosen, self.options, self._benchmark = chosen, options, topics.benchmark
        self._call, self._cache = Called(chosen.spec, "retrieve"), None
        self._retries, self._is_scored, self._ids = options.asking.get("retries", RETRIES), None, {}
        self.sources = tuple(self._source(part.group) for part in topics.parts)

    def _source(self, group: str) -> Source:
        name = corpus_name(self._benchmark, group) if self._benchmark else self.chosen.tag
        return Source(name, f"{self.chosen.tag}, which finds documents by itself", lambda threads: self._opened(name, group))

    def _opened(self, name: str, group: str) -> Index:
        """What the answers are compared with: the ids of the benchmark's documents, where there are some."""
        if self._benchmark is None:
            return Index(name, Path(), None, None, CORPUS)
        content, self._ids[name] = ContentDigest(), set()
        for doc in self._benchmark.docs(group):
            self._ids[name].add(doc.doc_id)
            if not is_empty(doc):
                content.add(doc)
        corpus = {"name": name, "content": content.hexdigest()}
        return Index(name, Path(), None, {"documents": len(self._ids[name]), "corpus": corpus}, CORPUS)

    def use(self, tools: Tools) -> None:
        """Keep answers beside the output, where the work resumes."""
        self._cache = tools.cache(key_of(self.chosen.facts()).hex()) if tools.cache else None

    def open(self, executor: Any = None) -> list[Index]:
        """The documents' ids."""
        return [source.open(1) for source in self.sources]

    def facts(self) -> dict[str, Any]:
        """Whether the scores are the object's own; `rank`: it gave none, they are 1 / rank."""
        return {"scores": "own" if self._is_scored else "rank"}

    def search(self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Any = None) -> Run:
        """The run of one part of the topics. ToolkitError for an answer that is none, and for documents that are not there."""
        if candidates is not None:
            message = f"{self.chosen.name} finds documents by itself: it takes no candidates"
            raise ToolkitError(message, "leave --candidates out")
        topics_by_id(topics)
        sent = [topic_input(self.chosen.spec.templates, topic).whole for topic in topics]
        answers = self._answers(list(dict.fromkeys(sent)))
        found = {doc for answer in answers.values() for doc, _ in answer}
        if unknown := found - self._ids.get(index.name, found):
            message = f"{self.chosen.name} found {len(unknown):,} documents that {index.name} has not ({three(unknown)})"
            raise ToolkitError(message, "a document's id is its `doc_id`, else its `id`: give it those of the corpus", status=1)
        scored = {score is not None for found in answers.values() for _, score in found}
        if len(scored | ({self._is_scored} - {None})) > 1:
            raise self._call.wrong("scores for some documents, and none for others")
        self._is_scored = next(iter(scored), self._is_scored)
        rows = (
            ScoredDoc(topic.query_id, doc_id, 1 / rank if score is None else score)
            for topic, query in zip(topics, sent, strict=True)
            for rank, (doc_id, score) in enumerate(answers[query], 1)
        )
        return Run.from_rows(rows, tag=self.chosen.tag)

    def _answers(self, queries: Sequence[str]) -> dict[str, Found]:
        keys = {query: key_of([query, self.options.hits]) for query in queries}
        known = self._cache.get(list(keys.values()), _read) if self._cache else {}
        answers = {query: known[key] for query, key in keys.items() if key in known}
        missing, size = [query for query in queries if query not in answers], self.options.batch_size or BATCH
        with progress(f"asking {self.chosen.tag}", len(queries), "queries") as advance:
            advance(len(answers))
            for start in range(0, len(missing), size):
                batch = missing[start : start + size]
                found = self._asked(batch)
                if self._cache:
                    self._cache.put({keys[query]: json.dumps(own).encode() for query, own in zip(batch, found, strict=True)})
                answers |= zip(batch, found, strict=True)
                advance(len(batch))
        return answers

    def _asked(self, batch: list[str]) -> list[Found]:
        """One call, made again where it raises; its answer checked."""
        for left in range(self._retries, -1, -1):
            try:
                answer = self._call(list(batch), self.options.hits)
                break
            except ToolkitError as error:
                if not left:
                    raise ToolkitError(f"{error.message}, asked for {batch[0]!r}", error.hint, status=1) from error
        if isinstance(answer, str | Mapping) or not isinstance(answer, Iterable) or len(answer := list(answer)) != len(batch):
            what = f"{len(answer)} lists" if isinstance(answer, list) else f"a {type(answer).__name__}"
            raise self._call.wrong(f"{what} for {len(batch)} queries")
        return [self._checked(query, found) for query, found in zip(batch, answer, strict=True)]

    def _checked(self, query: str, found: Any) -> Found:
        if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
            raise self._call.wrong(f"a {type(found).__name__}, no list of documents, for {query!r}")
        made = [(self._id(each, query), _score(each)) for each in found]
        scores = [score for _, score in made if score is not None]
        if len(made) > self.options.hits:
            raise self._call.wrong(f"{len(made):,} documents for {query!r}, asked for {self.options.hits:,}")
        if len({doc for doc, _ in made}) < len(made):
            raise self._call.wrong(f"a document twice for {query!r}")
        if scores and (len(scores) < len(made) or not all(map(math.isfinite, scores))):
            raise self._call.wrong(f"scores for {query!r} that are not all finite numbers")
        if any(after > before for before, after in itertools.pairwise(scores)):
            raise self._call.wrong(f"documents for {query!r} that are not best first: a score rises")
        return made

    def _id(self, each: Any, query: str) -> str:
        each = each[0] if isinstance(each, tuple | list) and each else each
        each = getattr(each, "node", each)  # LlamaIndex: a node with its score
        places = [each, *(_at(each, name) for name in INNER)]
        values = [each] if isinstance(each, str) else [_at(place, name) for name in IDS for place in places]
        found = next((value for value in values if value not in (None, "")), None)
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise self._call.wrong(f"a {type(each).__name__} without an id, for {query!r}")
        return str(found)


def _at(each: Any, name: str) -> Any:
    return each.get(name) if isinstance(each, Mapping) else getattr(each, name, None)


def _score(each: Any) -> float | None:
    """A number beside the document, or its `score`; None where there is none."""
    value = (each[1] if len(each) > 1 else None) if isinstance(each, tuple | list) else _at(each, "score")
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return math.nan


def _read(blob: bytes) -> Found:
    return [(str(doc_id), score) for doc_id, score in decode_json(blob.decode())]
