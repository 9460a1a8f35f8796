"""From documents to an index of token vectors for late interaction, complete or not there."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.core.seen import SeenIds
from toolkit.core.templates import doc_input
from toolkit.formats.documents import is_empty
from toolkit.formats.indexes import read_index_metadata, system_facts
from toolkit.index.build import Counts
from toolkit.index.metadata import write_index_metadata
from toolkit.store import new_folder

if TYPE_CHECKING:
    from toolkit.models.encoders.multivector import MultiVectorEncoder

KIND = "multivector"
SHARD = 1024  # documents that are encoded and written together
PRUNED_FROM = 20_000_000  # vectors: an exact search of so many takes seconds a query and core


def build_late_index(
    docs: Iterable[Doc],
    encoder: MultiVectorEncoder,
    output: Path,
    facts: Callable[[], dict[str, Any]],
    *,
    centroids: int | None = None,
    command: str = "",
) -> Counts:
    """Encode documents into the folder `output`, which is there when it is complete and not before.

    facts      what the metadata say of the corpus; asked for when all documents have been read
    centroids  how many to find for pruning; 0 for none; by default none below `PRUNED_FROM` vectors
    command    what rebuilds it, for the metadata

    Documents without text are left out and counted. Raises ToolkitError for an id that comes twice, for no documents at all,
    and where `output` is something else than an index or an empty folder.
    """
    from toolkit.models.centroids import count_for, write_centroids
    from toolkit.models.late import LateIndex, LateWriter

    check_folder(output)
    started, counts = time.time(), Counts()
    with new_folder(output) as part:
        writer = LateWriter(part)
        with progress("encoding", unit="documents") as advance:
            for shard in _shards(docs, counts):
                writer.add([doc.doc_id for doc in shard], _encode(shard, encoder))
                counts.documents += len(shard)
                advance(len(shard))
        writer.close()
        if not counts.documents:
            raise ToolkitError("there are no documents to index", "see `tandem index --help` for the forms it reads")
        index = LateIndex(part)
        total, width = index.vectors.shape
        if centroids is None:
            centroids = count_for(total) if total >= PRUNED_FROM else 0
        if centroids:
            write_centroids(index, centroids)
        made = {"vectors": total, "dimension": width, "centroids": min(centroids, total), "cut": encoder.cut["passage"]}
        about = {"kind": KIND, **system_facts(encoder.spec), "corpus": facts(), **asdict(counts), **made}
        about["implementation"] = {"command": command, "tandem-ir": __version__, "wall time": round(time.time() - started, 1)}
        write_index_metadata(part, about)
    return counts


def _encode(shard: list[Doc], encoder: MultiVectorEncoder) -> list:
    return encoder.encode([doc_input(encoder.spec.templates, doc) for doc in shard], "passage")


def _shards(docs: Iterable[Doc], counts: Counts) -> Iterator[list[Doc]]:
    """The documents that have text, in groups; the others are counted."""
    seen, docs = SeenIds(), iter(docs)
    while group := list(itertools.islice(docs, SHARD)):
        again = seen.add([doc.doc_id for doc in group])
        if again:
            raise ToolkitError(f"id {group[again[0]].doc_id!r} comes a second time", "give each document its own id")
        shard = [doc for doc in group if not is_empty(doc)]
        counts.empty += len(group) - len(shard)
        if shard:
            yield shard


def check_folder(output: Path) -> None:
    """Raise ToolkitError where `output` is something else than an index of Tandem's or an empty folder."""
    if output.exists() and not (output.is_dir() and (not any(output.iterdir()) or read_index_metadata(output))):
        raise ToolkitError(f"{output} exists and is no index", "name another folder, or remove it")
