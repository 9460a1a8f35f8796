"""What every encoder offers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input

SIDES = ("query", "passage")


class Encoder(Protocol):
    """What every encoder of a kind that gives one vector a text offers.

    dimension   of the vectors
    similarity  `cos` or `dot`: how its vectors are compared
    precision   `fp32`, `bf16` or `fp16`: the dtype that it computes in
    truncated   side -> how many of the encoded inputs were truncated at the limit
    lost        how many queries have a core query that is fully truncated
    origin      `commits` and digest of the weights that were loaded, see `toolkit.models.checkpoints.hub.origin_of`
    """

    dimension: int
    similarity: str
    precision: str
    truncated: dict[str, int]
    lost: int
    origin: dict[str, Any]

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """(n, dimension) float32 in the order of the inputs; rows of unit length where the similarity is `cos`.

        Raises ToolkitError for a vector that is not finite, and for a batch that a GPU's memory does not hold.
        """

    def token_ids(self, input: Input, side: str) -> list[int]:
        """What the model sees of an input, special tokens and all."""


def check_finite(texts: Sequence[str], vectors: Sequence[np.ndarray], precision: str) -> None:
    """Raise ToolkitError where what a model made of a text is not finite; both sequences are parallel."""
    for text, vector in zip(texts, vectors, strict=True):
        if not np.isfinite(vector).all():
            shown = f"{text[:40]}..." if len(text) > 40 else text
            hint = "fp16 ends at 65504: take --precision fp32 or bf16" if precision == "fp16" else "is the checkpoint complete?"
            raise ToolkitError(f"the model's output for {shown!r} in {precision} is not finite", hint, status=1)
