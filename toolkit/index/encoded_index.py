"""A corpus, encoded and indexed for the system that encodes it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from toolkit.core.specs import SystemSpec
from toolkit.formats.documents import Corpus
from toolkit.index import Counts


def build_encoded(
    corpus: Corpus,
    spec: SystemSpec,
    encoder: Any,
    output: Path,
    vectors: Path,
    *,
    factory: str = "Flat",
    tuning: str = "",
    threads: int = 1,
    keep: bool = False,
    command: str = "",
) -> Counts:
    """Build the index that a system of kind `dense`, `multivector` or `impact` searches into the folder `output`.

    encoder          what `toolkit.models.encoders.load_for` loads for the system
    vectors          where a dense system's vectors stay until the index is there: an interrupted encoding is resumed
    factory, tuning  of FAISS, see `toolkit.models.vectors`
    keep             leave the vectors there
    command          what rebuilds it, for the record
    """
    if spec.kind == "multivector":
        from toolkit.index.late import build_late_index

        return build_late_index(corpus, encoder, output, command=command)
    if spec.kind == "impact":
        from toolkit.index.impact import build_impact_index

        return build_impact_index(corpus, encoder, output, threads=threads, command=command)
    from toolkit.encode import encode_corpus
    from toolkit.index import build_dense_index
    from toolkit.models.vectors import empty_faiss

    empty_faiss(factory, encoder.dimension, tuning)  # what cannot be built is said before anything is encoded
    encode_corpus(corpus, encoder, spec, vectors)
    counts = build_dense_index(vectors, output, factory, tuning, threads=threads, command=command)
    if not keep:
        shutil.rmtree(vectors)
    return counts
