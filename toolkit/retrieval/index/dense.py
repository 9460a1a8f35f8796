"""From encoded vectors to a FAISS index with its record, complete or not there: one file, or shards that workers make."""

import os
import time
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress, say
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.formats.indexes import read_index_record, write_index_record
from toolkit.files.formats.vectors import KIND, read_complete_record, read_vectors_shard
from toolkit.files.provenance import comparing
from toolkit.files.store import new_folder
from toolkit.files.texts.documents import Counts, SeenIds
from toolkit.models.lucene.docids import DOCID
from toolkit.models.vectors.faiss_index import INDEX, SEED, faiss_module
from toolkit.models.vectors.faiss_shards import shard_paths
from toolkit.retrieval.index.build import check_output
from toolkit.retrieval.index.index_types import FAISS
from toolkit.retrieval.index.shard_folder import compute, shard_folder
from toolkit.retrieval.index.vector_shards import CUTOFF, Build, FillShards, TrainIndex, needs_training, recall, sample_of

# what the record of a folder of vectors says, and not of the vectors themselves
OF_THE_FOLDER = ("format", "kind", "complete", "side", "rows", "digest", "shards", "shard_size")


def build_dense_index(
    vectors: Path,
    output: Path,
    factory: str = "Flat",
    tuning: str = "",
    *,
    shard_size: int | None = None,
    threads: int = 1,
    executor: Executor | None = None,
    command: str = "",
) -> Counts:
    """Build a FAISS index into the folder `output`, which is there when it is complete and not before.

    vectors     a folder of encoded passages, see `toolkit.files.formats.vectors`
    factory     FAISS's name for what is built; `tuning` for how it is searched, see
                `toolkit.models.vectors.faiss_index.train_faiss`
    shard_size  documents a shard, see `toolkit.models.vectors.faiss_shards`; None for one file, with Pyserini's names:
                `index`, and `docid` with an id a line
    threads     of FAISS; with one, the files are the same on every machine of a kind, whoever computes
    executor    who computes the shards; this process, where workers do not see its files
    command     what rebuilds it, for the record

    An interrupted build resumes at the shards that are not there. An approximate index is trained once, with a seeded sample,
    and its recall is measured, printed and recorded. Raises ToolkitError for vectors of queries, an id that comes twice, and
    what `open_vectors`, `train_faiss`, `fill_faiss` and `check_output` refuse.
    """
    check_output(output)
    started, record = time.time(), read_complete_record(vectors)
    with comparing([vectors]):  # all of it before a shard is made, which would be resumed from
        _check(vectors, record)
    rows, dimension = record["rows"], record["dimension"]
    if executor and not executor.sees_files:
        say("note: workers do not see the vectors of this machine: its one process fills the index")
        executor = None
    executor = executor or LocalExecutor()
    size = shard_size or rows
    units = [(number, first, min(first + size, rows)) for number, first in enumerate(range(0, rows, size))]
    with shard_folder(output) as folder:
        build = Build(vectors.absolute(), record["digest"], factory, tuning, threads)
        trained = None
        if needs_training(factory, dimension, tuning):
            [trained] = compute(executor, TrainIndex("training", build, folder), [SEED], folder)
        work = FillShards("indexing", build, folder, folder, dimension, min(size, rows), trained)
        with progress("indexing", rows, "vectors") as work.advance:
            shards = list(compute(executor, work, units, folder))
        made: dict[str, Any] = {"factory": factory, "tuning": tuning}
        if trained is not None and rows > 1:
            made["recall"] = _measured([shard["neighbours"] for shard in shards], rows)
        with new_folder(output) as part:
            names = [(part / INDEX, part / DOCID)] if shard_size is None else [shard_paths(part, unit[0]) for unit in units]
            for unit, places in zip(units, names, strict=True):
                for path, place in zip(shard_paths(folder, unit[0]), places, strict=True):
                    _link(path, place)
            if shard_size is not None:
                made["shards"] = [shard["documents"] for shard in shards]
            facts = {name: value for name, value in record.items() if name not in OF_THE_FOLDER}
            counts = Counts(rows, facts.pop("empty", 0))
            whole = {"kind": FAISS, **facts, "documents": rows, "empty": counts.empty, **made, "vectors": record["digest"]}
            write_index_record(part, whole, command, started, faiss=faiss_module().__version__)
    return counts


def _link(path: Path, place: Path) -> None:
    """Give a file another name; the first one stays too, from which an interrupted build resumes."""
    try:
        os.link(path, place)
    except OSError:  # a file system without links
        path.rename(place)


def _measured(shards: list[dict[str, list]], rows: int) -> dict[str, Any]:
    """The recall of an approximate index for the record; it is printed."""
    sample = sample_of(rows)
    share = round(recall(shards, sample), 4)
    say(f"note: recall@{CUTOFF} is {share:.4f} against exact search, {len(sample)} documents as queries")
    return {"cutoff": CUTOFF, "queries": len(sample), "of": "documents", "recall": share}


def holds_vectors(folder: Path) -> bool:
    """Whether `tandem encode` made what a folder holds."""
    return (read_index_record(folder) or {}).get("kind") == KIND


def _check(vectors: Path, record: dict[str, Any]) -> None:
    """Refuse vectors that no index is made of, by their ids and shapes; only the ids of one shard are in memory at a time."""
    if record["side"] != "passage":
        raise ToolkitError(f"{vectors} holds vectors of topics", "an index is built from those of documents")
    if not record["rows"]:
        raise ToolkitError(f"{vectors} holds no vectors to index", "encode a corpus that has documents")
    seen = SeenIds()
    for number in range(len(record["shards"])):
        ids, _ = read_vectors_shard(vectors, number, record)
        if again := seen.add(ids):
            raise ToolkitError(f"{vectors}: id {ids[again[0]]!r} comes a second time", "encode the corpus again")
