"""How much alike documents are: cosines of their vectors, made by a dense system or taken from `tandem encode`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home
from toolkit.core.system.progress import progress, say
from toolkit.core.templates import Input, doc_input
from toolkit.files.provenance import comparing, model_identity
from toolkit.files.store.keyed_cache import KeyedCache, key_of
from toolkit.models.checkpoints.local_checkpoints import check_usable, is_pinned, resolved_identity
from toolkit.models.computing import device_of, pick_precision
from toolkit.models.vectors.faiss_index import take_rows
from toolkit.retrieval.diversify.mmr import cosines
from toolkit.retrieval.texts import check_texts

DEFAULT_SYSTEM, DEFAULT_RECIPE = "uae-large-v1", "berds"
AT_ONCE = 512  # texts encoded, and cached, at a time


@dataclass(frozen=True, eq=False)
class Embedded:
    """The vectors of documents: what `mmr` asks for their likeness.

    vectors  (n, d) float32
    rows     query id -> document id -> its row: queries of one group share the mapping, groups may have corpora of their own
    """

    vectors: np.ndarray
    rows: Mapping[str, Mapping[str, int]]

    def __call__(self, query_id: str, doc_ids: Sequence[str]) -> np.ndarray:
        """(n, n) float32, the cosines of these documents."""
        rows = self.rows[query_id]
        return cosines(self.vectors[[rows[doc_id] for doc_id in doc_ids]])


class Wanted(NamedTuple):
    """Documents of some queries.

    texts  of all of `doc_ids`; empty where vectors need none
    place  where they are from, for a message
    """

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    texts: Mapping[str, Doc] = {}
    place: str = ""


@dataclass(frozen=True)
class SystemVectors:
    """Vectors that a dense system makes, each text once; they are cached in TANDEM_HOME/vectors.

    how  of the encoder: `device`, `precision`, `batch_size`, `trust_remote_code`
    """

    spec: SystemSpec
    how: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        check_counts(batch_size=self.how.get("batch_size"))
        if self.spec.kind != "dense":
            hint = "`tandem systems list` names the dense ones"
            raise ToolkitError(f"{self.spec.name} is of kind {self.spec.kind}, not dense", hint)

    needs_texts = True

    def check(self) -> None:
        """ToolkitError for what loading the model will refuse."""
        if self.spec.loader == "endpoint":
            self.encoder.check()
        check_usable(self.spec, device=self.how.get("device"), trust_remote_code=self.how.get("trust_remote_code", False))

    @cached_property
    def encoder(self) -> Any:
        """The model, on its device."""
        from toolkit.models.encoders import load_encoder

        return load_encoder(self.spec, **self.how)

    @cached_property
    def precision(self) -> str:
        """The numbers it computes with; empty where only a server knows."""
        if self.spec.loader == "endpoint":
            return ""
        return pick_precision(self.spec, self.how.get("precision"), device_of(self.spec, self.how.get("device")))

    @cached_property
    def cache(self) -> KeyedCache:
        """The file of vectors of all that a vector depends on beside its text."""
        spec = self.spec
        trust = bool(self.how.get("trust_remote_code"))
        digest = key_of([resolved_identity(spec, trust_remote_code=trust, precision=self.precision), spec.parameters]).hex()
        return KeyedCache(home() / "vectors" / f"{spec.name}.{digest[:12]}.texts.sqlite", "vectors", digest)

    def embed(self, wanted: Sequence[Wanted]) -> Embedded:
        """The vectors of all these documents. ToolkitError where a text is missing."""
        inputs = [self._inputs(part) for part in wanted]
        texts = {key_of(one): one for part in inputs for one in part.values()}
        vector_of = self.cache.get(list(texts), _vector)
        missing = sorted(key for key in texts if key not in vector_of)
        if missing and vector_of:
            say(f"{self.cache.path.name} has {len(vector_of):,} of {len(texts):,} texts")
        with progress(f"encoding with {self.spec.name}", len(missing), "texts") as advance:
            for start in range(0, len(missing), AT_ONCE):
                keys = missing[start : start + AT_ONCE]
                vectors = np.asarray(self.encoder.encode([texts[key] for key in keys], "passage"), np.float32)
                self.cache.put({key: vector.tobytes() for key, vector in zip(keys, vectors, strict=True)})
                vector_of |= zip(keys, vectors, strict=True)
                advance(len(keys))
        if len({len(vector) for vector in vector_of.values()}) > 1:
            raise self.cache.damaged("vectors of several dimensions")
        places = {key: place for place, key in enumerate(vector_of)}
        rows = [{doc_id: places[key_of(one)] for doc_id, one in part.items()} for part in inputs]
        vectors = np.stack(list(vector_of.values()))
        return Embedded(vectors, {query_id: row for part, row in zip(wanted, rows, strict=True) for query_id in part.query_ids})

    def missing(self, wanted: Sequence[Wanted]) -> int:
        """How many texts would have to be encoded; all where only the hub knows which commit the checkpoint is."""
        keys = {key_of(one) for part in wanted for one in self._inputs(part).values()}
        return len(keys) - (len(self.cache.get(list(keys), _vector)) if is_pinned(self.spec) else 0)

    def facts(self) -> dict[str, Any]:
        """For the record."""
        spec = self.spec
        recipe = {"recipe": spec.recipe} if spec.recipe else {}
        identity = model_identity(spec, precision=self.precision, template=False)
        return {"system": spec.name, **recipe, **identity, "passage": spec.templates.get("passage", "{contents}")}

    def _inputs(self, part: Wanted) -> dict[str, Input]:
        check_texts(part.doc_ids, part.texts, part.place)
        return {doc_id: doc_input(self.spec.templates, part.texts[doc_id]) for doc_id in part.doc_ids}


@dataclass(frozen=True)
class StoredVectors:
    """Vectors of a folder that `tandem encode` has made of the corpus."""

    folder: Path

    needs_texts = False

    @cached_property
    def vectors(self) -> Any:
        """What lies there. ToolkitError where it is no complete folder of documents' vectors."""
        from toolkit.files.formats.vectors import open_vectors

        with comparing([self.folder]):
            found = open_vectors(self.folder)
        if found.record["side"] != "passage":
            raise ToolkitError(f"{self.folder} holds vectors of topics", "name a folder with those of documents")
        return found

    def embed(self, wanted: Sequence[Wanted]) -> Embedded:
        """The vectors of all these documents. ToolkitError where one has none."""
        places = {doc_id: place for place, doc_id in enumerate(self.vectors.ids)}
        doc_ids = dict.fromkeys(doc_id for part in wanted for doc_id in part.doc_ids)
        if absent := [doc_id for doc_id in doc_ids if doc_id not in places]:
            message = f"{self.folder} has no vectors of {len(absent)} of {len(doc_ids)} documents ({three(absent)})"
            raise ToolkitError(message, "encode the corpus that the run was searched in")
        doc_ids = sorted(doc_ids, key=places.__getitem__)
        vectors = take_rows(self.vectors.arrays, np.array([places[doc_id] for doc_id in doc_ids]))
        rows = {doc_id: row for row, doc_id in enumerate(doc_ids)}
        return Embedded(vectors, {query_id: rows for part in wanted for query_id in part.query_ids})

    def missing(self, wanted: Sequence[Wanted]) -> int:
        """Nothing has to be encoded."""
        return 0

    def facts(self) -> dict[str, Any]:
        """For the record."""
        known = self.vectors.record
        model = {name: known[name] for name in ("system", "recipe", "checkpoint", "revision", "precision") if known.get(name)}
        return {"vectors": self.folder.name, "digest": self.vectors.digest, **model}


def _vector(blob: bytes) -> np.ndarray:
    """A vector as it was cached. ValueError for anything else."""
    vector = np.frombuffer(blob, np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("a vector with numbers that are not finite")
    return vector
