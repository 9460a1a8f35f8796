"""Building, finding and checking Lucene indexes."""

from toolkit.index.build import Corpus, Counts, build_index, corpus_from_docs, corpus_from_files, is_index

__all__ = ["Corpus", "Counts", "build_index", "corpus_from_docs", "corpus_from_files", "is_index"]
