"""From encoded vectors to a FAISS index with its record, complete or not there."""

from __future__ import annotations

import time
from pathlib import Path

from toolkit.core.duplicate_ids import SeenIds
from toolkit.core.errors import ToolkitError
from toolkit.formats.documents import Counts
from toolkit.formats.indexes import read_index_record, write_index_record
from toolkit.formats.vectors import KIND, Vectors, open_vectors
from toolkit.index.build import check_output
from toolkit.index.index_types import FAISS
from toolkit.models.docids import DOCID
from toolkit.models.vectors import INDEX, build_faiss, faiss_module, write_faiss
from toolkit.store import new_folder

# what the record of a folder of vectors says, and not of the vectors themselves
OF_THE_FOLDER = ("format", "kind", "complete", "side", "rows", "digest", "shards", "shard_size")


def build_dense_index(
    vectors: Path, output: Path, factory: str = "Flat", tuning: str = "", *, threads: int = 1, command: str = ""
) -> Counts:
    """Build a FAISS index into the folder `output`, which is there when it is complete and not before.

    vectors  a folder of encoded passages, see `toolkit.formats.vectors`
    factory  FAISS's name for what is built; `tuning` for how it is searched, see `toolkit.models.vectors.build_faiss`
    command  what rebuilds it, for the record

    The files have Pyserini's names: `index`, and `docid` with an id a line. Raises ToolkitError for vectors of queries, an id
    that comes twice, and what `open_vectors`, `build_faiss` and `check_output` refuse.
    """
    check_output(output)
    started, passages = time.time(), open_vectors(vectors)
    _check(passages)
    with new_folder(output) as part:
        write_faiss(build_faiss(passages.arrays, factory, tuning, threads=threads), part / INDEX)
        (part / DOCID).write_bytes("".join(f"{doc_id}\n" for doc_id in passages.ids).encode())
        facts = {name: value for name, value in passages.record.items() if name not in OF_THE_FOLDER}
        counts = Counts(len(passages), facts.pop("empty", 0))
        made = {"documents": counts.documents, "empty": counts.empty, "factory": factory, "tuning": tuning}
        record = {"kind": FAISS, **facts, **made, "vectors": passages.digest}
        write_index_record(part, record, command, started, faiss=faiss_module().__version__)
    return counts


def holds_vectors(folder: Path) -> bool:
    """Whether `tandem encode` made what a folder holds."""
    return (read_index_record(folder) or {}).get("kind") == KIND


def _check(vectors: Vectors) -> None:
    if vectors.record["side"] != "passage":
        raise ToolkitError(f"{vectors.folder} holds vectors of topics", "an index is built from those of documents")
    if not len(vectors):
        raise ToolkitError(f"{vectors.folder} holds no vectors to index", "encode a corpus that has documents")
    again = SeenIds().add(vectors.ids)
    if again:
        raise ToolkitError(f"{vectors.folder}: id {vectors.ids[again[0]]!r} comes a second time", "encode the corpus again")
