"""Topics, an index and a method make a run, written with its metadata."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicPart, TopicSet, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.core.files import is_stream
from toolkit.core.progress import say
from toolkit.core.runs import Run, join_runs
from toolkit.formats import write_metadata, write_run
from toolkit.formats.ids import check_ids
from toolkit.formats.provenance import metadata_of, topics_digest, topics_facts
from toolkit.fuse import fuse, parse_method
from toolkit.index import Index, own_name
from toolkit.instructions import as_asked
from toolkit.pipeline.candidates import find_candidates
from toolkit.pipeline.engines import Engine, engine
from toolkit.pipeline.method import DEFAULT_HITS, Method, check_fusion, choose, choose_reranker
from toolkit.pipeline.options import Options
from toolkit.rerank.kept import place_beside
from toolkit.search.rules import apply_rules
from toolkit.texts import Texts, texts_from

BM25_DECIMALS = 6  # as Anserini writes them: 4 decimals, ties made strict in the 6th


@dataclass(frozen=True)
class Job:
    """A run to make: everything is looked up and checked, nothing is searched, built or downloaded yet.

    topics      as their source has them
    asked       the same as the systems are given them (`method.instruction`)
    engines     parallel to `method.systems`
    texts       where a document's text comes from, for rules and rerankers
    index_name  as the run's file name has it
    output      the run's file; None where it is not written
    metadata    the metadata's file without `.yaml`; None where they are not written
    """

    topics: TopicSet
    asked: TopicSet
    engines: tuple[Engine, ...]
    index_name: str
    method: Method
    options: Options
    tag: str
    texts: Texts | None = None
    output: Path | None = None
    metadata: Path | None = None

    def describe(self) -> list[str]:
        """What making the run does, a line a step."""
        lines = []
        for one in self.engines:
            lines += [
                f"search {len(part.topics)} topics of {self.topics.name} ({part.group}) with {source.plan}"
                for part, source in zip(self.topics.parts, one.sources, strict=True)
            ]
            given = ", ".join(f"{name} {value}" for name, value in one.chosen.parameters.items())
            lines.append(f"system {one.chosen.tag} ({given}), {self.options.hits} hits, {self.options.threads} threads")
        method = self.method
        lines += [f"instructions: {method.instruction}"] if method.instruction != "full" else []
        lines += [self.options.candidates.plan] if self.options.candidates else []
        lines += [f"fuse {len(self.engines)} runs ({method.fusion})"] if method.fusion else []
        if method.reranker:
            lines.append(f"rerank the best {method.reranker.depth} of each query with {method.reranker.spec.name}")
        return [*lines, f"write {self.output}" if self.output else "write nothing"]

    def open(self) -> list[Index]:
        """Every index that will be searched, made where it is not there yet."""
        return [index for one in self.engines for index in one.open()]

    def run(self) -> Run:
        """Make it: indexes first (all of them, before anything is searched), then the search, then the files."""
        started = time.time()
        if not any(part.topics for part in self.topics.parts):
            raise ToolkitError(f"{self.topics.name} has no topics", "check the file")
        opened = [one.open() for one in self.engines]
        runs = [self._search(one, indexes) for one, indexes in zip(self.engines, opened, strict=True)]
        run, facts = runs[0], self.method.facts([one.facts() for one in self.engines])
        facts |= {"candidates": dict(self.options.candidates.facts)} if self.options.candidates else {}
        kept = place_beside(self.output) if self.method.reranker else None
        if self.method.fusion:
            run = fuse(runs, **parse_method(self.method.fusion), hits=self.options.hits, tag=self.tag)
        if self.method.reranker:
            run, report = self.method.reranker.apply(run, self.asked, self.texts, tag=self.tag, kept=kept)
            facts["reranking"] = [report]
        self._say_unjudged()
        if self.output:
            self._write(run)
        if self.metadata:
            indexes = [index for its in opened for index in its]
            write_metadata(self.metadata, self._facts(run, facts, indexes, time.time() - started))
        if kept:
            kept.unlink(missing_ok=True)
        return run

    def _search(self, one: Engine, indexes: list[Index]) -> Run:
        runs = []
        for asked, part, index in zip(self.asked.parts, self.topics.parts, indexes, strict=True):
            if part.topics:
                run = one.search(asked.topics, index)
                # rules read the instructions themselves, whatever the system was given in their place
                runs.append(self._by_rules(run, part) if one.chosen.rules else run)
        return join_runs(runs, tag=self.tag if len(self.engines) == 1 else one.chosen.tag, source=self.topics.name)

    def _by_rules(self, run: Run, part: TopicPart) -> Run:
        source = self.texts(part.group)
        return apply_rules(run, part.topics, source.find(run.doc_ids.to_pylist()))

    def _write(self, run: Run) -> None:
        anserinis = len(self.method.systems) == 1 and self.method.systems[0].is_anserinis and not self.method.reranker
        # BM25 keeps Anserini's order: two scores may differ in 32 bits and not in 6 decimals; all others round-trip
        how = {"decimals": BM25_DECIMALS, "ties": "file"} if anserinis else {}
        write_run(run, self.output, tag=self.tag, **how)

    def _facts(self, run: Run, method: dict[str, Any], indexes: Sequence[Index], seconds: float) -> dict[str, Any]:
        data = {
            **({"test collection": collection} if (collection := self._collection()) else {}),
            "topics": self._topics_facts(),
            # one corpus has indexes of several kinds and systems, all under its name
            "indexes": list({(index.name, index.folder): _index_facts(index) for index in indexes}.values()),
        }
        file = None if self.output is None or is_stream(self.output) else self.output
        return metadata_of(run, tag=self.tag, method=method, data=data, file=file, seconds=seconds)

    def _topics_facts(self) -> dict[str, Any]:
        """Of the topics as their source has them; where systems were given others, of these the digest too."""
        facts = topics_facts(self.topics.name, self.topics.topics)
        if self.method.instruction == "full":
            return facts
        return {**facts, self.method.instruction: {"sha256": topics_digest(self.asked.topics)}}

    def _collection(self) -> dict[str, str]:
        """The test collection in ir_metadata's words."""
        if self.topics.benchmark is None:
            return {}
        spec = self.topics.benchmark.spec
        catalog = spec.name if spec.layout == "ir_datasets" else None
        facts = {"name": spec.name, "source": spec.source.get("url"), "ir_datasets": catalog}
        return {name: value for name, value in facts.items() if value}

    def _say_unjudged(self) -> None:
        own, sources = self.topics.benchmark, {source.name for one in self.engines for source in one.sources}
        if own and sources.isdisjoint(own_name(own, group) for group in own.groups):
            judged, searched = own.spec.name, self.index_name
            say(f"note: {judged} has no judgments for the documents of {searched}: compare its runs with one another")


def make_run(topics: str | Sequence[str], index: str | None = None, system: str | Sequence[str] = "bm25", **how: Any) -> Run:
    """Search the topics of a name or file, or of several; the run, which with `output` is written too, metadata beside it.

    index   a folder, a prebuilt index's name, or a benchmark; the topics' own corpora where none is named
    system  a name, or several whose runs are fused (`fuse="rrf"`)
    how     as for `plan_run`: `hits`, `threads`, `output`, `tag`, ..., and parameters of the system where they are not to be
            its defaults (`k1=1.2`, `rm3=True`)

    Raises ToolkitError for what cannot be looked up or made.
    """
    return plan_run(topics, index, system, **how).run()


def plan_run(
    topics: str | Sequence[str],
    index: str | None = None,
    system: str | Sequence[str] = "bm25",
    *,
    recipe: str | None = None,
    systems: Sequence[str | Path] = (),
    query_template: str | None = None,
    plain_template: str | None = None,
    fuse: str = "",
    hits: int = DEFAULT_HITS,
    threads: int | None = None,
    device: str | None = None,
    precision: str | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    instruction: str = "full",
    candidates: str | Path | None = None,
    rerank: str | None = None,
    rerank_recipe: str | None = None,
    rerank_kind: str | None = None,
    depth: int | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    language: str | None = None,
    **parameters: Any,
) -> Job:
    """Look everything up that `make_run` will need.

    recipe    of the one system: not its model card's way but a paper's; `systems` are YAML files with entries of the user's
    fuse      how the runs of several systems become one: `rrf`, `rrf:k=60`, `minmax:0.3,0.7`
    instruction  what the topics' instructions become, see `toolkit.instructions`
    candidates  a run, or `candidates` for the benchmark's own: of each topic only these documents are searched
    rerank    a reranker for the best `depth` documents of each query, with the texts of `docs` or of the corpus searched;
              `rerank_kind` says what a checkpoint is that no entry knows
    output    may be `-`; `metadata` lie beside it where no file is named for them
    """
    names = [system] if isinstance(system, str) else list(system)
    check_fusion(names, fuse, recipe)
    chosen = choose(names, parameters, precision, query_template, plain_template, files=systems, recipe=recipe)
    found, threads = resolve_topics(topics), (os.cpu_count() or 1) if threads is None else threads
    few = None if candidates is None else find_candidates(candidates, found)
    options = Options(hits, threads, language, device, precision, batch_size, trust_remote_code, few)
    reranker = choose_reranker(rerank, options, depth, files=systems, recipe=rerank_recipe, kind=rerank_kind)
    method = Method(chosen, hits, fuse, instruction, few.name if few else "", reranker)
    _check(method, tag, precision, docs, index)
    name = index or _own_corpora(found, [topics] if isinstance(topics, str) else topics)
    return Job(
        topics=found,
        asked=as_asked(found, instruction),
        engines=tuple(engine(one, found, name, options) for one in chosen),
        index_name=Path(name).resolve().name if Path(name).is_dir() else name.replace("/", "-"),
        method=method,
        options=options,
        tag=tag or method.tag,
        texts=_texts(found, index, docs) if method.needs_texts else None,
        output=_place(output),
        metadata=_metadata_place(output, metadata),
    )


def _index_facts(index: Index) -> dict[str, Any]:
    facts = index.facts()
    return {"name": facts.pop("name"), "kind": index.kind, **facts}


def _check(method: Method, tag: str | None, precision: str | None, docs: str | None, index: str | None) -> None:
    """Refuse what was said of something that is not there, and a tag that no run can have."""
    check_ids("tag", [tag or method.tag])
    if precision and not method.models:
        raise ToolkitError(f"{method.tag} has no precision", "models have; leave --precision out")
    if docs is not None and not method.needs_texts:
        raise ToolkitError("texts of documents without anything that reads them", "--docs is for --rerank and for +rules")
    kinds = {system.spec.kind for system in method.systems}
    if index and len(kinds) > 1 and Path(index).is_dir():
        hint = "search the index of each alone, and `tandem fuse` the runs"
        raise ToolkitError(f"{method.tag} searches indexes of {len(kinds)} kinds, {index} is one", hint)


def _place(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    if Path(path).is_dir():
        raise ToolkitError(f"{Path(path)} is a folder, not a file", "name a file in it")
    return Path(path)


def _metadata_place(output: str | Path | None, metadata: str | Path | None) -> Path | None:
    """Beside a run that becomes a file, unless another place is named."""
    if metadata is None:
        return None if output is None or is_stream(output) else Path(output)
    return _place(str(metadata).removesuffix(".yaml"))


def _own_corpora(topics: TopicSet, names: Sequence[str]) -> str:
    if topics.benchmark is None:
        raise ToolkitError(f"{' and '.join(names)} names no corpus to search", "name one with --index")
    return topics.benchmark.spec.name


def _texts(topics: TopicSet, index: str | None, docs: str | None) -> Texts:
    """Of the documents that are searched: those named, or those that the index stores."""
    return texts_from(topics, index=index) if docs is None else texts_from(topics, docs=docs)


def run_name(job: Job) -> str:
    """`run.<topics>.<index>.<system>.trec`; the system is its name, then what differs from its defaults."""
    return f"run.{job.topics.name}.{job.index_name}.{job.method.name}.trec"
