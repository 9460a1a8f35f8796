"""BM25 as InfoSearch's released code ran it: every document of the collection is scored for every query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from toolkit.core.columns import Ids, to_arrow
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.core.runs import Run
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.search import check_ids, check_parameters
from toolkit.search.candidates import among


def search_okapi(
    topics: Sequence[Topic],
    docs: Iterable[Doc],
    *,
    k1: float = 1.5,
    b: float = 0.75,
    epsilon: float = 0.25,
    hits: int = 1000,
    templates: Mapping[str, str] | None = None,
    tag: str = "bm25",
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Run:
    """The best `hits` documents of each topic; documents without a word of the query follow with score 0.

    docs        the whole collection, held in memory
    templates   what is searched for and in, see `toolkit.core.templates`
    candidates  query id -> the only documents that it may find

    Scores are rank_bm25's float64 values: write them without rounding. Raises ToolkitError for parameters without meaning,
    two topics of one id, and a collection without documents.
    """
    from toolkit.models.okapi import Okapi, words

    check_parameters(k1, b, hits, threads=1)
    check_ids(topics)
    templates = templates or {}
    ids, contents = [], []
    for doc in docs:
        ids.append(doc.doc_id)
        contents.append(words(doc_input(templates, doc).whole))
    if not ids:
        raise ToolkitError("there are no documents to search", "name a corpus that has some")
    okapi = Okapi(contents, k1=k1, b=b, epsilon=epsilon)
    queries = [topic_input(templates, topic).whole for topic in topics]
    answers: dict[str, np.ndarray] = {}
    with progress("searching", len(queries), "queries") as advance:
        for query in queries:
            if query not in answers:
                answers[query] = okapi.scores(words(query))
            advance(1)
    run = Run(
        tuple(topic.query_id for topic in topics),
        np.repeat(np.arange(len(topics), dtype=np.int32), len(ids)),
        Ids(to_arrow(ids), np.tile(np.arange(len(ids), dtype=np.int32), len(topics))),
        np.concatenate([*(answers[query] for query in queries), np.empty(0)]),
        tag=tag,
    )
    return (run if candidates is None else among(run, candidates)).head(hits)
