"""Vectors on disk: a folder of shards that grows one by one and is either complete or says that it is not.

A shard is `vectors-00000.npy`, (n, d) float32, and `ids-00000.txt`, one id a line; `tandem.yaml` says what they are of.
"""

import hashlib
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import atomic_path, sha256_of, write_text
from toolkit.files.formats.indexes import FORMAT, NAME, read_index_record, write_yaml_record
from toolkit.files.texts.lines import check_ids

KIND = "vectors"
CHECKED_AT_ONCE = 1 << 16  # rows
RESUME = "run the same `tandem encode` again: it resumes where it stopped"
ENCODE_AGAIN = "remove the folder and encode again"
FIELDS = {"complete": bool, "rows": int, "dimension": int, "side": str, "digest": str, "shards": list}  # of every record
# a header of numpy is a Python literal
NPY_DAMAGE = (ValueError, TypeError, EOFError, OverflowError, MemoryError, RecursionError, SyntaxError, tokenize.TokenError)


@dataclass(frozen=True)
class Shard:
    """What is known of a shard.

    documents     SHA-256 of what was encoded
    vectors, ids  SHA-256 of its two files
    cut           how many of its inputs were truncated at the limit
    lost          how many of its queries have a core query that is fully truncated
    """

    rows: int
    documents: str
    vectors: str
    ids: str
    cut: int = 0
    lost: int = 0


class VectorStore:
    """A folder of vectors while it is made: what is there stays, what is added is on disk.

    Only one process may have it open (`toolkit.files.store.lock`).

    facts     what the vectors are of
    shards    those that are there
    complete  whether there will be more
    """

    def __init__(self, folder: str | Path, facts: Mapping[str, Any]):
        """Open a folder to resume it; one that is not there yet is made with the first shard.

        Raises ToolkitError where the folder holds something else, or vectors of which another thing is said in `facts`.
        """
        self.folder, self.facts = Path(folder), dict(facts)
        self.shards: list[Shard] = []
        self.complete = False
        if not (self.folder / NAME).exists():
            if self.folder.exists() and not (self.folder.is_dir() and not any(self.folder.iterdir())):
                raise ToolkitError(f"{self.folder} exists and holds no vectors", "name another folder, or remove it")
            return
        record = read_vectors_record(self.folder)
        if not record["shards"]:
            return
        for name, value in self.facts.items():
            if record.get(name) != value:
                message = f"{self.folder} holds vectors of {name} {_shown(record.get(name))}, not {_shown(value)}"
                raise ToolkitError(message, "name another folder, or remove it")
        self.shards = [Shard(**shard) for shard in record["shards"]]
        self.complete = record["complete"]
        for left in self.folder.glob(".*.part"):  # of a process that was killed
            left.unlink()

    def begin(self) -> None:
        """Let the folder say what will be in it: one that has only a shard in it would be taken for someone else's."""
        if not self.shards:
            self._write({})

    def add(self, ids: Sequence[str], vectors: np.ndarray, documents: str, *, cut: int = 0, lost: int = 0) -> None:
        """Write the next shard and count it, see `write_shard`; its files are there before anything speaks of them."""
        assert vectors.shape == (len(ids), self.facts["dimension"])
        _check(self.folder, self.facts["side"], ids, vectors)
        self.begin()
        side, number = self.facts["side"], len(self.shards)
        self.count(write_shard(self.folder, number, side, ids, vectors, documents, cut=cut, lost=lost))

    def count(self, shard: Shard) -> None:
        """Count the next shard, whose files are there."""
        self.shards.append(shard)
        self._write({})

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Say that all shards are there, and what else there is to say now (plain values)."""
        self.complete = True
        self._write(facts)
        ours = {path for number in range(len(self.shards)) for path in shard_paths(self.folder, number)}
        for path in {*self.folder.glob("vectors-*.npy"), *self.folder.glob("ids-*.txt")} - ours:
            path.unlink()  # by workers whose shards were never counted, as in a job of more or smaller ones

    def _write(self, more: Mapping[str, Any]) -> None:
        rows = {"rows": sum(shard.rows for shard in self.shards), "digest": _digest(self.shards)}
        shards = [asdict(shard) for shard in self.shards]
        record = {"format": FORMAT, "kind": KIND, "complete": self.complete, **self.facts, **more, **rows, "shards": shards}
        write_yaml_record(self.folder, record)


def write_shard(
    folder: Path,
    number: int,
    side: str,
    ids: Sequence[str],
    vectors: np.ndarray,
    documents: str,
    *,
    cut: int = 0,
    lost: int = 0,
) -> Shard:
    """Write the files of a shard, complete or not at all; a `VectorStore` counts it.

    Vectors are (n, d) float32, parallel to the ids; `documents` is the SHA-256 of what was encoded. Raises ToolkitError for a
    vector that is not finite, and an id that could not stand in a run.
    """
    _check(folder, side, ids, vectors)
    vectors_path, ids_path = shard_paths(folder, number)
    with atomic_path(vectors_path) as part, part.open("wb") as file:
        np.save(file, vectors, allow_pickle=False)
    write_text(ids_path, "".join(f"{one}\n" for one in ids))
    return Shard(len(ids), documents, sha256_of(vectors_path), sha256_of(ids_path), cut, lost)


def _check(folder: Path, side: str, ids: Sequence[str], vectors: np.ndarray) -> None:
    assert vectors.dtype == np.float32
    assert len(vectors) == len(ids)
    check_ids("query_id" if side == "query" else "doc_id", ids)
    _refuse_infinite(folder, vectors, ids)


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors of a folder, complete and in the order in which they were encoded.

    ids       one for each vector
    arrays    those of the shards, (n, d) float32, memory-mapped and read-only
    record  what `tandem.yaml` says: system, recipe, revision, template, similarity; side, precision, dimension, corpus
    """

    folder: Path
    ids: list[str]
    arrays: list[np.ndarray]
    record: dict[str, Any]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dimension(self) -> int:
        """Of each vector."""
        return self.record["dimension"]

    @property
    def digest(self) -> str:
        """SHA-256 over all vectors and ids, shard by shard."""
        return self.record["digest"]

    @cached_property
    def array(self) -> np.ndarray:
        """All of them, (n, d) float32: the file itself where there is one shard, a copy in memory where there are more."""
        return self.arrays[0] if len(self.arrays) == 1 else np.concatenate(self.arrays)


def open_vectors(folder: str | Path, first: int = 0, last: int | None = None) -> Vectors:
    """The vectors of a folder, or its rows from `first` on and before `last`, without opening other shards.

    Only shapes are compared with what was written, see `verify_vectors`. Raises ToolkitError where there are none, where they
    are not complete, where a shard is missing, truncated or of another shape, and for a vector that is not finite.
    """
    folder = Path(folder)
    record = read_complete_record(folder)
    ids: list[str] = []
    arrays, start = [], 0
    for number, shard in enumerate(record["shards"]):
        part = slice(max(first - start, 0), shard["rows"] if last is None else min(last - start, shard["rows"]))
        if last is None or part.start < part.stop:
            shard_ids, array = (column[part] for column in read_vectors_shard(folder, number, record))
            _refuse_infinite(folder, array, shard_ids)
            ids += shard_ids
            arrays.append(array)
        start += shard["rows"]
    return Vectors(folder, ids, arrays, record)


def read_complete_record(folder: Path) -> dict[str, Any]:
    """The record of vectors that are complete; ToolkitError where they are not."""
    record = read_vectors_record(folder)
    if not record["complete"]:
        raise ToolkitError(f"the vectors in {folder} are not complete: {record['rows']} are there", RESUME)
    return record


def verify_vectors(folder: str | Path) -> list[str]:
    """What is not as it was when it was written, a line each; empty where all is well.

    Raises ToolkitError where the folder holds no vectors.
    """
    folder = Path(folder)
    record = read_vectors_record(folder)
    shards = [Shard(**shard) for shard in record["shards"]]
    problems = [] if record["complete"] else ["not complete"]
    for number, shard in enumerate(shards):
        for path, expected in zip(shard_paths(folder, number), (shard.vectors, shard.ids), strict=True):
            if not path.exists():
                problems.append(f"{path.name}: missing")
            elif sha256_of(path) != expected:
                problems.append(f"{path.name}: changed")
    expected = {NAME, *(path.name for number in range(len(shards)) for path in shard_paths(folder, number))}
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    problems += [f"{name}: not part of it" for name in names if name not in expected]
    return problems if _digest(shards) == record["digest"] else [*problems, f"{NAME}: changed"]


def read_vectors_record(folder: str | Path) -> dict[str, Any]:
    """What `tandem.yaml` says of a folder of vectors. ToolkitError where it holds none or cannot be read."""
    record = read_index_record(Path(folder))
    if record is None or record.get("kind") != KIND:
        raise ToolkitError(f"{folder} holds no vectors", "`tandem encode CORPUS --system S --output DIR` makes them")
    wrong = [name for name, kind in FIELDS.items() if type(record.get(name)) is not kind]
    if not wrong and not all(map(_is_shard, record["shards"])):
        wrong = ["shards"]
    if wrong:
        raise ToolkitError(f"{Path(folder) / NAME}: {', '.join(wrong)} is not what `tandem encode` writes", ENCODE_AGAIN)
    return record


def _is_shard(shard: Any) -> bool:
    kinds = {field.name: field.type for field in fields(Shard)}
    needed = {field.name for field in fields(Shard) if field.default is MISSING}
    return isinstance(shard, dict) and needed <= shard.keys() and all(type(shard[name]) is kinds.get(name) for name in shard)


def _shown(value: Any) -> str:
    """For a message: what a mapping says in words, digests by their first digits."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return repr(value[:12] if isinstance(value, str) and len(value) == 64 else value)


def read_vectors_shard(folder: Path, number: int, record: Mapping[str, Any]) -> tuple[list[str], np.ndarray]:
    """Ids and vectors (n, d) float32 of one shard, memory-mapped; ToolkitError where they are not what the record says."""
    shard, dimension = Shard(**record["shards"][number]), record["dimension"]
    vectors_path, ids_path = shard_paths(folder, number)
    for path in (vectors_path, ids_path):
        if not path.exists():
            raise ToolkitError(f"{path} is missing", ENCODE_AGAIN)
    try:
        array = np.load(vectors_path, mmap_mode="r", allow_pickle=False)
        ids = ids_path.read_bytes().decode().split("\n")[:-1]
    except NPY_DAMAGE as error:
        raise ToolkitError(f"{folder}: shard {number} is damaged ({' '.join(str(error).split())})", ENCODE_AGAIN) from error
    if array.shape != (shard.rows, dimension) or array.dtype != np.float32 or len(ids) != shard.rows:
        actual = f"{' x '.join(map(str, array.shape))} {array.dtype} and {len(ids)} ids"
        expected = f"{shard.rows} x {dimension} float32 and {shard.rows} ids"
        raise ToolkitError(f"{folder}: shard {number} has {actual}, {NAME} says {expected}", ENCODE_AGAIN)
    return ids, array


def shard_paths(folder: Path, number: int) -> tuple[Path, Path]:
    """The two files of a shard."""
    return folder / f"vectors-{number:05d}.npy", folder / f"ids-{number:05d}.txt"


def _refuse_infinite(folder: Path, vectors: np.ndarray, ids: Sequence[str]) -> None:
    for start in range(0, len(vectors), CHECKED_AT_ONCE):
        bad = np.flatnonzero(~np.isfinite(vectors[start : start + CHECKED_AT_ONCE]).all(axis=1))
        if len(bad):
            message = f"{folder}: the vector of {ids[start + bad[0]]} is not finite"
            raise ToolkitError(message, "encode with --precision fp32: fp16 ends at 65504", status=1)


def whole_numbers(path: Path) -> np.ndarray:
    """The whole numbers from 0 on in an array file, none below the one before: (n,) int64. ValueError for other content."""
    array = np.load(path, mmap_mode="r")  # mapped: a header cannot ask for more memory than the file has bytes
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array) or array[0] or (np.diff(array) < 0).any():
        raise ValueError(f"{path} has no ascending numbers")
    return np.asarray(array, np.int64)


def _digest(shards: Sequence[Shard]) -> str:
    digest = hashlib.sha256()
    for shard in shards:
        digest.update(f"{shard.rows} {shard.vectors} {shard.ids}\n".encode())
    return digest.hexdigest()
