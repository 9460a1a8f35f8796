"""Diversification: the best documents of a run in an order in which they do not repeat one another."""

from toolkit.retrieval.diversify.mmr import cosines, mmr

__all__ = ["cosines", "mmr"]
