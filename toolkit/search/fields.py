"""BM25 over title and text as two fields, over an index that is built when it is first needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.search import check_ids, check_parameters
from toolkit.store import lock, new_folder

DIGEST = "documents.sha256"  # in the index's folder: what it was built from


def search_fields(
    topics: Sequence[Topic],
    docs: Callable[[], Iterable[Doc]],
    folder: Path,
    *,
    k1: float = 0.9,
    b: float = 0.4,
    title: float = 1.0,
    contents: float = 1.0,
    hits: int = 1000,
    threads: int = 1,
    language: str = "en",
    templates: Mapping[str, str] | None = None,
    tag: str = "bm25",
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """The best `hits` documents of each topic by the weighted sum of BM25 in title and text; rounded as Anserini's runs are.

    docs        gives the whole collection, each time it is called
    folder      where the index with the two fields lies; it is built where it is not there or is another collection's
    candidates  query id -> the only documents that it may find

    Raises ToolkitError for parameters without meaning, two topics of one id, and a collection without documents.
    """
    from toolkit.models.multifield import FieldSearcher

    check_parameters(k1, b, hits, threads)
    if min(title, contents) < 0:
        raise ToolkitError(f"the weights of title and contents are {title} and {contents}", "both are numbers from 0 on")
    check_ids(topics)
    open_fields_index(docs, folder, language=language, threads=threads)
    searcher = FieldSearcher(folder, weights={"title": title, "contents": contents}, k1=k1, b=b, language=language)
    sent = [replace(topic, text=topic_input(templates or {}, topic).whole) for topic in topics]
    return searcher.search(sent, hits=hits, threads=threads, tag=tag, candidates=candidates)


def open_fields_index(docs: Callable[[], Iterable[Doc]], folder: Path, *, language: str, threads: int) -> None:
    """Build the index at `folder` unless it is there and holds these documents."""
    from toolkit.models.multifield import index_fields

    digest = _digest(docs(), language)
    with lock(f"fields {folder}"):
        kept = folder / DIGEST
        if kept.exists() and kept.read_text(encoding="ascii") == digest:
            return
        say(f"indexing title and text as two fields in {folder}")
        with new_folder(folder) as part:
            if not index_fields(docs(), part, language=language, threads=threads):
                raise ToolkitError("there are no documents to search", "name a corpus that has some")
            (part / DIGEST).write_text(digest, encoding="ascii")


def _digest(docs: Iterable[Doc], language: str) -> str:
    digest = hashlib.sha256(language.encode())
    for doc in docs:
        for part in doc:
            digest.update(f"{len(part)} {part}".encode())
    return digest.hexdigest()
