"""Documents encoded for indexes that hold more than a vector of each: token vectors, or weights of terms."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.system.yaml_json import decode_json
from toolkit.core.templates import doc_input
from toolkit.engine import Executor
from toolkit.files.formats.indexes import system_facts
from toolkit.files.provenance import model_identity, versions
from toolkit.models.vectors.late import HALF
from toolkit.retrieval.encode.encoding import LIBRARIES, EncodeShards
from toolkit.retrieval.index.shard_folder import compute


@dataclass
class EncodeDocuments(EncodeShards):
    """Some documents at a time become what a late interaction or learned sparse encoder makes of them, in the same order.

    It is a file for each unit, which an interrupted build finds again.

    truncated  documents so far that are longer than the model's limit
    """

    truncated: int = 0

    def facts(self) -> dict[str, Any]:
        """`origin` of the weights and `libraries` for the record; and all that the encoding depends on."""
        encoder = self._load()
        identity = model_identity(self.spec, commits=encoder.origin.get("commits"), precision=encoder.precision, template=False)
        return {**identity, **system_facts(self.spec), "origin": dict(encoder.origin), "libraries": versions(LIBRARIES)}

    def compute(self, packed: Any) -> list[Any]:
        """Encode the documents into a file; its name, and how many are truncated."""
        number, rows = packed
        encoder, docs = self._load(), [Doc(*row) for row in rows]
        before = encoder.truncated["passage"]
        encoded = encoder.encode([doc_input(self.spec.templates, doc) for doc in docs], "passage")
        self.moved(len(docs))
        write, suffix = (write_weights, "json") if self.spec.kind == "impact" else (write_token_vectors, "npz")
        name = f"encoded-{number:06d}.{suffix}"
        write(self.folder / name, encoded)
        return [name, encoder.truncated["passage"] - before]

    def result(self, packed: Any) -> list:
        """See `Work`; the file stays until the index is there."""
        name, truncated = packed
        self.truncated += truncated
        return (read_weights if self.spec.kind == "impact" else read_token_vectors)(self.folder / name)


def encode_documents(executor: Executor, work: EncodeDocuments, parts: Iterable[list[Doc]]) -> Iterator[tuple[list[Doc], list]]:
    """The parts in their order, each with what the encoder makes of it."""
    waiting: deque[list[Doc]] = deque()

    def units() -> Iterator[tuple[int, list[Doc]]]:
        for number, docs in enumerate(parts):
            waiting.append(docs)
            yield number, docs

    for encoded in compute(executor, work, units(), work.folder):
        yield waiting.popleft(), encoded


def write_token_vectors(path: Path, documents: Sequence[np.ndarray]) -> None:
    """Write the vectors (t, dimension) of each document into a file, in half precision, as indexes have them."""
    np.savez(path, lengths=[len(vectors) for vectors in documents], vectors=np.concatenate(documents).astype(HALF))


def read_token_vectors(path: Path) -> list[np.ndarray]:
    """What `write_token_vectors` wrote."""
    with np.load(path, allow_pickle=False) as file:
        return np.split(file["vectors"], np.cumsum(file["lengths"])[:-1])


def write_weights(path: Path, documents: Sequence[dict[str, float]]) -> None:
    """Write the weights of each document's terms into a file."""
    path.write_text(json.dumps(documents), encoding="utf-8")


def read_weights(path: Path) -> list[dict[str, float]]:
    """What `write_weights` wrote; the numbers are the same, bit by bit."""
    return decode_json(path.read_text(encoding="utf-8"))
