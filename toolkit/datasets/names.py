"""What a user may call topics: our ids with `-` or `/`, Pyserini's names, any id of ir_datasets, a file."""

import functools
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.progress import say
from toolkit.core.topics import Topic
from toolkit.datasets.benchmark import Benchmark, Collection, load, present_groups
from toolkit.datasets.group_data import group_names, part_name
from toolkit.datasets.ir_datasets_adapter import open_ir_dataset
from toolkit.datasets.own import folder_and_part
from toolkit.files.formats import read_topics
from toolkit.registry.loader import did_you_mean


@dataclass(frozen=True)
class Selection:
    """Groups and modes of a benchmark.

    benchmark  its name, or the absolute path of the folder that it lies in
    modes      in the benchmark's order; none where it has none
    name       the id of the selection, as file names have it (`infosearch-keyword-ins`)
    absent     groups that the name means too and that are not on this machine
    """

    benchmark: str
    groups: tuple[str, ...]
    modes: tuple[str, ...]
    name: str
    absent: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """What `find` knows it by: the name; of a folder that is not registered its path and the part."""
        if not os.path.isabs(self.benchmark):
            return self.name
        part = self.name.removeprefix(load(self.benchmark).spec.name).lstrip("-")
        return os.path.join(self.benchmark, part) if part else self.benchmark

    @property
    def whole(self) -> str:
        """The reference of the same groups in all modes."""
        ending = "-".join(self.modes)
        return self.reference.removesuffix(f"-{ending}").removesuffix(f"/{ending}") if ending else self.reference


@dataclass(frozen=True)
class TopicPart:
    """The topics that are searched over one corpus: those of a group, mode after mode."""

    group: str
    topics: list[Topic]


@dataclass(frozen=True)
class TopicSet:
    """Topics by their names or files.

    name       for file names: the id with `-`, a file's stem; of several with `+` between them
    benchmark  where they come from; None for a file, and for several that are not of one benchmark
    """

    name: str
    parts: list[TopicPart]
    benchmark: Collection | None

    @property
    def topics(self) -> list[Topic]:
        """All of them, part after part."""
        return list(itertools.chain.from_iterable(part.topics for part in self.parts))

    @property
    def folder(self) -> str:
        """Where their benchmark lies, if it is a folder of the user's; else empty."""
        return self.benchmark.spec.folder if self.benchmark else ""


def find(name: str | Path | Benchmark, *, at_hand: bool = True) -> Selection | None:
    """What of a registered benchmark a name means (`infosearch`, `infosearch-ins`, `infosearch/audience/rev`), or of the one in
    a folder of the user's (`mine`, `mine/pos`); else None.

    The benchmark alone means all modes, and its selection `""` or, without one, all groups. Where a name means several
    groups, all of them are taken, or (at_hand) those that are on this machine where some are: which ones is said.
    """
    name = str(name)
    wanted = name.replace("/", "-")
    for spec in registry.benchmarks().values():
        if wanted in _names(spec):
            groups, modes, canonical = _names(spec)[wanted]
            taken = tuple(group for group in present_groups(load(spec.name)) if group in groups) if at_hand else groups
            taken = taken or groups  # none is here: reading them fetches all
            if len(taken) < len(groups):
                _say_once(f"{spec.name}: {', '.join(taken)} of {', '.join(groups)} are on this machine")
            return Selection(spec.name, taken, modes, canonical, tuple(group for group in groups if group not in taken))
    known = folder_and_part(name)
    if known is None:
        return None
    path, part = os.path.abspath(known[0]), part_name(known[1])
    spec = load(path).spec
    names = _names(spec)
    if (wanted := part_name(spec.name, part)) not in names:
        parts = [name.removeprefix(f"{spec.name}-") for name in names if name != spec.name]
        hint = f"{did_you_mean(part, parts)}known: {', '.join(parts) or 'none'}"
        raise ToolkitError(f"the benchmark in {known[0]} has no part {part!r}", hint)
    groups, modes, canonical = names[wanted]
    return Selection(path, groups, modes, canonical)


def selected(name: str, *, at_hand: bool = True) -> Selection:
    """What `find` finds; ToolkitError, with the nearest known name, where that is nothing."""
    selection = find(name, at_hand=at_hand)
    if selection is None:
        known = f"known: {', '.join(registry.benchmarks())}"
        problems = list(map(str, registry.unread("benchmarks")))
        raise ToolkitError(f"no benchmark {name!r}", f"{did_you_mean(name, part_names())}{known}", problems=problems)
    return selection


def selected_whole(name: str) -> Selection:
    """The same on this machine or not, and of a benchmark's own name all of its groups."""
    selection = selected(name, at_hand=False)
    return selection if name != selection.benchmark else replace(selection, groups=load(name).groups)


def part_names() -> list[str]:
    """Every name that `find` knows, with `-`."""
    return [name for spec in registry.benchmarks().values() for name in _names(spec)]


def _names(spec: BenchmarkSpec) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Every name of a benchmark's parts -> groups, modes, the name shown: that of an alias is the group's own."""
    aliases = {alias: group["name"] for group in spec.groups for alias in group.get("aliases", ())}
    names = {}
    for (alias, groups), mode in itertools.product(group_names(spec).items(), ("", *spec.modes)):
        shown, called = (part_name(spec.name, part, mode) for part in (aliases.get(alias, alias), alias))
        names[called] = (groups, (mode,) if mode else tuple(spec.modes), shown)
    return names


@functools.cache
def _say_once(message: str) -> None:
    say(message)


def resolve_topics(names: str | Sequence[str]) -> TopicSet:
    """The topics of a name or file, or of several of them as one set.

    Raises ToolkitError, with the nearest known name, for what is neither, and where two of several have a query id.
    """
    return _resolve(names) if isinstance(names, str) else join_topics([_resolve(name) for name in names])


def join_topics(sets: Sequence[TopicSet]) -> TopicSet:
    """Several sets as one: group by group where all are of one benchmark, else as topics without a corpus of their own.

    Raises ToolkitError where a query id is in two of them.
    """
    if len(sets) == 1:
        return sets[0]
    of: dict[str, str] = {}
    for one in sets:
        for query_id in dict.fromkeys(topic.query_id for topic in one.topics):
            if query_id in of:
                message = f"query id {query_id!r} is in {of[query_id]} and in {one.name}"
                raise ToolkitError(message, "give each query its own id")
            of[query_id] = one.name
    shared = len({one.benchmark and one.benchmark.spec.name for one in sets}) == 1
    groups: dict[str, list[Topic]] = {}
    for part in itertools.chain.from_iterable(one.parts for one in sets):
        groups.setdefault(part.group if shared else "all", []).extend(part.topics)
    parts = [TopicPart(group, topics) for group, topics in groups.items()]
    return TopicSet("+".join(one.name for one in sets), parts, sets[0].benchmark if shared else None)


def _resolve(name: str) -> TopicSet:
    selection = find(name)
    if selection is not None:
        benchmark = load(selection.benchmark)
        modes = selection.modes or ("",)
        topics = ([topic for mode in modes for topic in benchmark.topics(group, mode)] for group in selection.groups)
        return TopicSet(selection.name, list(map(TopicPart, selection.groups, topics)), benchmark)
    if Path(name).is_dir():
        raise ToolkitError(f"{name} is a folder without benchmark.yaml", f"`tandem benchmarks new {name}` makes it a benchmark")
    if name == "-" or Path(name).exists():
        modes = registry.known_modes()  # which ids carry, where the file names none
        topics = [topic if topic.mode else replace(topic, mode=modes.split(topic.query_id)[1]) for topic in read_topics(name)]
        # `runs/topics.x.trec.gz` -> `topics.x`; standard input has no name of its own
        stem = "stdin" if name == "-" else Path(Path(name).name.removesuffix(".gz").removesuffix(".zst")).stem
        return TopicSet(stem, [TopicPart("all", topics)], None)
    collection = open_collection(name)
    parts = [TopicPart(group, collection.topics(group)) for group in collection.groups]
    return TopicSet(name.replace("/", "-"), parts, collection)


def open_collection(name: str) -> Collection:
    """A benchmark of ours by name, or a collection of ir_datasets by its id or Pyserini's name."""
    if name in registry.benchmarks():
        return load(name)
    dataset = open_ir_dataset(registry.pyserini_topics().get(name, name))
    if dataset is None:
        message = f"no topics {name!r}: neither a benchmark, nor an id of ir_datasets, nor a file"
        hint = f"{did_you_mean(name, [*part_names(), *registry.pyserini_topics()])}`tandem benchmarks list` names ours"
        raise ToolkitError(message, hint, problems=list(map(str, registry.unread("benchmarks"))))
    return dataset


def chained_docs(selection: Selection) -> Iterator[Doc]:
    """The documents of all groups, each id once. Raises ToolkitError where an id has two texts."""
    benchmark, seen = load(selection.benchmark), {}
    for group in dict.fromkeys(benchmark.spec.corpus(group) for group in selection.groups):
        for doc in benchmark.docs(group):
            if doc.doc_id not in seen:
                seen[doc.doc_id] = doc
                yield doc
            elif seen[doc.doc_id] != doc:
                message = f"{selection.name}: document {doc.doc_id} has one text in {group} and another before"
                raise ToolkitError(message, "search each dimension over its own corpus")
