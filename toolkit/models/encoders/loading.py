"""From a registry's entry to an encoder: the model's class, its tokenizer, its pooling."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints import (
    base_of,
    check_memory,
    import_transformers,
    locate,
    pick_devices,
    pick_dtype,
    read_json,
)
from toolkit.models.encoders.modules import Modules, load_layers, read_modules
from toolkit.store import reason

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from toolkit.models.encoders import Encoder
    from toolkit.models.encoders.towers import Tower

FAR = 1_000_000  # transformers' tokenizers say 10**30 where they know no limit


def load(spec: SystemSpec, device: str | None, precision: str | None, batch_size: int, trust: bool) -> Encoder:
    """As `toolkit.models.encoders.load_encoder`."""
    from toolkit.models.encoders.towers import TowerEncoder

    devices = pick_devices(device)
    dtype = pick_dtype(spec, precision, devices[0])
    similarity = spec.parameters.get("similarity", "cos")
    towers, folders = {}, {}
    for side in ("query", "passage"):
        folders[side] = locate(spec, side=side, trust_remote_code=trust)
        check_memory(spec, base_of(spec) or folders[side], devices[0], precision)
        if side == "passage" and folders["passage"] == folders["query"]:
            towers[side] = towers["query"]
            continue
        modules = read_modules(folders[side])
        if not modules.simple:
            from toolkit.models.encoders.foreign import ForeignEncoder

            return ForeignEncoder(spec, folders[side], devices[0], dtype, batch_size, trust)
        towers[side] = _tower(spec, modules, devices, dtype, trust)
    return TowerEncoder(towers, similarity, batch_size)


def _tower(spec: SystemSpec, modules: Modules, devices: list[str], dtype: torch.dtype, trust: bool) -> Tower:
    from toolkit.models.encoders.tokens import Framing
    from toolkit.models.encoders.towers import Tower

    parameters = spec.parameters
    pooling = parameters.get("pooling", "own")
    if pooling == "own" and not (pooling := modules.pooling):
        hint = "say it: --pooling cls, mean or last"
        raise ToolkitError(f"{spec.name}: {modules.folder} does not say how it pools (no modules.json)", hint)
    models = [_model(spec, modules.folder, pooling, name, dtype, trust) for name in devices]
    tokenizer, told = _tokenizer(spec, modules.folder, trust)
    framing = Framing(
        tokenizer, bos=told.get("add_bos_token", False), eos=parameters.get("eos", told.get("add_eos_token", False))
    )
    return Tower(
        models=models,
        framing=framing,
        limits={side: _limit(spec, side, modules.length, tokenizer, models[0]) for side in ("query", "passage")},
        pooling=pooling,
        mask_prefix=parameters.get("mask_prefix", not modules.include_prompt),
        layer_norm=parameters.get("layer_norm", False),
        layers=[load_layers(modules.layers, name, dtype) for name in devices],
        left=parameters.get("padding") == "left",
    )


def _tokenizer(spec: SystemSpec, folder: Path, trust: bool) -> tuple[PreTrainedTokenizerBase, dict]:
    """The tokenizer, an adapter's base's, and what its configuration says."""
    folder = base_of(spec) or folder
    with _explained(spec, folder):
        tokenizer = import_transformers().AutoTokenizer.from_pretrained(folder, trust_remote_code=trust)
    return tokenizer, read_json(folder / "tokenizer_config.json", {})


def _model(spec: SystemSpec, folder: Path, pooling: str, device: str, dtype: torch.dtype, trust: bool) -> PreTrainedModel:
    transformers = import_transformers()
    weights = base_of(spec) or folder
    told = {"dtype": dtype, "use_safetensors": True, "trust_remote_code": trust, "output_loading_info": True}
    with _explained(spec, weights):
        config = transformers.AutoConfig.from_pretrained(weights, trust_remote_code=trust)
        if spec.parameters.get("attention") == "bidirectional":
            config.is_causal = False
        config.use_cache = False
        model, report = _class(config).from_pretrained(weights, config=config, **told)
    missing = sorted(key for key in report["missing_keys"] if pooling == "pooler" or not key.startswith("pooler."))
    if missing:
        message = f"{spec.name}: {weights} lacks {len(missing)} weights of {type(model).__name__} ({missing[0]}, ...)"
        raise ToolkitError(message, "they would be random: is it another architecture's checkpoint?")
    if spec.base:
        model = _merged(spec, model, folder)
    return model.to(device).eval()


@contextmanager
def _explained(spec: SystemSpec, folder: Path) -> Iterator[None]:
    """Whatever transformers, or a repository's own code, raises over a checkpoint, in one line."""
    try:
        yield
    except ToolkitError:
        raise
    except Exception as error:
        import transformers

        message = f"{spec.name}: transformers {transformers.__version__} cannot load {folder} ({reason(error)})"
        raise ToolkitError(message, "is the checkpoint complete, and made for this version?", status=1) from error


def _class(config: PretrainedConfig) -> type:
    """The class of transformers that computes the states of a text's tokens."""
    transformers = import_transformers()
    if config.model_type == "dpr":  # AutoModel takes the question tower's class for both
        return getattr(transformers, config.architectures[0])
    # AutoModel would load T5 with its decoder
    encoders = transformers.MODEL_FOR_TEXT_ENCODING_MAPPING
    return transformers.AutoModelForTextEncoding if type(config) in encoders else transformers.AutoModel


def _merged(spec: SystemSpec, model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    from peft import PeftModel

    with warnings.catch_warnings():
        # PEFT only warns, and the base alone would answer
        warnings.filterwarnings("error", message="Found missing adapter keys")
        try:
            return PeftModel.from_pretrained(model, folder).merge_and_unload()
        except (UserWarning, RuntimeError) as error:
            message = f"{spec.name}: the adapter in {folder} does not fit {type(model).__name__}"
            raise ToolkitError(message, "check the entry's base and base_revision") from error


def _limit(spec: SystemSpec, side: str, own: int | None, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> int:
    """The limit of a side in tokens: the entry's, the checkpoint's, the tokenizer's, the model's."""
    positions = _positions(model)
    told = spec.parameters.get(f"{side}_length") or own
    if told and positions and told > positions:
        message = f"{spec.name}: {side}_length is {told}, but the model has {positions} positions"
        raise ToolkitError(message, f"set {side}_length to {positions} or less")
    trained = getattr(model.config, "max_position_embeddings", None)
    known = [length for length in (tokenizer.model_max_length, positions, trained) if length and length < FAR]
    return told or min(known, default=FAR)


def _positions(model: PreTrainedModel) -> int | None:
    """How many positions a table of learnt ones has; None where the model has no table."""
    from torch import nn

    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa and its kin begin to count after the padding's
            first = module.padding_idx + 1 if module.padding_idx is not None else 0
            return module.num_embeddings - first
    return None
