"""Near-duplicates of texts: candidates by MinHash with locality-sensitive hashing, each compared exactly.

Texts are compared as sets of shingles (SHINGLE characters of the text in lower case, white space as one blank), which needs no
words and therefore serves every script. MinHash (Broder 1997; its bands as in Leskovec et al., Mining of Massive Datasets,
section 3.4; by datasketch) only finds the pairs worth comparing: a pair is reported by its exact Jaccard similarity, so that a
chance similarity is never taken for a duplicate. The seed is fixed: the same texts give the same pairs on every machine.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

SHINGLE = 5  # characters
PERMUTATIONS = 128
CACHED = 1024  # texts
SEED = 1
THRESHOLD = 0.8  # Jaccard similarity of the shingles
# candidates are looked for from so far below the threshold: there the estimate's standard deviation is 0.035
SLACK = 0.1
WEIGHTS = (0.1, 0.9)  # of pairs that are compared for nothing, and of pairs that are missed


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
    minhash, index = _hashing(threshold)
    # the shingles of a text take a hundred times its memory: those of candidates alone are made again
    known = lru_cache(CACHED)(lambda text_id: shingles(texts[text_id]))
    place: dict[str, int] = {}
    for text_id, text in texts.items():
        if not (own := shingles(text)):
            continue
        signature = minhash(own)
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


def _hashing(threshold: float) -> tuple[Callable[[frozenset[str]], MinHash], MinHashLSH]:
    """What makes a signature of shingles, and an empty index of signatures."""
    from datasketch import MinHash, MinHashLSH

    # SHA-1 of each shingle, datasketch's own choice, would take two thirds of the time
    empty = MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=zlib.crc32)

    def signature(parts: frozenset[str]) -> MinHash:
        made = empty.copy()
        made.update_batch([part.encode("utf-8", "surrogatepass") for part in parts])
        return made

    return signature, MinHashLSH(threshold=max(threshold - SLACK, 0.05), num_perm=PERMUTATIONS, weights=WEIGHTS)
