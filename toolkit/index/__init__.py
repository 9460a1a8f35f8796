"""Building, finding and checking indexes: Lucene's, FAISS's, impact indexes and those of late interaction."""

from toolkit.formats.documents import Corpus, corpus_from_docs, corpus_from_files
from toolkit.formats.indexes import read_index_metadata
from toolkit.index.build import Counts, build_index
from toolkit.index.dense import build_dense_index
from toolkit.index.index_types import index_kind, is_index, kind_for
from toolkit.index.locate import Index, Source, build_own, download_of, find_index, is_current, named_corpus, own, own_name
from toolkit.index.per_query_index import build_per_question
from toolkit.index.verify import verify_index

__all__ = [
    "Corpus",
    "Counts",
    "Index",
    "Source",
    "build_dense_index",
    "build_index",
    "build_own",
    "build_per_question",
    "corpus_from_docs",
    "corpus_from_files",
    "download_of",
    "find_index",
    "index_kind",
    "is_current",
    "is_index",
    "kind_for",
    "named_corpus",
    "own",
    "own_name",
    "read_index_metadata",
    "verify_index",
]
