"""BM25 over title and text as two fields of one Lucene index, both by Anserini's own classes.

A document's score is the sum of its BM25 scores in the fields, each times its weight. Source: BEIR's Pyserini service
(beir-cellar/beir, examples/beir-pyserini), which InstructIR's released code asks.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.models.lucene import jvm
from toolkit.models.lucene.anserini import LUCENE, Searcher
from toolkit.models.lucene.anserini_index import indexing
from toolkit.models.lucene.jvm import java_class


def index_fields(docs: Iterable[Doc], folder: Path, *, language: str = "en", threads: int = 1) -> int:
    """Index title and text (as `contents`) of documents into an empty folder, and return how many there are.

    Raises ToolkitError where Anserini did not take every document (one without a word in its text among them).
    """
    with indexing(folder, language=language, threads=threads, fields=["title"]) as indexer:
        for doc in docs:
            indexer.add_line(json.dumps({"id": doc.doc_id, "contents": doc.text, "title": doc.title}) + "\n")
    return indexer.documents


class FieldSearcher(Searcher):
    """BM25 over several fields: weights, field -> factor."""

    def __init__(self, index: Path, *, weights: Mapping[str, float], k1: float = 0.9, b: float = 0.4, language: str = "en"):
        super().__init__(index, k1=k1, b=b, language=language)
        self._weights = dict(weights)

    def _query_builder(self) -> jvm.Function:
        weights = java_class("java.util.HashMap")()
        for field, weight in self._weights.items():
            weights.put(java_class("java.lang.String")(field), java_class("java.lang.Float")(weight))
        return jvm.bound(
            java_class("io.anserini.search.query.BagOfWordsQueryGenerator")(),
            "io.anserini.search.query.QueryGenerator",
            "buildQuery",
            f"(Ljava/util/Map;{LUCENE}/analysis/Analyzer;Ljava/lang/String;){LUCENE}/search/Query;",
            jvm.cast("java.util.Map", weights),
            self._analyzer,
        )
