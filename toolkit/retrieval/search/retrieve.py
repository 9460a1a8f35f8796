"""The step that searches: one system over an index, or over each part of the topics its own."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, join_runs
from toolkit.core.system.progress import say
from toolkit.datasets import TopicPart, TopicSet
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.provenance import Provenance, comparing
from toolkit.retrieval.index import Index
from toolkit.retrieval.index.index_types import KINDS
from toolkit.retrieval.search.chosen_system import RULES, choose
from toolkit.retrieval.search.engines import RETRIEVER, Engine, SearchOptions, engine
from toolkit.retrieval.steps import Made, Results, Step, Tools

if TYPE_CHECKING:
    from toolkit.retrieval.search.candidates import CandidateSets

DEFAULT_HITS = 1000
BM25_DECIMALS = 6  # as Anserini writes them: 4 decimals, ties made strict in the 6th
ROUNDED = ("bm25", "bm25-fields")  # kinds whose runs are rounded as Anserini rounds them


class Retrieve(Step):
    """Search topics with one system.

    system        a name of the registry (`NAME+rules`: results filtered by rules behind it), a folder, a Hugging Face id,
                  `python:module:factory`, or an object with `encode` or `retrieve`
    index         a folder, a prebuilt index's name, or a benchmark; the topics' own corpora where none is named
    hits          documents a query
    candidates    a run's file, or `candidates` for the benchmark's own: of each topic only these documents may be found
    threads       of the search, one a core where none are given; models take all cores
    recipe        a paper's way of using the system in place of the model card's; `systems` are YAML files with own entries
    query_template, plain_template   what is sent of a topic with, and without, an instruction
    language      of an index that does not record its own
    verify        compare the files of every index with what was built or fetched, also where that was done within a day
    device, precision, batch_size, trust_remote_code   of models; None where they are to choose
    loader, concurrency, retries, timeout, replay, instruction_as      of models on a server, see `core.specs.SERVED`
    parameters    of the system where they are not to be its own (`k1=1.2`, `rm3=True`)

    Raises ToolkitError for an unknown system and for parameters that it does not have or that have no meaning.
    """

    def __init__(
        self,
        system: Any = "bm25",
        *,
        index: str | None = None,
        hits: int = DEFAULT_HITS,
        candidates: str | Path | None = None,
        threads: int | None = None,
        recipe: str | None = None,
        systems: Sequence[str | Path] = (),
        query_template: str | None = None,
        plain_template: str | None = None,
        language: str | None = None,
        verify: bool = False,
        device: str | None = None,
        precision: str | None = None,
        batch_size: int | None = None,
        trust_remote_code: bool = False,
        loader: str | None = None,
        concurrency: int | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        replay: bool | None = None,
        instruction_as: str | None = None,
        **parameters: Any,
    ):
        how = {"files": systems, "recipe": recipe, "query_template": query_template, "plain_template": plain_template}
        self.chosen = choose(system, parameters, precision, loader=loader, instruction_as=instruction_as, **how)
        asking = {"concurrency": concurrency, "retries": retries, "timeout": timeout, "replay": replay}
        asking = {name: value for name, value in asking.items() if value is not None}
        self.finds_itself = self.chosen.spec.kind == RETRIEVER
        if asking.keys() - ({"retries"} if self.finds_itself else set()) and self.chosen.spec.loader != "endpoint":
            raise ToolkitError(f"{self.tag} has no {', '.join(asking)}", "models on a server have")
        threads = (os.cpu_count() or 1) if threads is None else threads
        self.options = SearchOptions(hits, threads, language, device, precision, batch_size, trust_remote_code, asking)
        self.index, self.candidates, self.verify = index, candidates, verify
        self.topics: TopicSet | None = None  # those that it was prepared for
        self._found: dict[str, Any] = {}  # of the engine, once it has searched

    @property
    def name(self) -> str:
        """`bm25.k1-1.2`."""
        return self.chosen.name

    @property
    def tag(self) -> str:
        """`bm25`."""
        return self.chosen.tag

    def in_precision(self, precision: str) -> Retrieve:
        """The same step, its model in another precision; itself where the system has no model."""
        if not self.chosen.spec.checkpoint:
            return self
        other = copy(self)
        other.chosen, other.options = self.chosen.in_precision(precision), replace(self.options, precision=precision)
        return other

    @property
    def limits(self) -> list[str]:
        """What of it restricts what is found, as a run's file name has it: `candidates`, `hits-100`."""
        among = [self.candidate_sets.name] if self.candidates is not None else []
        return among + ([f"hits-{self.options.hits}"] if self.options.hits != DEFAULT_HITS else [])

    @property
    def reads_texts(self) -> bool:
        """Rules read documents."""
        return self.chosen.rules

    @property
    def written(self) -> Mapping[str, Any]:
        """BM25 keeps Anserini's order: two scores may differ in 32 bits and not in 6 decimals; all others round-trip."""
        anserinis = self.chosen.spec.kind in ROUNDED and not self.chosen.rules
        return {"decimals": BM25_DECIMALS, "ties": "file"} if anserinis else {}

    @cached_property
    def candidate_sets(self) -> CandidateSets:
        """The only documents that each of the topics may find."""
        from toolkit.retrieval.search.candidates import find_candidates

        return find_candidates(self.candidates, self.topics)

    @cached_property
    def engine(self) -> Engine:
        """What searches the topics, with where its indexes come from."""
        return engine(self.chosen, self.topics, self.index_name, self.options)

    @property
    def index_name(self) -> str:
        """What is searched: the index named, else the benchmark whose topics these are."""
        if self.index or self.finds_itself:
            return self.index or ""
        if self.topics.benchmark is None:
            raise ToolkitError(f"{self.topics.name} names no corpus to search", "name one with --index")
        return str(self.topics.benchmark)

    def prepare(self, results: Results) -> None:
        """Look up what searching these topics needs: index, candidates; nothing is opened."""
        if results.topics is None:
            raise ToolkitError("no topics to search for", "name them")
        if results.topics is not self.topics:
            for name in ("engine", "candidate_sets"):
                self.__dict__.pop(name, None)
            self.topics = results.topics
        if self.candidates is not None:
            _ = self.candidate_sets
        _ = self.engine

    def plan(self, results: Results) -> list[str]:
        """What searching does, a line for each part of the topics."""
        self.prepare(results)
        lines = [
            f"search {len(part.topics)} topics of {self.topics.name} ({part.group}) with {source.plan}"
            for part, source in zip(self.topics.parts, self.engine.sources, strict=True)
        ]
        given = ", ".join(f"{name} {value}" for name, value in self.chosen.parameters.items())
        lines.append(f"system {self.tag} ({given}), {self.options.hits} hits, {self.options.threads} threads")
        lines += self.engine.plan(results.sent)
        return lines + ([self.candidate_sets.plan] if self.candidates is not None else [])

    def open(self, results: Results, executor: Executor | None = None) -> list[Index]:
        """Every index that will be searched, made or downloaded where it is not there yet."""
        self.prepare(results)
        return self.engine.open(executor)

    def apply(self, results: Results, tools: Tools) -> Results:
        """Open every index before anything is searched, then search part after part."""
        indexes = self.open(results, tools.executor)
        if not any(part.topics for part in self.topics.parts):
            raise ToolkitError(f"{self.topics.name} has no topics", "check the file")

        candidates = self.candidate_sets.docs if self.candidates is not None else None
        units = [unit for unit in zip(results.sent.parts, self.topics.parts, indexes, strict=True) if unit[1].topics]
        with comparing({index.folder for index in indexes if index.kind in KINDS}, again=self.verify) as compared:
            self.engine.use(tools)
            if isinstance(tools.executor, LocalExecutor):
                runs = (self.engine.search(sent.topics, index, candidates) for sent, _, index in units)
            else:
                from toolkit.retrieval.search.divided import search_divided

                parts = [(sent.topics, index) for sent, _, index in units]
                runs = search_divided(self.engine, parts, candidates, tools.executor)
            if self.chosen.rules:
                # rules read the instructions themselves, whatever the system was given in their place
                runs = (_by_rules(run, part, results) for run, (_, part, _) in zip(runs, units, strict=True))
            try:
                run, self._found = join_runs(runs, tag=self.tag, source=self.topics.name), self.engine.facts()
            finally:
                self.engine.close()
        for index in indexes if self.verify else ():
            if index.folder not in compared:
                say(f"note: no record has the digests of the files of index {index.name}: they are not compared")
        return replace(results, runs=(Made(replace(run, tag=self.tag), self._provenance(results, indexes, compared)),))

    def facts(self) -> dict[str, Any]:
        """What the record says of it, under `retrieval`; device, precision and truncated queries once it has searched."""
        return {**self.chosen.facts(), **self._found, "hits": self.options.hits}

    def _provenance(self, results: Results, indexes: Sequence[Index], compared: Container[Path]) -> Provenance:
        method: dict[str, Any] = {"retrieval": [self.facts()]}
        if results.instruction != "full":
            method["instruction"] = results.instruction
        if self.candidates is not None:
            method["candidates"] = dict(self.candidate_sets.facts)
        found = {}
        for index in indexes:
            facts = index.facts() | ({"compared": "SHA-256 of its files"} if index.folder in compared else {})
            found[index.name, index.folder] = {"name": facts.pop("name"), "kind": index.kind, **facts}
        data: dict[str, Any] = {"topics": results.topics_facts(), "indexes": list(found.values())}
        if self.topics.benchmark is not None:
            spec = self.topics.benchmark.spec
            catalog = spec.name if spec.layout == "ir_datasets" else None
            said = {"name": spec.name, "source": spec.source.get("url"), "ir_datasets": catalog}  # in ir_metadata's words
            data = {"test collection": {name: value for name, value in said.items() if value}, **data}
        return Provenance(method, data)


class FilterByRules(Step):
    """InfoSearch's restrictions as a filter behind any run, see `toolkit.retrieval.search.rules`."""

    name = tag = "rules"
    reads_texts = True

    def plan(self, results: Results) -> list[str]:
        """One line."""
        return ["put documents that violate a topic's instruction behind the others, by rules"]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Part after part: rules read the instructions themselves, whatever a system was given in their place."""
        made, runs = results.one, []
        for part in results.topics.parts:
            run = made.run.select(topic.query_id for topic in part.topics)
            if run.query_ids:
                runs.append(_by_rules(run, part, results))
        run = replace(join_runs(runs, source=made.run.source), tag=f"{made.run.tag}{RULES}")
        return results.with_run(run, made.provenance.step("filtering", {"name": "rules"}))


def _by_rules(run: Run, part: TopicPart, results: Results) -> Run:
    from toolkit.retrieval.search.rules import apply_rules

    return apply_rules(run, part.topics, results.texts(part.group).find(run.doc_ids.to_pylist()))
