"""One vector for a text from the vectors of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def cls(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The first real token's vector: states (n, t, d), mask (n, t) with 1 for real tokens, on either side of them 0."""
    return states[_rows(mask), mask.int().argmax(dim=1)]


def last(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The last real token's vector, on whichever side the padding is."""
    positions = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
    return states[_rows(mask), positions]


def mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens of the mask, summed in float32; zeros where the mask is empty."""
    weights = mask.unsqueeze(1).float()
    return (weights @ states.float()).squeeze(1) / weights.sum(dim=2).clamp(min=1)


def _rows(mask: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.arange(mask.shape[0], device=mask.device)


POOLINGS = {"cls": cls, "mean": mean, "last": last}
