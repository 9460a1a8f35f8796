"""Reranking: the best documents of each query are read by a model that sees query and document together."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(__name__, {"pointwise": ("rerank",), "rerank_step": ("Rerank",)})
