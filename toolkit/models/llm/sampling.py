"""Answers that are sampled and not decoded greedily: seeded, and the same whatever else is in the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.lazy_names import torch

SAMPLING = ("temperature", "top_k", "top_p", "seed")


def sampling_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What of a request's options says how its answer is drawn; empty where it is decoded greedily."""
    if not options.get("temperature"):
        return {}
    return {name: options[name] for name in SAMPLING if options.get(name) is not None}


class GumbelSampling:
    """Makes greedy decoding draw: after temperature, top k and top p each row's scores get Gumbel noise of its own.

    The largest of scores with Gumbel noise is a draw from their softmax (Gumbel-max; Maddison et al. 2014, section 2). Each
    row's noise comes from the seed and its own text, so that no answer depends on the others.

    texts  one a row of the batch
    """

    def __init__(self, sampling: Mapping[str, Any], texts: Sequence[str]):
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

        self._warpers = [TemperatureLogitsWarper(float(sampling["temperature"]))]
        if sampling.get("top_k"):
            self._warpers.append(TopKLogitsWarper(sampling["top_k"]))
        if sampling.get("top_p", 1.0) < 1.0:
            self._warpers.append(TopPLogitsWarper(float(sampling["top_p"])))
        seed = sampling.get("seed", 0)
        self._noise = [torch.Generator().manual_seed(_number(f"{seed} {text}")) for text in texts]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores (n, vocabulary) float32, whose largest is the draw."""
        for warper in self._warpers:
            scores = warper(input_ids, scores)
        drawn = torch.stack([torch.rand(scores.shape[1], generator=each, dtype=torch.float64) for each in self._noise])
        gumbel = -torch.log(-torch.log(drawn.clamp(min=1e-300)))
        return scores + gumbel.to(scores)


def _number(text: str) -> int:
    """63 bits of a text's SHA-256."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]) >> 1
