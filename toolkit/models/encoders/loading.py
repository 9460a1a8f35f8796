"""From a registry's entry to an encoder: the model's class, its tokenizer, its pooling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints import import_transformers, locate, pick_devices, pick_dtype
from toolkit.models.encoders.modules import load_layers, read_modules
from toolkit.models.encoders.tokens import Framing
from toolkit.models.encoders.towers import Tower, TowerEncoder

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from toolkit.models.encoders import Encoder

FAR = 1_000_000  # transformers' tokenizers say 10**30 where they know no limit


def load(spec: SystemSpec, device: str | None, precision: str | None, batch_size: int, trust: bool) -> Encoder:
    """As `toolkit.models.encoders.load_encoder`."""
    devices = pick_devices(device)
    dtype = pick_dtype(spec, precision, devices[0])
    query = _tower(spec, "query", devices, dtype, trust)
    passage = _tower(spec, "passage", devices, dtype, trust) if spec.passage_checkpoint else query
    return TowerEncoder({"query": query, "passage": passage}, spec.parameters.get("similarity", "cos"), batch_size)


def _tower(spec: SystemSpec, side: str, devices: list[str], dtype: torch.dtype, trust: bool) -> Tower:
    transformers = import_transformers()
    folder = locate(spec, side=side, trust_remote_code=trust)
    modules = read_modules(folder)
    parameters = spec.parameters
    pooling = parameters.get("pooling", "own")
    pooling = modules.pooling if pooling == "own" else pooling
    tokenizer = transformers.AutoTokenizer.from_pretrained(modules.folder, trust_remote_code=trust)
    models = [_model(modules.folder, name, dtype, trust) for name in devices]
    layers = [load_layers(modules.layers, name, dtype) for name in devices]
    return Tower(
        models=models,
        framing=Framing(tokenizer, eos=parameters.get("eos", False)),
        limits={one: _limit(parameters.get(f"{one}_length") or modules.length, tokenizer) for one in ("query", "passage")},
        pooling=pooling,
        mask_prefix=parameters.get("mask_prefix", not modules.include_prompt),
        layers=layers,
        left=parameters.get("padding") == "left",
    )


def _model(folder: Path, device: str, dtype: torch.dtype, trust: bool) -> PreTrainedModel:
    transformers = import_transformers()
    told = {"dtype": dtype, "use_safetensors": True, "trust_remote_code": trust, "attn_implementation": "sdpa"}
    return transformers.AutoModel.from_pretrained(folder, **told).to(device).eval()


def _limit(length: int | None, tokenizer: PreTrainedTokenizerBase) -> int:
    length = length or tokenizer.model_max_length
    if length > FAR:
        raise ToolkitError("no limit")
    return length
