"""BM25 by numpy over arrays of an index's postings: Lucene's scores, bit for bit.

A term's part of a document's score is, in Lucene and here, w - w / (1 + tf c), all in 32 bits: w is the term's idf times how
often the query has it, and c follows from the document's length. 1 + tf c is computed once, when the arrays are made, for one
k1 and b. Lucene adds the parts in 64 bits, in an order of its own, and rounds the sum to 32 bits: where the sum is exact in 64
bits no order matters, and where it may not be (see `Bm25Arrays.is_exact`) the query is Lucene's.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_json
from toolkit.core.tables.columns import to_arrow
from toolkit.files.formats.indexes import BM25_ARRAYS
from toolkit.models.lucene.docids import DocIds

K1, B = 0.9, 0.4  # Anserini's, which the arrays of an index are made for
FORMAT = 1
NAMES = {kind: f"bm25.{kind}" for kind in ("terms", "ids", "counts", "docs", "divisors", "order")}
DTYPES = {"counts": "<i4", "docs": "<i4", "divisors": "<f4", "order": "<i4"}
FREQUENT = 4  # a term that 1 of so many documents has is added as a row of all documents: no place is looked up
ROWS = 1 << 29  # bytes of such rows that stay in memory
EXACT = 2.0**28


class Bm25Arrays:
    """The arrays of an index's folder, memory-mapped. Raises ToolkitError where they are damaged."""

    def __init__(self, folder: Path, about: dict):
        try:
            self.documents, self._with_words = int(about["documents"]), int(about["with_words"])
            arrays = [np.asarray(np.memmap(folder / NAMES[kind], dtype, "r")) for kind, dtype in DTYPES.items()]
            self._terms, self.ids = DocIds(folder / NAMES["terms"]), DocIds(folder / NAMES["ids"])
            self._counts, self._docs, self._divisors, self._order = arrays
            self._ends = np.cumsum(self._counts, dtype=np.int64)
            found = len(self._terms), len(self.ids), self._ends[-1], len(self._docs), len(self._divisors), len(self._order)
            if found != (len(self._counts), self.documents, *[about["postings"]] * 3, self.documents):
                raise ValueError(f"sizes of {found}")
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ToolkitError(f"the arrays for BM25 in {folder} are damaged ({error})", "rebuild the index") from error
        self._row = lru_cache(max(1, ROWS // (8 * self.documents)))(self._full_row)

    def words(self, random: np.random.Generator, count: int) -> str:
        """So many terms, drawn by how many documents have them, as a query: for comparing the arrays with Lucene."""
        drawn = np.searchsorted(self._ends, random.integers(0, self._ends[-1], count), "right")
        return " ".join(self._terms.take(to_arrow(drawn)).to_pylist())

    def weights(self, queries: Sequence[Sequence[str]]) -> list[dict[int, np.float32]]:
        """For the tokens of each query: term -> w, its idf times how often the query has it, of terms that documents have."""
        tokens = list({token for query in queries for token in query})
        places, owners = self._terms.places(to_arrow(tokens))
        terms = {tokens[owner]: int(place) for place, owner in zip(places, owners, strict=True)}
        idfs = {term: np.float32(idf(self._with_words, int(self._counts[term]))) for term in terms.values()}
        counted = (Counter(terms[token] for token in query if token in terms) for query in queries)
        return [{term: np.float32(count) * idfs[term] for term, count in query.items()} for query in counted]

    def best(self, weights: dict[int, np.float32], hits: int) -> tuple[np.ndarray, np.ndarray]:
        """The best `hits` documents, their positions and scores (float32): by score, descending, then id, ascending."""
        # the score of every document in 64 bits; 0 where it has no term
        frequent = [term for term in weights if self._counts[term] * FREQUENT >= self.documents]
        slices = {term: self._slice(term) for term in weights.keys() - set(frequent)}
        docs = [self._docs[place] for place in slices.values()]
        parts = [_parts(weights[term], self._divisors[place]) for term, place in slices.items()]
        sums = np.bincount(np.concatenate(docs), np.concatenate(parts), self.documents) if docs else np.zeros(self.documents)
        for term in frequent:
            sums += self._row(term, weights[term])
        # a number above 0 that `hits` documents reach, if so many are found, and all that are equal to these in 32 bits
        width = max(1, len(sums) // (4 * hits))
        bound = 0.0
        blocks = sums[: len(sums) // width * width].reshape(-1, width).max(1)
        if len(blocks) > hits:  # one document of each of the best blocks: fewer are looked through than all
            bound = float(np.nextafter(np.float32(np.partition(blocks, -hits)[-hits]), np.float32(0)))
        found = np.flatnonzero(sums >= max(bound, np.finfo(np.float64).tiny))
        scores = sums[found].astype(np.float32)
        best = np.lexsort((self._order[found], -scores))[:hits]
        return found[best], scores[best]

    def is_exact(self, weights: dict[int, np.float32]) -> bool:
        """Whether sums of parts of a query's terms are exact in 64 bits, whatever their order.

        A part is a multiple of half the last bit of its weight, which is at least weight / 2**25, and 53 bits hold the sum.
        """
        return not weights or sum(map(float, weights.values())) < EXACT * float(min(weights.values()))

    def _slice(self, term: int) -> slice:
        return slice(self._ends[term] - self._counts[term], self._ends[term])

    def _full_row(self, term: int, weight: np.float32) -> np.ndarray:
        """A term's part of the score of every document: (n,) float64, 0 where it does not have the term."""
        row, place = np.zeros(self.documents), self._slice(term)
        row[self._docs[place]] = _parts(weight, self._divisors[place])
        return row


def _parts(weight: np.float32, divisors: np.ndarray) -> np.ndarray:
    return weight - weight / divisors


def idf(documents: int, count: int) -> float:
    """Lucene's, in 64 bits."""
    return math.log(1 + (documents - count + 0.5) / (count + 0.5))


def open_arrays(folder: Path, k1: float, b: float) -> Bm25Arrays | None:
    """The arrays of an index's folder; None where it has none, or none for this k1 and b: Lucene searches it then."""
    if not (folder / BM25_ARRAYS).is_file():
        return None
    about = read_json(folder / BM25_ARRAYS, dict)
    return Bm25Arrays(folder, about) if (about.get("format"), about.get("k1"), about.get("b")) == (FORMAT, k1, b) else None
