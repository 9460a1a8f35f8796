"""Building, finding and checking indexes: Lucene's, FAISS's, impact indexes and those of late interaction."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "toolkit.files.texts.documents": ("Corpus", "Counts", "corpus_from_docs", "corpus_from_files"),
        "toolkit.files.formats.indexes": ("read_index_record",),
        "build": ("build_index",),
        "dense": ("build_dense_index",),
        "index_types": ("index_kind", "is_index", "kind_for"),
        "locate": (
            "Index",
            "Source",
            "build_corpus_index",
            "download_of",
            "find_index",
            "is_current",
            "named_corpus",
            "benchmark_index",
            "corpus_name",
        ),
        "per_query_index": ("build_per_question",),
        "verify": ("verify_index",),
    },
)
