"""Encoders: inputs to vectors."""

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import PYTHON
from toolkit.core.templates import Input
from toolkit.models.checkpoints.local_checkpoints import settle_arithmetic
from toolkit.models.checkpoints.remote_code import code_of

SIDES = ("query", "passage")
# kind of a system -> the module whose `load` loads what encodes for it, with torch only when it is asked for
LOADERS = {"dense": "loading", "multivector": "multivector", "impact": "sparse"}


class Encoder(Protocol):
    """What every encoder of a kind that gives one vector a text offers.

    dimension   of the vectors
    similarity  `cos` or `dot`: how its vectors are compared
    precision   `fp32`, `bf16` or `fp16`: the dtype that it computes in
    truncated   side -> how many of the encoded inputs were truncated at the limit
    lost        how many queries have a core query that is fully truncated
    origin      `commits` and digest of the weights that were loaded, see `toolkit.models.checkpoints.weights.origin_of`
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


def load_encoder(
    spec: SystemSpec,
    *,
    device: str | None = None,
    precision: str | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    **asking: Any,
) -> Any:
    """What encodes for a system: an `Encoder` for one of kind `dense`, a `MultiVectorEncoder`, a `SparseEncoder`.

    device      `cpu`, `cuda`, `cuda:0,cuda:1`; None for the first GPU, the CPU where there is none
    precision   `fp32`, `bf16`, `fp16`; None for the entry's on a GPU, fp32 on a CPU
    batch_size  in texts of 128 tokens (32); of a server, texts of a request
    asking      of a server alone, see `toolkit.models.servers.numbers.ServedModel`
    Raises ToolkitError for a system of another kind, and where the checkpoint cannot be had or would be loaded wrongly, see
    `toolkit.models.checkpoints.local_checkpoints`.
    """
    if spec.kind not in LOADERS:
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, which encodes nothing", f"these do: {', '.join(LOADERS)}")
    if spec.loader == "endpoint":
        from toolkit.models.encoders.served import ServedEncoder

        return ServedEncoder(spec, batch_size=batch_size, **asking)
    if asking:
        raise ToolkitError(f"{spec.name} is loaded here: it has no {', '.join(asking)}", "models on a server have")
    if spec.checkpoint.startswith(PYTHON):
        from toolkit.models.checkpoints.own_systems import OwnEncoder, check_own

        check_own(spec, device=device, precision=precision, trust=trust_remote_code)
        return OwnEncoder(spec, batch_size or 32)
    settle_arithmetic()
    module = importlib.import_module(f"toolkit.models.encoders.{LOADERS[spec.kind]}")
    how = {"device": device, "precision": precision, "batch_size": batch_size or 32}
    with code_of(spec.name, trust_remote_code):
        return module.load(spec, trust_remote_code=trust_remote_code, **how)


def check_finite(texts: Sequence[str], vectors: Sequence[np.ndarray], precision: str) -> None:
    """Raise ToolkitError where what a model made of a text is not finite; both sequences are parallel."""
    for text, vector in zip(texts, vectors, strict=True):
        if not np.isfinite(vector).all():
            shown = f"{text[:40]}..." if len(text) > 40 else text
            hint = "fp16 ends at 65504: take --precision fp32 or bf16" if precision == "fp16" else "is the checkpoint complete?"
            raise ToolkitError(f"the model's output for {shown!r} in {precision} is not finite", hint, status=1)
