"""Late interaction: topics and an index of token vectors make a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.formats.indexes import read_index_record
from toolkit.search.candidates import candidate_places
from toolkit.search.queries import check_made_by, encode_queries

if TYPE_CHECKING:
    from toolkit.models.encoders.multivector import MultiVectorEncoder

KIND = "multivector"


def search_late(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: MultiVectorEncoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
    probes: int | None = None,
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """The best `hits` documents of each topic by MaxSim, computed exactly over the index's half-precision vectors.

    probes      of an index that has centroids, how many cells to look into for each vector of a query; 0 scores all
                documents; None is the default of `toolkit.models.centroids`
    candidates  query id -> the only documents that it may find, all of which are scored

    Equal queries are searched once. Raises ToolkitError where the folder holds no such index, where another system made it,
    and for what `encode_queries` refuses.
    """
    from toolkit.models.centroids import PROBES, Centroids
    from toolkit.models.late import LateIndex

    record = read_index_record(index)
    if record is None or record["kind"] != KIND:
        raise ToolkitError(f"{index} is no index of token vectors", "`tandem index --type multivector` makes one")
    check_made_by(index, record, spec, encoder)
    probes = PROBES if probes is None else probes
    centroids = Centroids(index, probes) if record["centroids"] and probes else None
    opened = LateIndex(index)
    queries = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    inputs = [topic_input(spec.templates, topic) for topic in topics]
    if candidates is None:
        found = opened.search(list(queries.values()), hits=hits, threads=threads, centroids=centroids)
        found = dict(zip(queries, found, strict=True))
        answers = [found[each] for each in inputs]
    else:
        wanted = candidate_places([candidates[topic.query_id] for topic in topics], opened.ids.places, index)
        answers = opened.score([queries[each] for each in inputs], wanted, hits=hits, threads=threads)
    rows = (
        ScoredDoc(topic.query_id, doc_id, score)
        for topic, answer in zip(topics, answers, strict=True)
        for doc_id, score in zip(opened.names(answer.documents), answer.scores.tolist(), strict=True)
    )
    return Run.from_rows(rows, tag=tag or spec.name)
