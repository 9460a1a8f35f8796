"""Where the texts of documents come from: the benchmark, an index that stores them, or a file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.files import check_exists
from toolkit.datasets import Collection, TopicSet, find, is_benchmark_folder, load
from toolkit.files.provenance import comparing
from toolkit.files.store import fetch_index, index_folder
from toolkit.registry.loader import did_you_mean


class TextSource(NamedTuple):
    """The texts of one group of topics.

    place  what to call it in a message
    find   the documents of these ids that it has, by id
    fetch  what finding them downloads first, in words; empty where it is here
    """

    place: str
    find: Callable[[Sequence[str]], dict[str, Doc]]
    fetch: str = ""


Texts = Callable[[str], TextSource]


def texts_from(topics: TopicSet, *, index: str | None = None, docs: str | None = None) -> Texts:
    """The function from a group of topics to where its documents' texts come from.

    index  a folder, a prebuilt index's name or a benchmark
    docs   a file or folder of documents (JSONL, TSV or TREC text)

    Without either, the corpora of the topics' own benchmark. Raises ToolkitError where there is none, and for an index that
    nobody knows.
    """
    if docs is not None and index is not None:
        raise ToolkitError("texts come from --docs or from --index, not from both", "leave one of them out")
    if docs is not None:
        check_exists(docs)
        from toolkit.files.texts.documents import corpus_from_files

        return lambda group: TextSource(docs, lambda ids: _pick(corpus_from_files(docs).documents(), ids))
    if index is not None:
        return _indexed(index)
    if topics.benchmark is None:
        raise ToolkitError(f"{topics.name} names no corpus", "name one with --index or --docs")
    return _own(topics.benchmark)


def downloads(sources: Iterable[TextSource]) -> str:
    """What finding the texts of some groups downloads first, in words; empty where all are here."""
    return ", ".join(dict.fromkeys(source.fetch for source in sources if source.fetch))


def check_texts(wanted: Sequence[str], texts: Mapping[str, Doc], place: str) -> None:
    """ToolkitError for documents that are to be read and have no text."""
    if absent := [doc_id for doc_id in wanted if doc_id not in texts]:
        message = f"no text for {len(absent)} of {len(wanted)} documents ({three(absent)}) in {place}"
        raise ToolkitError(message, "name the index or the file that has their texts with --index or --docs")


def _indexed(name: str) -> Texts:
    from toolkit.models.lucene.stored_texts import stored_docs, stores_texts

    def stored(index: Path, ids: Sequence[str]) -> dict[str, Doc]:
        with comparing([index]):
            return stored_docs(index, ids)

    if Path(name).is_dir() and not is_benchmark_folder(name):
        if not stores_texts(Path(name)):
            raise ToolkitError(f"{name} stores no texts: it is no Lucene index", "name the texts with --docs")
        return lambda group: TextSource(name, lambda ids: stored(Path(name), ids))
    if name in registry.indexes() or name in registry.index_aliases():
        spec = registry.index(name)
        if spec.kind == "faiss":
            raise ToolkitError(f"index {name} has vectors, not texts", "name the texts with --docs, or a Lucene index")
        fetch = "" if index_folder(spec).exists() else f"{spec.name}, downloaded first ({spec.size / 1e9:.1f} GB)"
        return lambda group: TextSource(spec.name, lambda ids: stored(fetch_index(spec), ids), fetch)
    selection = find(name)
    if selection is None:
        known = [*registry.indexes(), *registry.index_aliases(), *registry.benchmarks()]
        hint = f"{did_you_mean(name, known)}`tandem index list` names the prebuilt ones"
        raise ToolkitError(f"no index {name!r}: neither a folder, nor a prebuilt index, nor a benchmark", hint)
    own = _own(load(selection.benchmark))
    return own if len(selection.groups) > 1 else lambda group: own(selection.groups[0])


def _own(benchmark: Collection) -> Texts:
    name = benchmark.spec.name
    return lambda group: TextSource(f"the documents of {name} {group}", lambda ids: _pick(benchmark.docs(group), ids))


def _pick(docs: Iterable[Doc], ids: Sequence[str]) -> dict[str, Doc]:
    wanted = set(ids)
    return {doc.doc_id: doc for doc in docs if doc.doc_id in wanted}
