"""Near-duplicates of documents and of queries: within a group and across groups, by shared characters and by meaning."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolkit.construction.checks.judged_texts import JudgedTexts, sampled
from toolkit.construction.documents.near_duplicates import near_pairs
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError

DOCUMENTS, QUERIES = "documents", "queries"
SHINGLES, MEANING = "characters", "meaning"
ALIKE = 0.8  # Jaccard similarity of character shingles
COSINE = 0.9
SYSTEM = "all-minilm-l6-v2"
BLOCK = 512  # rows of vectors that are compared with all others at once


class Text(NamedTuple):
    """A document or a core query.

    group  that it is a document of, or a query of; documents that several groups share belong to the first
    """

    group: str
    item_id: str
    text: str


class Alike(NamedTuple):
    """Two texts that are nearly one.

    what        `DOCUMENTS` or `QUERIES`
    by          `SHINGLES` or `MEANING`
    similarity  Jaccard's, or the cosine
    opposed     a query to which the one is relevant and the other, judged too, is not; empty where there is none
    """

    what: str
    by: str
    first: Text
    second: Text
    similarity: float
    opposed: str = ""

    @property
    def is_contradictory(self) -> bool:
        """Whether one text is both relevant and not relevant to a query."""
        return bool(self.opposed) and self.by == SHINGLES and self.similarity == 1


def texts_of(groups: Sequence[JudgedTexts], most: int | None = None) -> Mapping[str, Sequence[Text]]:
    """All documents and core queries; of more than `most` of a kind those with the smallest digests of their ids.

    A document that several groups have, under one id and with one text, is one, and so is a core query.
    """
    docs, queries = {}, {}
    for each in groups:
        for doc in each.docs.values():
            docs.setdefault((doc.doc_id, doc.contents), Text(each.group, doc.doc_id, doc.contents))
        for topic in (topic for topics in each.topics.values() for topic in topics):
            core, text = topic.group_id or topic.base_id, topic.query or topic.text
            queries.setdefault((core, text if topic.query else ""), Text(each.group, core, text))
    found = {DOCUMENTS: list(docs.values()), QUERIES: list(queries.values())}
    return {what: sampled(texts, most, key=lambda text: text.item_id) if most else texts for what, texts in found.items()}


def near_duplicates_in(
    groups: Sequence[JudgedTexts],
    *,
    threshold: float = ALIKE,
    dense: bool = False,
    cosine: float = COSINE,
    most: int | None = None,
) -> list[Alike]:
    """Pairs of documents and pairs of core queries that are nearly one text, the likest first.

    threshold  Jaccard similarity of character shingles, from which a pair is listed
    dense      also pairs whose vectors by `SYSTEM` have at least the given cosine
    most       as of `texts_of`

    Raises ToolkitError for a similarity or a cosine that is none.
    """
    labels = {query_id: judged for each in groups for query_id, judged in each.labels.items()}
    pairs: list[Alike] = []
    for what, texts in texts_of(groups, most).items():
        by_place = {str(place): text.text for place, text in enumerate(texts)}
        found = {
            (int(a), int(b)): Alike(what, SHINGLES, texts[int(a)], texts[int(b)], share)
            for a, b, share in near_pairs(by_place, threshold)
        }
        for a, b, share in _close(texts, cosine) if dense else ():
            found.setdefault((a, b), Alike(what, MEANING, texts[a], texts[b], share))
        pairs += found.values()
    opposed = _opposed(labels, pairs)
    pairs = [pair._replace(opposed=opposed.get(pair, "")) for pair in pairs]
    return sorted(pairs, key=lambda pair: (pair.what, pair.by, -pair.similarity))


def _opposed(labels: Mapping[str, Mapping[str, int]], pairs: Iterable[Alike]) -> dict[Alike, str]:
    """Pair of documents -> the first query that judges both, one relevant and one not."""
    queries: dict[str, set[str]] = {}
    for query_id, judged in labels.items():
        for doc_id in judged:
            queries.setdefault(doc_id, set()).add(query_id)
    found = {}
    for pair in (pair for pair in pairs if pair.what == DOCUMENTS):
        first, second = pair.first.item_id, pair.second.item_id
        both = sorted(queries.get(first, set()) & queries.get(second, set()))
        against = [query for query in both if (labels[query][first] > 0) != (labels[query][second] > 0)]
        found |= {pair: against[0]} if against else {}
    return found


def _close(texts: Sequence[Text], least: float) -> Iterator[tuple[int, int, float]]:
    """Places of pairs of texts whose vectors have at least this cosine, and the cosine."""
    if not 0 < least <= 1:
        raise ToolkitError(f"a cosine of {least:g} for near-duplicates", "above 0, at most 1")
    from toolkit.registry import choose_system
    from toolkit.retrieval.diversify.embeddings import SystemVectors, Wanted

    ids = [str(place) for place in range(len(texts))]
    docs = {place: Doc(place, "", text.text) for place, text in zip(ids, texts, strict=True)}
    embedded = SystemVectors(choose_system(SYSTEM)).embed([Wanted(("",), ids, docs)])
    vectors = embedded.vectors[[embedded.rows[""][place] for place in ids]]
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors.T
        for row, column in np.argwhere(cosines >= least).tolist():
            if start + row < column:
                yield start + row, column, float(cosines[row, column])
