"""Reranking: the best documents of each query are read again, by a model that sees query and document together."""

from toolkit.rerank.pointwise import rerank
from toolkit.rerank.rerank_step import Rerank

__all__ = ["Rerank", "rerank"]
