"""Dense retrieval: topics and a FAISS index make a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import Ids, encode, to_arrow
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.formats.indexes import read_index_record
from toolkit.search.candidates import candidate_places
from toolkit.search.queries import check_made_by, encode_queries

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
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """The best `hits` documents of each topic by the inner product of its vector with theirs, all of a smaller index.

    candidates  query id -> the only documents that it may find, all of which are scored; of flat indexes only

    Scores are 32-bit floats as FAISS has them, see `toolkit.models.vectors`. Equal inputs are encoded and searched once.
    Queries that the model's limit cuts are said. Where passages of an index share their document's id, the best one counts.

    Raises ToolkitError for no topics, two of one id, an index that is none or holds the vectors of another system, and one of
    another dimension.
    """
    from toolkit.models.vectors import FaissIndex

    record = read_index_record(index)
    if record is not None:
        check_made_by(index, record, spec, encoder)
    opened = FaissIndex.open(index)
    queries = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    place = {each: row for row, each in enumerate(queries)}
    rows = [place[topic_input(spec.templates, topic)] for topic in topics]
    names, vectors = [topic.query_id for topic in topics], np.stack(list(queries.values()))
    if candidates is not None:
        wanted = candidate_places([candidates[name] for name in names], opened.ids.places, index)
        scores, positions = opened.score(vectors[rows], wanted)
        return _run(names, scores, positions, opened.ids, tag or spec.name, str(index)).head(hits)
    scores, positions = opened.search(vectors, hits, threads)
    return _run(names, scores[rows], positions[rows], opened.ids, tag or spec.name, str(index))


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
    return Run(names, codes.astype(np.int32), Ids(known, docs.astype(np.int32)), scores.astype(np.float64), tag=tag)
