"""What rerankers have in common that ask a language model for one token and compare two of the possible ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.models.rerankers import loading
from toolkit.models.rerankers.base import ACTIVATIONS, BatchedReranker, Pair, Row
from toolkit.models.rerankers.prompts import PromptEncoder

if TYPE_CHECKING:
    import torch


class TokenLogitsReranker(BatchedReranker):
    """The model, the prompt that pairs are put into, and the two tokens, positive first."""

    def __init__(self, loaded: loading.Loaded, encoder: PromptEncoder, tokens: Sequence[int], activation: str, **common: Any):
        super().__init__(**common)
        self._loaded = loaded
        self._encoder = encoder
        self._token_ids = list(tokens)
        self._activation = ACTIVATIONS[activation]

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs in the prompt."""
        return self._encoder.encode(pairs)

    def compare(self, logits: torch.Tensor) -> np.ndarray:
        """The difference of the two tokens' logits, through the activation; `logits` are (n, vocabulary)."""
        positive, negative = loading.as_scores(logits[:, self._token_ids]).T
        return self._activation(positive - negative)
