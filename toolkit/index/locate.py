"""From the name of an index to its folder: a folder, a prebuilt index, or a benchmark's own corpus, indexed on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.benchmarks import Collection, find, load, open_collection
from toolkit.core.errors import ToolkitError
from toolkit.core.home import home
from toolkit.core.shipped import shipped
from toolkit.core.specs import IndexSpec
from toolkit.formats.documents import ContentDigest, Corpus, corpus_from_docs, corpus_from_files
from toolkit.formats.indexes import read_index_metadata
from toolkit.index.build import build_index, is_index
from toolkit.registry.loader import did_you_mean
from toolkit.store import fetch_index, index_folder, lock

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, eq=False)
class Index:
    """An index that is there.

    language  its analyzer's; None where nobody has recorded it
    metadata  what `tandem.yaml` says; None for an index of Anserini's own
    """

    name: str
    folder: Path
    language: str | None
    metadata: dict[str, Any] | None

    def facts(self) -> dict[str, Any]:
        """What a run's metadata say of it."""
        if self.metadata is None:
            return {"name": self.name}
        return {"name": self.name, "documents": self.metadata["documents"], "corpus": self.metadata["corpus"]}


@dataclass(frozen=True)
class Source:
    """Where an index comes from.

    plan  what opening it will do, in words
    open  makes it where it is not there yet (with this many threads) and returns it
    """

    name: str
    plan: str
    open: Callable[[int], Index]


def find_index(name: str) -> Callable[[str], Source]:
    """What a name of an index means: the function from a group of topics to where its index comes from.

    A folder and a prebuilt index serve all groups; a benchmark has an index for each of its own.

    Raises ToolkitError, with the nearest known name, where it is nothing of that.
    """
    if Path(name).is_dir():
        return lambda group: in_folder(Path(name))
    if name in registry.indexes() or name in registry.index_aliases():
        return lambda group: prebuilt(registry.index(name))
    selection = find(name)
    if selection is not None:
        benchmark = load(selection.benchmark)
        only = selection.groups[0] if len(selection.groups) == 1 else None
        return lambda group: own(benchmark, only or _same(benchmark, group))
    try:
        collection = open_collection(name)
    except ToolkitError as error:
        known = [*registry.indexes(), *registry.index_aliases(), *registry.benchmarks()]
        raise ToolkitError(
            f"no index {name!r}: neither a folder, nor a prebuilt index, nor a benchmark",
            f"{did_you_mean(name, known)}`tandem index list` names the prebuilt ones",
        ) from error
    return lambda group: own(collection, collection.groups[0])


def _same(benchmark: Collection, group: str) -> str:
    """The group of the same name: topics of one benchmark are searched over one group's corpus at a time."""
    if group not in benchmark.groups:
        name = benchmark.spec.name
        raise ToolkitError(f"{name} has several corpora", f"name one of them: {name}-{f', {name}-'.join(benchmark.groups)}")
    return group


def in_folder(folder: Path) -> Source:
    """The index in a folder."""
    if not is_index(folder):
        raise ToolkitError(f"{folder} holds no Lucene index", "`tandem index CORPUS --output DIR` makes one")
    return Source(folder.resolve().name, f"the index in {folder}", lambda threads: _index(folder.resolve().name, folder))


def prebuilt(spec: IndexSpec) -> Source:
    """An index of the registry, under TANDEM_HOME or downloaded."""
    if spec.kind != "lucene":
        raise ToolkitError(f"index {spec.name} is of kind {spec.kind}", "BM25 searches indexes of kind lucene")
    there = index_folder(spec).exists()
    plan = f"the prebuilt index {spec.name}" + ("" if there else f", downloaded first ({spec.size / 1e9:.1f} GB)")
    return Source(spec.name, plan, lambda threads: _index(spec.name, fetch_index(spec)))


def own(collection: Collection, group: str) -> Source:
    """The index of a benchmark's own corpus: the one that comes with Tandem, or one built on first use."""
    name = own_name(collection, group)
    folder = home() / "indexes" / "own" / name
    ready = next(
        (there for there in (shipped("indexes", "lucene", name), folder) if is_current(there, collection, group)), None
    )
    if ready:
        return Source(name, f"the index of {name} in {ready}", lambda threads: _index(name, ready))

    def build(threads: int) -> Index:
        with lock(f"index {name}"):
            if not is_current(folder, collection, group):  # another process may have built it meanwhile
                build_own(collection, group, folder, threads=threads)
        return _index(name, folder)

    return Source(name, f"an index of {name}, built first in {folder}", build)


def own_name(collection: Collection, group: str) -> str:
    """`infosearch-mini-audience`; the name alone where there are no groups."""
    name = collection.spec.name if len(collection.groups) == 1 else f"{collection.spec.name}-{group}"
    return name.replace("/", "-")


def build_own(collection: Collection, group: str, folder: Path, *, threads: int = 1, command: str = "") -> None:
    """Index a group's own corpus into `folder`, with the language that the registry states for it."""
    corpus = corpus_from_docs(own_name(collection, group), collection.docs(group))
    build_index(corpus, folder, language=_language(collection, group), threads=threads, command=command)


def is_current(folder: Path, collection: Collection, group: str) -> bool:
    """Whether a folder holds an index of just these documents. Those of ir_datasets do not change: they are not read for it."""
    metadata = read_index_metadata(folder) if is_index(folder) else None
    if metadata is None:
        return False
    if collection.spec.layout == "ir_datasets":
        return True
    return metadata["corpus"].get("content") == ContentDigest(collection.docs(group)).hexdigest()


def _index(name: str, folder: Path) -> Index:
    metadata = read_index_metadata(folder)
    return Index(name, folder, metadata["language"] if metadata else None, metadata)


def named_corpus(name: str) -> tuple[Corpus, str]:
    """The corpus to index under a name, and its language: files, or the documents of a benchmark's group or of ir_datasets.

    Raises ToolkitError where it is nothing of that, and where a benchmark has several corpora.
    """
    if name == "-" or Path(name).exists():
        return corpus_from_files(name), DEFAULT_LANGUAGE
    selection = find(name)
    collection = load(selection.benchmark) if selection else open_collection(name)
    groups = selection.groups if selection else collection.groups
    group = groups[0] if len(groups) == 1 else _same(collection, "")
    return corpus_from_docs(own_name(collection, group), collection.docs(group)), _language(collection, group)


def _language(collection: Collection, group: str) -> str:
    """What the registry states for the group."""
    row = next((row for row in collection.spec.groups if row["name"] == group), {})
    return row.get("language", DEFAULT_LANGUAGE)
