"""Dense retrieval: topics and a FAISS index make a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import encode, to_arrow
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.formats.indexes import check_made_with, read_index_metadata
from toolkit.search import check_ids

if TYPE_CHECKING:
    from toolkit.models.docids import DocIds
    from toolkit.models.encoders import Encoder


def search_dense(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: Encoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
) -> Run:
    """The best `hits` documents of each topic by the inner product of its vector with theirs, all of a smaller index.

    Scores are 32-bit floats as FAISS has them, see `toolkit.models.vectors`. Equal inputs are encoded and searched once.
    Queries that the model's limit cuts are said. Where passages of an index share their document's id, the best one counts.

    Raises ToolkitError for no topics, two of one id, an index that is none or holds the vectors of another system, and one of
    another dimension.
    """
    from toolkit.models.vectors import FaissIndex

    _check(topics, hits, threads)
    metadata = read_index_metadata(index)
    if metadata is not None:
        check_made_with(index, metadata, spec)
    opened = FaissIndex.open(index)
    inputs = [topic_input(spec.templates, topic) for topic in topics]
    distinct = {each: row for row, each in enumerate(dict.fromkeys(inputs))}
    cut, lost = encoder.cut["query"], encoder.lost
    vectors = encoder.encode(list(distinct), "query")
    _say_cut(encoder.cut["query"] - cut, encoder.lost - lost, len(distinct))
    scores, positions = opened.search(vectors, hits, threads)
    rows = np.array([distinct[each] for each in inputs])
    return _run([topic.query_id for topic in topics], scores[rows], positions[rows], opened.ids, tag or spec.name, str(index))


def _check(topics: Sequence[Topic], hits: int, threads: int) -> None:
    if not topics:
        raise ToolkitError("there are no topics to search for", "check the file")
    check_ids(topics)
    if hits < 1 or threads < 1:
        raise ToolkitError(f"hits is {hits}, threads is {threads}", "both are whole numbers from 1 on")


def _say_cut(cut: int, lost: int, queries: int) -> None:
    if cut:
        say(f"note: {cut} of {queries} different queries are longer than the model's limit and were cut")
    if lost:
        say(f"note: {lost} of {queries} different queries lost their core query altogether")


def _run(query_ids: list[str], scores: np.ndarray, positions: np.ndarray, ids: DocIds, tag: str, source: str) -> Run:
    """(m, k) scores and positions as a run; -1 is no document, and a query without any has no lines."""
    queries, columns = np.nonzero(positions >= 0)
    scores = scores[queries, columns]
    places, docs = np.unique(positions[queries, columns], return_inverse=True)
    codes, known = encode(ids.take(to_arrow(places)))
    docs = codes[docs]
    if len(known) < len(places):
        # rows are best first, and the first of equals is what unique returns
        _, first = np.unique(queries * len(known) + docs, return_index=True)
        first.sort()
        say(f"note: {source} has several passages of some documents; the best one of each counts")
        queries, docs, scores = queries[first], docs[first], scores[first]
    found, codes = np.unique(queries, return_inverse=True)
    if len(found) < len(query_ids):
        say(f"note: nothing was found in {source} for {len(query_ids) - len(found)} of {len(query_ids)} topics")
    names = tuple(query_ids[number] for number in found.tolist())
    return Run(names, codes.astype(np.int32), known, docs.astype(np.int32), scores.astype(np.float64), tag=tag)
