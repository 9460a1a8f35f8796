"""From documents to an index of token vectors for late interaction, complete or not there."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit import __version__
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress, say
from toolkit.core.templates import doc_input
from toolkit.formats.documents import Corpus, is_empty
from toolkit.formats.indexes import system_facts
from toolkit.index.build import Counts, check_output
from toolkit.index.index_record import write_index_record
from toolkit.index.index_types import MULTIVECTOR
from toolkit.store import new_folder

if TYPE_CHECKING:
    from toolkit.models.encoders.multivector import MultiVectorEncoder

SHARD = 1024  # documents that are encoded and written together
PRUNED_FROM = 20_000_000  # vectors: an exact search of so many takes seconds a query and core


def build_late_index(
    corpus: Corpus, encoder: MultiVectorEncoder, output: Path, *, centroids: int | None = None, command: str = ""
) -> Counts:
    """Encode a corpus into the folder `output`, which is there when it is complete and not before.

    centroids  how many to find for pruning; 0 for none; by default none below `PRUNED_FROM` vectors
    command    what rebuilds it, for the record

    Documents without text are left out and counted. Raises ToolkitError for a document that is broken, for an id that comes
    twice, for a corpus without text, and where `output` is something else than an index or an empty folder.
    """
    from toolkit.models.centroids import count_for, write_centroids
    from toolkit.models.late import LateIndex, LateWriter

    check_output(output)
    started, counts, before = time.time(), Counts(), encoder.truncated["passage"]
    with new_folder(output) as part:
        writer = LateWriter(part)
        with progress(f"encoding {corpus.name}", unit="documents") as advance:
            for shard in shards(corpus, counts):
                inputs = [doc_input(encoder.spec.templates, doc) for doc in shard]
                writer.add([doc.doc_id for doc in shard], encoder.encode(inputs, "passage"))
                advance(len(shard))
        writer.close()
        if not counts.documents:
            raise ToolkitError(f"{corpus.name} has no documents to index", "see `tandem index --help` for the forms it reads")
        index = LateIndex(part)
        total, width = index.vectors.shape
        if centroids is None:
            centroids = count_for(total) if total >= PRUNED_FROM else 0
        if centroids:
            write_centroids(index, centroids)
        about = {"kind": MULTIVECTOR, **system_facts(encoder.spec), "checkpoint": encoder.spec.checkpoint}
        about |= {"commits": encoder.commits} if encoder.commits else {}
        about |= {"corpus": corpus.facts(), **asdict(counts), "cut": encoder.truncated["passage"] - before}
        about |= {"vectors": total, "dimension": width, "centroids": min(centroids, total)}
        about["implementation"] = {"command": command, "tandem-ir": __version__, "wall time": round(time.time() - started, 1)}
        write_index_record(part, about)
    note_truncated(about["cut"], counts)
    return counts


def note_truncated(truncated: int, counts: Counts) -> None:
    """Note how many passages were truncated at the model's limit."""
    if truncated:
        say(f"note: {truncated:,} of {counts.documents:,} passages are longer than the model's limit and were truncated")


def shards(corpus: Corpus, counts: Counts) -> Iterator[list[Doc]]:
    """The documents that have text, some at a time; all are counted."""
    docs = corpus.documents()
    while group := list(itertools.islice(docs, SHARD)):
        shard = [doc for doc in group if not is_empty(doc)]
        counts.empty += len(group) - len(shard)
        counts.documents += len(shard)
        if shard:
            yield shard
