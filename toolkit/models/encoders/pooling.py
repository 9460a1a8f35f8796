"""One vector for a text from the vectors of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def cls(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The first real token's vector: states (n, t, d), mask (n, t) with 1 for real tokens, on either side of them 0.

    Zeros where the mask is empty, as all poolings have it.
    """
    return _at(states, mask, mask.int().argmax(dim=1))


def last(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The last real token's vector, on whichever side the padding is."""
    positions = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
    return _at(states, mask, positions)


def mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens of the mask, summed in float32."""
    weights = mask.unsqueeze(1).float()
    return (weights @ states.float()).squeeze(1) / weights.sum(dim=2).clamp(min=1)


def _at(states: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Of each text the vector at its position (n,)."""
    import torch

    vectors = states[torch.arange(mask.shape[0], device=mask.device), positions]
    return vectors.masked_fill(~mask.bool().any(dim=1, keepdim=True), 0)


POOLINGS = {"cls": cls, "mean": mean, "last": last}
