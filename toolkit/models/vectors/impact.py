"""Learned sparse retrieval over Lucene, as Anserini and Pyserini do it: a score is the dot product of whole-numbered weights.

A document holds each of its terms as often as it weighs, and so does a query; ImpactSimilarity multiplies the two counts.
Scores and ties are those of Anserini's SimpleImpactSearcher.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.models.lucene.anserini import Searcher
from toolkit.models.lucene.jvm import java_class

RANGE = 5.0  # the weight that becomes the largest whole number
LEVELS = 256


def quantise(weights: Mapping[str, float], levels: int = LEVELS) -> dict[str, int]:
    """Pyserini's whole numbers, round(w / 5 * levels); terms that come to nothing are left out."""
    counts = {term: round(weight / RANGE * levels) for term, weight in weights.items()}
    return {term: count for term, count in counts.items() if count > 0}


def repeated(weights: Mapping[str, int]) -> str:
    """Terms in a text, each as often as it weighs."""
    return " ".join(" ".join([term] * count) for term, count in weights.items())


def json_line(doc: Doc, weights: Mapping[str, int]) -> bytes:
    """A document for `toolkit.models.lucene.anserini_index.indexing`: its weights are searched, its texts can be read back."""
    title = {"title": doc.title} if doc.title else {}
    return json.dumps({"id": doc.doc_id, "contents": doc.contents, **title, "vector": weights}).encode() + b"\n"


class ImpactSearcher(Searcher):
    """Searches an impact index, of ours or of Pyserini's; the topics' texts are terms, `repeated`."""

    def __init__(self, index: Path):
        super().__init__(index)
        self._analyzer = java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
        self._searcher.setSimilarity(java_class("io.anserini.search.similarity.ImpactSimilarity")())
