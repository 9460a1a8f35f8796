"""BM25 over title and text as two fields of one Lucene index, both by Anserini's own classes.

A document's score is the sum of its BM25 scores in the fields, each times its weight. Source: BEIR's Pyserini service
(beir-cellar/beir, examples/beir-pyserini), which InstructIR's released code asks.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.models import jvm
from toolkit.models.anserini import LUCENE, Searcher, reason
from toolkit.models.jvm import java_class

OPTIONS = {"collection": "JsonCollection", "fields": "title", "memoryBuffer": "1024"}


def index_fields(docs: Iterable[Doc], folder: Path, *, language: str = "en", threads: int = 1) -> int:
    """Index title and text (as `contents`) of documents into an empty folder, and return how many there are.

    Raises ToolkitError where Anserini did not take every document (one without a word in its text among them).
    """
    with tempfile.TemporaryDirectory(prefix="tandem-fields-") as lines:
        count = _write_lines(docs, Path(lines, "docs.jsonl"))
        options = {"input": lines, "index": str(folder.absolute()), "language": language, "threads": str(threads)}
        collection = java_class("io.anserini.index.IndexCollection")(_settings(**options, **OPTIONS))
        try:
            collection.run()
        except jvm.exception() as error:
            raise ToolkitError(f"indexing fields: {reason(error)}", "see why with --debug", status=1) from error
        indexed = collection.getCounters().indexed.get()
    if indexed != count:
        raise ToolkitError(f"Anserini indexed {indexed} of {count} documents", "a document without text cannot be", status=1)
    (folder / "write.lock").unlink(missing_ok=True)
    return count


def _write_lines(docs: Iterable[Doc], path: Path) -> int:
    """Write documents as Anserini's JSON lines and return how many there are."""
    with path.open("w", encoding="utf-8") as file:
        rows = (json.dumps({"id": doc.doc_id, "contents": doc.text, "title": doc.title}) for doc in docs)
        return sum(bool(file.write(row + "\n")) for row in rows)


def _settings(**options: str) -> Any:
    """IndexCollection's settings, read from a command line as Anserini does: pyjnius cannot assign to its array of fields."""
    settings = java_class("io.anserini.index.IndexCollection$Args")()
    words = java_class("java.util.ArrayList")()
    for name, value in options.items():
        words.add(java_class("java.lang.String")(f"-{name}"))
        words.add(java_class("java.lang.String")(value))
    java_class("org.kohsuke.args4j.CmdLineParser")(settings).parseArgument(words)
    settings.quiet = True
    return settings


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
