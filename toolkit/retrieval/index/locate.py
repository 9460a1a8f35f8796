"""From the name of an index to its folder: a folder, a prebuilt index, or a benchmark's own corpus, indexed on first use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec, SystemSpec
from toolkit.core.system.files import home, shipped
from toolkit.core.system.progress import say
from toolkit.datasets import Benchmark, Collection, find, is_benchmark_folder, load, open_collection
from toolkit.files.formats.indexes import made_with, read_index_record
from toolkit.files.store import fetch_index, index_folder, lock
from toolkit.files.texts.documents import ContentDigest, Corpus, corpus_from_docs, corpus_from_files
from toolkit.registry.loader import did_you_mean
from toolkit.retrieval.index.index_types import LUCENE, check_kind, index_kind, is_index, kind_for

DEFAULT_LANGUAGE = "en"
# what a run's record says of an index, where the index's own say it
FACTS = (
    *("documents", "questions", "corpus"),
    *("system", "recipe", "template", "precision"),
    *("factory", "tuning", "recall", "vectors", "weights"),
)

# (collection, group, folder, threads): makes the index of a group's own corpus in a folder
Build = Callable[[Collection, str, Path, int], None]


@dataclass(frozen=True, eq=False)
class Index:
    """An index that is there.

    language  its analyzer's; None where nobody has recorded it, and where there is none
    record  what `tandem.yaml` says; None for an index made elsewhere
    kind      one of `toolkit.retrieval.index.index_types.KINDS`
    place     its path, where a user has named it by that
    """

    name: str
    folder: Path
    language: str | None
    record: dict[str, Any] | None
    kind: str = LUCENE
    place: str = ""

    def facts(self) -> dict[str, Any]:
        """What a run's record says of it."""
        known = self.record or {}
        folder = {"folder": self.place} if self.place else {}
        return {"name": self.name, **folder, **{name: known[name] for name in FACTS if name in known}}


@dataclass(frozen=True)
class Source:
    """Where an index comes from: `plan` says what opening it does, `open` makes it first (with threads) where it has to be."""

    name: str
    plan: str
    open: Callable[[int], Index]


def find_index(name: str, system: SystemSpec | None = None, build: Build | None = None) -> Callable[[str], Source]:
    """What a name of an index means: the function from a group of topics to where its index comes from.

    system  what searches it; BM25 where none is named
    build   makes an index that the system can search of a group's own corpus, called as `build_corpus_index`; Lucene's is known

    A folder (of an index: another hides no name) and a prebuilt index serve all groups; a benchmark has an index for each.
    Raises ToolkitError, with the nearest known name, where it is nothing of that, and where the index is of another kind than
    the system searches or holds the vectors of another one (see `toolkit.files.formats.indexes.check_made_with`).
    """
    kind_for(system)
    folder, is_prebuilt, selection = Path(name), name in registry.indexes() or name in registry.index_aliases(), find(name)
    known = is_prebuilt or selection is not None
    if folder.is_dir() and not is_benchmark_folder(name) and (not known or is_index(folder)):
        return lambda group: in_folder(folder, system)
    if is_prebuilt:
        return lambda group: prebuilt(registry.index(name), system)
    if selection is not None:
        benchmark = load(selection.benchmark)
        corpora = _corpora(benchmark, selection.groups)
        only = corpora[0] if len(corpora) == 1 else None
        return lambda group: benchmark_index(benchmark, only or _same(benchmark, group), system, build)
    try:
        collection = open_collection(name)
    except ToolkitError as error:
        known = [*registry.indexes(), *registry.index_aliases(), *registry.benchmarks()]
        message = f"no index {name!r}: neither a folder, nor a prebuilt index, nor a benchmark"
        hint = f"{did_you_mean(name, known)}`tandem index list` names the prebuilt ones"
        raise ToolkitError(message, hint, problems=[*map(str, registry.unread("indexes")), *error.problems]) from error
    return lambda group: benchmark_index(collection, collection.groups[0], system, build)


def _corpora(collection: Collection, groups: Sequence[str]) -> tuple[str, ...]:
    """The groups whose documents these groups have."""
    return tuple(dict.fromkeys(collection.spec.corpus(group) for group in groups))


def _same(benchmark: Collection, group: str) -> str:
    """The group of the same name: topics of one benchmark are searched over one group's corpus at a time."""
    if group not in benchmark.groups:
        name = benchmark.spec.name
        raise ToolkitError(f"{name} has several corpora", f"name one of them: {name}-{f', {name}-'.join(benchmark.groups)}")
    return group


def in_folder(folder: Path, system: SystemSpec | None = None) -> Source:
    """The index in a folder."""
    kind, name = kind_for(system), folder.resolve().name
    check_kind(folder, system)
    place = str(folder.absolute())
    return Source(name, f"the index in {folder}", lambda threads: replace(_index(name, folder, kind, system), place=place))


def prebuilt(spec: IndexSpec, system: SystemSpec | None = None) -> Source:
    """An index of the registry that the system searches, under TANDEM_HOME or downloaded."""
    kind = kind_for(system)
    if spec.kind != kind:
        searcher = system.name if system else "BM25"
        raise ToolkitError(f"index {spec.name} is of kind {spec.kind}", f"{searcher} searches indexes of kind {kind}")
    return download_of(spec, system)


def download_of(spec: IndexSpec, system: SystemSpec | None = None, unpacked: int | None = None) -> Source:
    """The same, whatever searches it. unpacked: the most bytes that its files may have, see
    `toolkit.files.store.archives.unpack`.
    """
    there = index_folder(spec).exists()
    plan = f"the prebuilt index {spec.name}" + ("" if there else f", downloaded first ({spec.size / 1e9:.1f} GB)")

    def open_fetched(threads: int) -> Index:
        return _index(spec.name, fetch_index(spec, unpacked=unpacked), spec.kind, system)

    return Source(spec.name, plan, open_fetched)


def benchmark_index(collection: Collection, group: str, system: SystemSpec | None = None, build: Build | None = None) -> Source:
    """The index of a benchmark's own corpus: the one that comes with Tandem, or one built on first use."""
    kind, name, place = kind_for(system), corpus_name(collection, group), corpus_name(collection, group, system)
    folder = home() / "indexes" / "own" / place
    candidates = (shipped("indexes", kind, place), folder)
    ready = next((there for there in candidates if is_current(there, collection, group, system)), None)
    if ready:
        return Source(name, f"the index of {name} in {ready}", lambda threads: _index(name, ready, kind, system))
    make = build or (build_corpus_index if kind == LUCENE else None)
    if make is None:
        hint = f"make one with `tandem index {name} --type {kind} --system {system.name} --output DIR`"
        raise ToolkitError(f"there is no index of {name} for {system.name} yet", hint)

    if isinstance(collection, Benchmark):
        collection.check_docs(group)

    def open_built(threads: int) -> Index:
        with lock(f"index {place}"):
            if not is_current(folder, collection, group, system):  # another process may have built it meanwhile
                make(collection, group, folder, threads)
        return _index(name, folder, kind, system)

    return Source(name, f"an index of {name}, built first in {folder}", open_built)


def corpus_name(collection: Collection, group: str, system: SystemSpec | None = None) -> str:
    """`infosearch-mini-audience`; the name alone where there are no groups.

    Groups that share a corpus share the name. `.<system>[.<recipe>]` follows where an index is one system's own: it is what
    the folder is called.
    """
    spec = collection.spec
    name = spec.name if len(collection.groups) == 1 else f"{spec.name}-{spec.corpus(group)}"
    maker = [system.name, system.recipe] if system and kind_for(system) != LUCENE else []
    return ".".join(filter(None, [name, *maker])).replace("/", "-")


def build_corpus_index(collection: Collection, group: str, folder: Path, threads: int = 1, command: str = "") -> None:
    """Index a group's own corpus into `folder`, with the language that the registry states for it."""
    from toolkit.retrieval.index.build import build_index

    corpus = corpus_from_docs(corpus_name(collection, group), collection.docs(group))
    build_index(corpus, folder, language=_language(collection, group), threads=threads, command=command)


def is_current(folder: Path, collection: Collection, group: str, system: SystemSpec | None = None) -> bool:
    """Whether a folder holds an index of just these documents, made with just this system where vectors depend on it.

    The documents of ir_datasets do not change: they are not read for it.
    """
    record = read_index_record(folder) if index_kind(folder) == kind_for(system) else None
    if record is None or not (kind_for(system) == LUCENE or made_with(record, system)):
        return False
    if collection.spec.layout == "ir_datasets":
        return True
    return record.get("corpus", {}).get("content") == ContentDigest(collection.docs(group)).hexdigest()


def _index(name: str, folder: Path, kind: str, system: SystemSpec | None) -> Index:
    record = read_index_record(folder)
    if record is None and system and kind != LUCENE:
        say(f"note: no record in {name} says which system made its vectors: {system.name} is assumed")
    return Index(name, folder, record.get("language") if record else None, record, kind)


def named_corpus(name: str, processes: int = 1) -> tuple[Corpus, str]:
    """The corpus to index under a name, and its language: files, or the documents of a benchmark's group or of ir_datasets.

    Raises ToolkitError where it is nothing of that, and where a benchmark has several corpora.
    """
    if name == "-" or (Path(name).exists() and not is_benchmark_folder(name)):
        return corpus_from_files(name, processes), DEFAULT_LANGUAGE
    selection = find(name)
    try:
        collection = load(selection.benchmark) if selection else open_collection(name)
    except ToolkitError as error:
        if selection:
            raise
        message = f"no corpus {name!r}: neither a file or folder, nor a benchmark's corpus, nor an id of ir_datasets"
        raise ToolkitError(message, error.hint) from error
    corpora = _corpora(collection, selection.groups if selection else collection.groups)
    group = corpora[0] if len(corpora) == 1 else _same(collection, "")
    return corpus_from_docs(corpus_name(collection, group), collection.docs(group)), _language(collection, group)


def _language(collection: Collection, group: str) -> str:
    """What the registry states for the group's corpus."""
    spec = collection.spec
    return spec.group(spec.corpus(group)).get("language", DEFAULT_LANGUAGE)
