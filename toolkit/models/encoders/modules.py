"""What a checkpoint says about itself in sentence-transformers' files: its pooling, what comes after, its length.

Read here rather than by sentence-transformers, whose import takes longer than encoding a thousand passages and whose encoding
sorts by characters and pads by batches of a fixed number of texts. A checkpoint with other modules than these is loaded by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import torch
from toolkit.models.checkpoints.checkpoint_files import inside, read_json, sound

LAYERS = ("Dense", "LayerNorm", "Normalize")
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
# what a transformer's file may say of it that changes nothing here
SAID = {"do_lower_case": False, "transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
LEGACY = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_lasttoken": "lasttoken"}


@dataclass(frozen=True)
class Modules:
    """A checkpoint's modules.

    simple          whether these fields say it all: if not, sentence-transformers has to load it
    folder          of the transformer itself
    pooling         `cls`, `mean` or `last`; empty where the checkpoint says nothing
    include_prompt  whether a prefix takes part in the pooling
    length          the limit in tokens; None where nothing is said
    layers          (type, folder) of what comes after the pooling
    """

    simple: bool
    folder: Path
    pooling: str = ""
    include_prompt: bool = True
    length: int | None = None
    layers: tuple[tuple[str, Path], ...] = ()


def read_modules(folder: Path) -> Modules:
    """The modules of a checkpoint; without `modules.json` there is the transformer alone. ToolkitError for wrong types."""
    with sound(folder):
        listed = read_json(folder / "modules.json", [])
        kinds = [(entry["type"].rpartition(".")[2], inside(folder, entry["path"])) for entry in listed]
        if not kinds:
            return Modules(True, folder)
        native = all(entry["type"].startswith("sentence_transformers.") for entry in listed)
        names = [name for name, _ in kinds]
        if not native or names[:2] != ["Transformer", "Pooling"] or set(names[2:]) - set(LAYERS):
            return Modules(False, folder)
        transformer = kinds[0][1]
        # older ones are called after the architecture: sentence_roberta_config.json
        config = next((read_json(path) for path in sorted(transformer.glob("sentence_*_config.json"))), {})
        pooling = read_json(kinds[1][1] / "config.json", {})
        if "pooling_mode" in pooling:
            mode = pooling["pooling_mode"] if isinstance(pooling["pooling_mode"], str) else ""
        else:
            modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value]
            mode = LEGACY.get(modes[0], "") if len(modes) == 1 else ""
        if mode not in POOLINGS or not _is_usual(config) or not all(_is_plain(path) for name, path in kinds if name == "Dense"):
            return Modules(False, folder)
        include, length = pooling.get("include_prompt", True), config.get("max_seq_length")
        if not (type(include) is bool and (length is None or (type(length) is int and length > 0))):
            raise ValueError(f"include_prompt is {include!r}, max_seq_length {length!r}")
        return Modules(True, transformer, POOLINGS[mode], include, length, tuple(kinds[2:]))


def load_layers(layers: tuple[tuple[str, Path], ...], device: str) -> list[Callable]:
    """What comes after the pooling, as functions of (n, d) float32 tensors."""
    loaders, normalize = {"Dense": _dense, "LayerNorm": _layer_norm}, torch.nn.functional.normalize
    return [loaders[kind](path).to(device).float().eval() if kind in loaders else normalize for kind, path in layers]


def _is_usual(config: dict[str, Any]) -> bool:
    """Whether a transformer's file says no more than a length: not how to load it, nor that other states are taken."""
    states = config.get("modality_config", {}).get("text", {}).get("method_output_name", "last_hidden_state")
    rest = {name: value for name, value in config.items() if name not in ("max_seq_length", "modality_config", "unpad_inputs")}
    return states == "last_hidden_state" and all(not value or value == SAID.get(name) for name, value in rest.items())


def _is_plain(path: Path) -> bool:
    """Whether a Dense module is a linear layer over the pooled vector and an activation of torch."""
    config = read_json(path / "config.json", {})
    is_torch = config.get("activation_function", "torch.nn.").startswith("torch.nn.")
    inner = config.get("module_input_name", "sentence_embedding") == "sentence_embedding"
    return is_torch and inner and not config.get("use_residual") and not config.get("module_output_name")


def _dense(path: Path) -> torch.nn.Module:
    config = read_json(path / "config.json", {})
    # without memory of its own: what the file of the weights has is what it gets
    linear = torch.nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True), device="meta")
    linear.load_state_dict({name.removeprefix("linear."): value for name, value in _weights(path).items()}, assign=True)
    activation = config.get("activation_function", "torch.nn.modules.activation.Tanh").rpartition(".")[2]
    if activation not in (*torch.nn.modules.activation.__all__, "Identity"):
        raise ValueError(f"no activation {activation!r}")
    return torch.nn.Sequential(linear, getattr(torch.nn, activation)())


def _layer_norm(path: Path) -> torch.nn.Module:
    norm = torch.nn.LayerNorm(read_json(path / "config.json", {})["dimension"], device="meta")
    norm.load_state_dict({name.removeprefix("norm."): value for name, value in _weights(path).items()}, assign=True)
    return norm


def _weights(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    file = path / "model.safetensors"
    if not file.exists():
        raise ToolkitError(f"{path} has no model.safetensors", "pickled weights are not loaded: convert them to safetensors")
    return load_file(file)
