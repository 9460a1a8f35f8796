"""Learned sparse retrieval: topics and an impact index make a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.formats.indexes import read_index_record
from toolkit.search.queries import check_made_by, encode_queries

if TYPE_CHECKING:
    from toolkit.models.encoders.sparse import SparseEncoder

KIND = "impact"


def search_impact(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: SparseEncoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """The best `hits` documents of each topic: the run of Anserini's SimpleImpactSearcher, digit for digit.

    index       ours, or one of Pyserini's prebuilt ones, which does not say what made it
    candidates  query id -> the only documents that it may find

    Raises ToolkitError where the folder holds no such index, where another system made it, and for what `encode_queries`
    refuses.
    """
    from toolkit.models.impact import LEVELS, ImpactSearcher, quantise, repeated

    record = read_index_record(index)
    if record is None:
        say(f"note: {index} does not say what made it: that {spec.name} did is not checked")
    elif record["kind"] != KIND:
        raise ToolkitError(f"{index} is an index of kind {record['kind']}", "`tandem index --type impact` makes another")
    else:
        check_made_by(index, record, spec, encoder)
    searcher, levels = ImpactSearcher(index), spec.parameters.get("quantization", LEVELS)
    encoded = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    texts = {each: repeated(quantise(weights, levels)) for each, weights in encoded.items()}
    asked = [replace(topic, text=texts[topic_input(spec.templates, topic)]) for topic in topics]
    run = searcher.search(asked, hits=hits, threads=threads, tag=tag or spec.name, candidates=candidates)
    if without := len(topics) - len(run.query_ids):
        say(f"note: nothing was found in {index} for {without} of {len(topics)} topics")
    return run
