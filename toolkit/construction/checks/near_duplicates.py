"""Near-duplicates of texts, by shared characters and by meaning; those of a benchmark within a group and across groups.

Texts are compared as sets of shingles (SHINGLE characters of the text in lower case, white space as one blank), which needs no
words and therefore serves every script. Candidates are found by MinHash with locality-sensitive hashing (Broder 1997; its bands
as in Leskovec et al., Mining of Massive Datasets, section 3.4; by datasketch), and each is compared exactly: a pair is reported
by its exact Jaccard similarity, so that a chance similarity is never taken for a duplicate. The seed is fixed: the same texts
give the same pairs on every machine.
"""

import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from toolkit.construction.checks.judged_texts import JudgedTexts, sampled
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError

SHINGLE = 5  # characters
PERMUTATIONS = 128
CACHED = 1024  # texts
SEED = 1
THRESHOLD = 0.8  # Jaccard similarity of the shingles
# candidates are looked for from so far below the threshold: there the estimate's standard deviation is 0.035
SLACK = 0.1
WEIGHTS = (0.1, 0.9)  # of pairs that are compared for nothing, and of pairs that are missed
DOCUMENTS, QUERIES = "documents", "queries"
SHINGLES, MEANING = "characters", "meaning"
COSINE = 0.9
SYSTEM = "all-minilm-l6-v2"
BLOCK = 512  # rows of vectors that are compared with all others at once


class NearPair(NamedTuple):
    """Two texts that are nearly one. first: the earlier of the two; jaccard: from the threshold to 1."""

    first: str
    second: str
    jaccard: float


def shingles(text: str) -> frozenset[str]:
    """Every run of SHINGLE characters of a text (NFKC, lower case, white space as one blank); a shorter text as it is."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return frozenset(plain[at : at + SHINGLE] for at in range(max(1, len(plain) - SHINGLE + 1))) if plain else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Share of what two sets have in common; 0 where both are empty: texts without characters are no duplicates."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def near_pairs(texts: Mapping[str, str], threshold: float = THRESHOLD) -> Iterator[NearPair]:
    """All pairs of texts whose shingles have a Jaccard similarity of at least `threshold`, found by MinHash (see the module).

    texts  id -> text; their order decides which of a pair is the first

    Pairs come in the order of their second text, then of their first. Raises ToolkitError for a threshold that is none.
    """
    if not 0 < threshold <= 1:
        raise ToolkitError(f"a threshold of {threshold} for near-duplicates", "a similarity above 0, at most 1")
    from datasketch import MinHash, MinHashLSH

    # SHA-1 of each shingle, datasketch's own choice, would take two thirds of the time
    empty = MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=zlib.crc32)
    index = MinHashLSH(threshold=max(threshold - SLACK, 0.05), num_perm=PERMUTATIONS, weights=WEIGHTS)
    # the shingles of a text take a hundred times its memory: those of candidates alone are made again
    known = lru_cache(CACHED)(lambda text_id: shingles(texts[text_id]))
    place: dict[str, int] = {}
    for text_id, text in texts.items():
        if not (own := shingles(text)):
            continue
        signature = empty.copy()
        signature.update_batch([part.encode("utf-8", "surrogatepass") for part in own])
        found = ((first, jaccard(known(first), own)) for first in sorted(index.query(signature), key=place.__getitem__))
        yield from (NearPair(first, text_id, share) for first, share in found if share >= threshold)
        place[text_id] = len(place)
        index.insert(text_id, signature)


def near_duplicates(texts: Mapping[str, str], threshold: float = THRESHOLD) -> dict[str, NearPair]:
    """The texts to leave out so that no two of the others are near-duplicates: id -> the pair with an earlier text that stays.

    Of several earlier ones the most similar is named, of equally similar ones the earliest.
    """
    left_out: dict[str, NearPair] = {}
    for pair in near_pairs(texts, threshold):
        known = left_out.get(pair.second)
        if pair.first not in left_out and (known is None or pair.jaccard > known.jaccard):
            left_out[pair.second] = pair
    return left_out


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
    threshold: float = THRESHOLD,
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
        near = ((int(first), int(second), share) for first, second, share in near_pairs(by_place, threshold))
        found = {(a, b): Alike(what, SHINGLES, texts[a], texts[b], share) for a, b, share in near}
        for a, b, share in _close(texts, cosine) if dense else ():
            found.setdefault((a, b), Alike(what, MEANING, texts[a], texts[b], share))
        pairs += found.values()
    queries: dict[str, set[str]] = {}  # document -> those that judge it
    for query_id, judged in labels.items():
        for doc_id in judged:
            queries.setdefault(doc_id, set()).add(query_id)
    for place, pair in enumerate(pairs):
        if pair.what == DOCUMENTS:
            first, second = pair.first.item_id, pair.second.item_id
            both = sorted(queries.get(first, set()) & queries.get(second, set()))
            against = (query for query in both if (labels[query][first] > 0) != (labels[query][second] > 0))
            pairs[place] = pair._replace(opposed=next(against, ""))
    return sorted(pairs, key=lambda pair: (pair.what, pair.by, -pair.similarity))


def _close(texts: Sequence[Text], least: float) -> Iterator[tuple[int, int, float]]:
    """Places of pairs of texts whose vectors have at least this cosine, and the cosine."""
    if not 0 < least <= 1:
        raise ToolkitError(f"a cosine of {least:g} for near-duplicates", "above 0, at most 1")
    from toolkit.models import choose_system
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
