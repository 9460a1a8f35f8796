"""Encoders: inputs to vectors."""

import importlib
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints.remote_code import code_of
from toolkit.models.computing import settle_arithmetic

# kind of a system -> module and function that load what encodes for it, with torch only when it is asked for
LOADERS = {
    "dense": ("loading", "load"),
    "multivector": ("sentence_transformers_adapter", "load_multivector"),
    "impact": ("sentence_transformers_adapter", "load_sparse"),
}


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
        from toolkit.models.servers.served_models import ServedEncoder

        return ServedEncoder(spec, batch_size=batch_size, **asking)
    if asking:
        raise ToolkitError(f"{spec.name} is loaded here: it has no {', '.join(asking)}", "models on a server have")
    if spec.is_python:
        from toolkit.models.checkpoints.own_systems import OwnEncoder, check_own

        check_own(spec, device=device, precision=precision, trust=trust_remote_code)
        return OwnEncoder(spec, batch_size or 32)
    settle_arithmetic()
    module, name = LOADERS[spec.kind]
    load = getattr(importlib.import_module(f"toolkit.models.encoders.{module}"), name)
    how = {"device": device, "precision": precision, "batch_size": batch_size or 32}
    with code_of(spec.name, trust_remote_code):
        return load(spec, trust_remote_code=trust_remote_code, **how)
