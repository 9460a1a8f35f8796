"""Topics to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic, topics_by_id
from toolkit.files.formats.vectors import VectorStore
from toolkit.files.provenance import topics_facts
from toolkit.files.store import lock_folder
from toolkit.retrieval.encode.corpus import encode_in_steps, encoding_facts, implementation, note_truncated

if TYPE_CHECKING:
    from toolkit.core.specs import SystemSpec
    from toolkit.models.encoders.base import Encoder


def encode_topics(topics: Sequence[Topic], encoder: Encoder, spec: SystemSpec) -> tuple[list[str], np.ndarray]:
    """(query ids, (n, d) float32), in the order of the topics. Raises ToolkitError where two topics have one id."""
    ids = list(topics_by_id(topics))
    with progress("encoding topics", len(topics), "topics") as advance:
        return ids, encode_in_steps(encoder, [topic_input(spec.templates, topic) for topic in topics], "query", advance)


def write_topics_vectors(
    name: str,
    topics: Sequence[Topic],
    encoder: Encoder,
    spec: SystemSpec,
    folder: str | Path,
) -> int:
    """Encode topics into a folder of vectors, as `encode_corpus` does documents; how many there are.

    Raises ToolkitError where the folder holds other vectors, of other topics among them, and where there are no topics.
    """
    if not topics:
        raise ToolkitError(f"{name} has no topics", "check the file")
    folder, facts = Path(folder), encoding_facts(spec, encoder, "query")
    facts["topics"] = topics_facts(name, topics)
    with lock_folder("vectors", folder):
        store = VectorStore(folder, facts)
        if not store.shards:
            cut, lost = encoder.truncated["query"], encoder.lost
            ids, vectors = encode_topics(topics, encoder, spec)
            store.add(ids, vectors, facts["topics"]["sha256"], cut=encoder.truncated["query"] - cut, lost=encoder.lost - lost)
        if not store.complete:
            store.finish({"implementation": implementation(encoder)})
    note_truncated(store.shards, "query")
    return len(topics)
