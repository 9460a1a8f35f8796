"""What a build begins with: topics, judgments and documents of a benchmark, of ir_datasets, of an index or of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE
from toolkit.registry.loader import did_you_mean

if TYPE_CHECKING:
    from toolkit.core.documents import Doc
    from toolkit.core.qrels import Qrels
    from toolkit.core.topics import Topic
    from toolkit.datasets import TopicSet

NAMES = ("benchmark", "ir_datasets")  # which of them is named has topics, judgments and documents
POSTS = "posts"  # questions with answers, which are topics, judgments and documents at once
FILES = ("topics", "docs", "qrels", POSTS)
INDEX = "index"
KEYS = (*NAMES, *FILES, INDEX)


@dataclass(frozen=True)
class Seeds:
    """The seeds that `build.yaml` names; nothing is read before it is asked for.

    given    key -> a name, a file, or several files: `benchmark` or `ir_datasets`; `topics`, `docs` and `qrels`; or `posts`;
             `index` is where texts come from in place of documents; further keys are files of the kind's own. Of a kind with
             seeds for each group: group -> such a mapping
    folder   from which files are looked for
    """

    given: Mapping[str, Any]
    folder: Path

    def paths(self, key: str) -> list[Path]:
        """The files under a key, from the build's folder; none where the key is not given."""
        value = self.given.get(key, [])
        return [self.folder / Path(name).expanduser() for name in ([value] if isinstance(value, str) else value)]

    def local(self, name: str) -> str:
        """What is named: a file or folder, looked for from the build's own first, or the name itself where there is none."""
        path = self.folder / Path(name).expanduser()
        return str(path) if name and path.exists() else name

    @cached_property
    def by_group(self) -> dict[str, Seeds]:
        """Group -> the seeds that are named for it; empty where the same ones are for all."""
        return {key: Seeds(value, self.folder) for key, value in self.given.items() if isinstance(value, Mapping)}

    @cached_property
    def posts(self) -> list[tuple[Topic, list[Doc]]]:
        """The questions of the files of posts, with their answers."""
        from toolkit.construction.documents.posts import read_posts

        return read_posts(self.paths(POSTS))

    @cached_property
    def topic_set(self) -> TopicSet:
        """All topics, in all modes that were named. Raises ToolkitError where none were."""
        from toolkit.datasets import TopicPart, TopicSet, resolve_topics

        if named := self._named:
            return resolve_topics(named)
        if POSTS in self.given:
            return TopicSet(POSTS, [TopicPart("all", [topic for topic, _ in self.posts])], None)
        files = self.paths("topics")
        if not files:
            raise ToolkitError("the seeds have no topics", "name them in build.yaml: seeds: {topics: F, ...}")
        return resolve_topics([str(path) for path in files])

    def queries(self) -> list[Topic]:
        """The topics in their base mode, where they have one that was named; else all of them."""
        topics = self.topic_set.topics
        benchmark = self.topic_set.benchmark
        base = set(benchmark.spec.modes.of(BASE)) if benchmark else set()
        return [topic for topic in topics if topic.mode in base] or topics

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments of all topics. Raises ToolkitError where there are none."""
        from toolkit.core.qrels import Qrel, Qrels, join_qrels
        from toolkit.files.formats import read_qrels

        if POSTS in self.given:
            return Qrels.from_rows(Qrel(topic.query_id, doc.doc_id, 1) for topic, docs in self.posts for doc in docs)
        if files := self.paths("qrels"):
            return join_qrels([read_qrels(path) for path in files])
        benchmark = self.topic_set.benchmark
        if benchmark is None:
            raise ToolkitError("the seeds have no judgments", "name them in build.yaml: seeds: {qrels: F, ...}")
        pairs = dict.fromkeys((part.group, topic.mode) for part in self.topic_set.parts for topic in part.topics)
        modes = benchmark.spec.modes
        return join_qrels([benchmark.qrels(group, mode if mode in modes else "") for group, mode in pairs])

    def relevant(self) -> dict[str, list[str]]:
        """Query id -> its relevant documents, in the order of the judgments."""
        found: dict[str, list[str]] = {}
        for row in self.qrels:
            if row.relevance > 0:
                found.setdefault(row.query_id, []).append(row.doc_id)
        return found

    def docs(self) -> Iterator[Doc]:
        """All documents, each id once. Raises ToolkitError where there are none but in an index."""
        seen: set[str] = set()
        for doc in self._docs():
            if doc.doc_id not in seen:
                seen.add(doc.doc_id)
                yield doc

    def _docs(self) -> Iterator[Doc]:
        if POSTS in self.given:
            yield from (doc for _, docs in self.posts for doc in docs)
            return
        if files := self.paths("docs"):
            from toolkit.files.texts.documents import corpus_from_files

            for path in files:
                yield from corpus_from_files(path).documents()
            return
        benchmark = self.topic_set.benchmark if self._named or "topics" in self.given else None
        if benchmark is None:
            raise ToolkitError("the seeds have no documents", "name them in build.yaml: seeds: {docs: F, ...}")
        for group in dict.fromkeys(benchmark.spec.corpus(part.group) for part in self.topic_set.parts):
            yield from benchmark.docs(group)

    def texts(self, doc_ids: Sequence[str]) -> dict[str, Doc]:
        """The documents of these ids that there are, from the index where one is named."""
        if index := self.given.get(INDEX):
            from toolkit.datasets import TopicSet
            from toolkit.retrieval.texts import texts_from

            source = texts_from(TopicSet("seeds", [], None), index=self.local(index))
            groups = [part.group for part in self.topic_set.parts] if self._named or "topics" in self.given else ["all"]
            found: dict[str, Doc] = {}
            for group in groups:
                found |= source(group).find([doc_id for doc_id in doc_ids if doc_id not in found])
            return found
        wanted, found = set(doc_ids), {}
        for doc in self._docs() if wanted else ():
            if doc.doc_id in wanted:
                found.setdefault(doc.doc_id, doc)
                if len(found) == len(wanted):  # a large corpus need not be read to its end
                    break
        return found

    def facts(self) -> dict[str, Any]:
        """What tells these seeds from others, without reading topics: names with their entries, files with their SHA-256."""
        from toolkit.files.store.digests import file_sha256

        of_groups = ((group, seeds.facts()) for group, seeds in self.by_group.items())
        facts: dict[str, Any] = {f"{group}, {key}": value for group, own in of_groups for key, value in own.items()}
        for key in (key for key in self.given if key not in self.by_group):
            if key in NAMES or (key == INDEX and not self.paths(key)[0].exists()):
                facts[key] = {"name": self.given[key], **self._entry(key)}
            else:
                files = [file for path in self.paths(key) for file in _files(path)]
                facts[key] = {
                    str(file.relative_to(self.folder)) if file.is_relative_to(self.folder) else file.name: file_sha256(file)
                    for file in files
                }
        return facts

    def groups(self) -> tuple[str, ...]:
        """The groups of the benchmark that is named, of which nothing is read; none for other seeds."""
        from toolkit.datasets import find

        selection = find(self._named, at_hand=False) if "benchmark" in self.given else None
        return selection.groups if selection else ()

    def source(self) -> Mapping[str, str]:
        """Paper, address, licence and citation of the benchmark that is named; empty for files."""
        return dict(self.topic_set.benchmark.spec.source) if self._named and self.topic_set.benchmark else {}

    @property
    def _named(self) -> str:
        """The benchmark or the id of ir_datasets, see `local`; empty where neither is named."""
        return next((self.local(self.given[key]) for key in NAMES if key in self.given), "")

    def _entry(self, key: str) -> dict[str, Any]:
        """What the registry, or the benchmark's folder, says of what a name means now."""
        from toolkit.datasets import find, load
        from toolkit.files.store.digests import file_sha256

        selection = find(self._named, at_hand=False) if key == "benchmark" else None
        if selection is None:
            return {}
        spec = load(selection.benchmark).spec
        if spec.folder:
            return {"files": {path.name: file_sha256(path) for path in _files(Path(spec.folder))}}
        return {"entry": {"groups": [dict(group) for group in spec.groups], "modes": dict(spec.modes)}}

    def problems(self, further: Sequence[str], groups: bool = False) -> Iterator[str]:
        """What is wrong with what build.yaml names, without reading any of it.

        further  keys of files that the kind has
        groups   whether the kind may have seeds for each group
        """
        if groups and self.by_group:
            for group, seeds in self.by_group.items():
                yield from (f"seeds: {group}: {problem.removeprefix('seeds: ')}" for problem in seeds.problems(further))
            if both := [key for key in self.given if key not in self.by_group]:
                yield f"seeds: {', '.join(both)} and seeds of groups: name it in each of them"
            return
        known = (*KEYS, *further)
        for key, value in self.given.items():
            if key not in known:
                yield f"seeds: unknown key {key!r} ({did_you_mean(str(key), known)}known: {', '.join(known)})"
            elif not (isinstance(value, str) or (key not in (*NAMES, INDEX) and _are_texts(value))) or not value:
                yield f"seeds: {key} is no name of a file or benchmark: {value!r}"
            elif key not in (*NAMES, INDEX):
                yield from (f"seeds: {key}: no file {path}" for path in self.paths(key) if not path.exists())
        named = [key for key in (*NAMES, "topics", POSTS) if key in self.given]
        if len(named) > 1:
            yield f"seeds: {' and '.join(named)}: name one of them"
        if not any(key in self.given for key in known):
            yield f"seeds: nothing is named (one of {', '.join(known)})"
        if isinstance(self.given.get("benchmark"), str):
            from toolkit.datasets import find
            from toolkit.datasets.names import part_names

            try:
                if find(self._named, at_hand=False) is None:
                    near = did_you_mean(self.given["benchmark"], part_names())
                    yield f"seeds: no benchmark {self.given['benchmark']!r} ({near}`tandem benchmarks list` names ours)"
            except ToolkitError as error:
                yield f"seeds: {error.message} ({error.hint})"


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _files(path: Path) -> list[Path]:
    """The file itself, or all files of a folder, in a fixed order."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
