"""Listwise reranking with a language model: it is shown a window of passages and answers with their order."""

from toolkit.models.listwise.passages import Window
from toolkit.models.listwise.ranker import ListwiseRanker, Repairs, load_ranker, read_permutation

__all__ = ["ListwiseRanker", "Repairs", "Window", "load_ranker", "read_permutation"]
