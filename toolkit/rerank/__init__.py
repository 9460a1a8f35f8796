"""Reranking: the best documents of each query are read again, by a model that sees query and document together."""

from toolkit.rerank.pointwise import rerank

__all__ = ["rerank"]
