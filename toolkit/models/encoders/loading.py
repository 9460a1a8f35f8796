"""From a registry's entry to an encoder: the model's class, its tokenizer, its pooling."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import say
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.architectures import check_weights, is_native, native
from toolkit.models.checkpoints.checkpoint_files import read_json
from toolkit.models.checkpoints.hub import origin_of
from toolkit.models.checkpoints.pretrained import length_limit, merged, table_of_positions
from toolkit.models.encoders.base import SIDES, Encoder
from toolkit.models.encoders.modules import Modules, load_layers, read_modules
from toolkit.models.encoders.tokens import FAR, Framing

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from toolkit.models.encoders.towers import Tower


@dataclass(frozen=True)
class How:
    """What the user chose: where to compute and in which dtype, and whether a repository's own code may run."""

    devices: list[str]
    dtype: torch.dtype
    trust: bool


def load(spec: SystemSpec, *, device: str | None, precision: str | None, batch_size: int, trust_remote_code: bool) -> Encoder:
    """The encoder of a system of kind `dense`; arguments as of `toolkit.models.encoders.load_encoder`."""
    from toolkit.models.encoders.sentence_transformers_adapter import SentenceTransformersEncoder
    from toolkit.models.encoders.towers import TowerEncoder

    devices, trust = computing.pick_devices(device), trust_remote_code
    folders, base = [local_checkpoints.locate(spec, trust_remote_code=trust)], local_checkpoints.base_of(spec)
    how = How(devices, computing.pick_dtype(spec, precision, devices[0]), trust and not is_native(folders[0]))
    # a checkpoint that no entry knows may be trained for another similarity
    folder = folders[0]
    metric = read_json(folder / "config_sentence_transformers.json", {}).get("similarity_fn_name")
    used = "cosine" if spec.parameters.get("similarity", "cos") == "cos" else "dot"
    if isinstance(metric, str) and metric and metric != used and not spec.source:
        say(f"note: {folder} was trained for {metric} similarity, not {used}: an entry of your own can say `similarity`")
    modules = read_modules(folders[0])
    if not modules.simple:
        with computing.explained(spec.name, folders[0]):
            return SentenceTransformersEncoder(spec, folders[0], devices, how.dtype, batch_size, trust)
    if spec.passage_checkpoint:
        folders.append(local_checkpoints.locate(spec, side="passage", trust_remote_code=trust))
    origin = origin_of(*folders, *([base] if base else []))
    query = passage = _tower(spec, modules, base, how)
    if spec.passage_checkpoint:
        passage = _tower(spec, read_modules(folders[1]), base, how)
    towers = {"query": query, "passage": passage}
    with computing.explained(spec.name, folders[0]):  # its dimension is that of a first vector
        return TowerEncoder(towers, spec.parameters.get("similarity", "cos"), batch_size, origin)


def _tower(spec: SystemSpec, modules: Modules, base: Path | None, how: How) -> Tower:
    """The model in the folder `base` with the adapter of the modules, or that of the modules alone."""
    from toolkit.models.encoders.towers import Tower

    parameters = spec.parameters
    pooling = parameters.get("pooling", "own")
    if pooling == "own" and not (pooling := modules.pooling):
        hint = "set it: --pooling cls, mean or last"
        raise ToolkitError(f"{spec.name}: {modules.folder} does not say how it pools (no modules.json)", hint)
    whole = base or modules.folder  # an adapter has the tokenizer of its base
    for device in how.devices:
        local_checkpoints.check_memory(spec, whole, device, computing.precision_of(how.dtype))
    models = [_model(spec, whole, modules.folder, pooling, device, how) for device in how.devices]
    left = parameters.get("padding") == "left"
    if left and table_of_positions(models[0]):
        message = f"{spec.name}: padding is on the left, but the model has absolute positions, which count from the left"
        raise ToolkitError(message, "leave `padding` out: vectors do not depend on it")
    with computing.explained(spec.name, whole):
        # the tokenizer, and what it puts around a text: of the entry's and of its own saying
        tokenizer = computing.import_transformers().AutoTokenizer.from_pretrained(whole, trust_remote_code=how.trust)
        config = read_json(whole / "tokenizer_config.json", {})
        eos = spec.parameters.get("eos", config.get("add_eos_token", False))
        framing = Framing(tokenizer, bos=config.get("add_bos_token", False), eos=eos)
        layers = [load_layers(modules.layers, device) for device in how.devices]
    stated = {side: parameters.get(f"{side}_length") or modules.length for side in SIDES}
    names = [(side, f"{side}_length") for side in SIDES]
    limits = {side: length_limit(spec, name, stated[side], models[0], framing.tokenizer, FAR) for side, name in names}
    mask_prefix = parameters.get("mask_prefix", not modules.include_prompt)
    return Tower(models, framing, limits, pooling, mask_prefix, parameters.get("layer_norm", False), layers, left)


def _model(spec: SystemSpec, whole: Path, adapter: Path, pooling: str, device: str, how: How) -> PreTrainedModel:
    """The model in the folder `whole`, with the adapter merged into it where that is another folder."""
    transformers = computing.import_transformers()
    with computing.explained(spec.name, whole):
        config, kind = native(whole, "AutoModel") or (None, None)
        config = config or transformers.AutoConfig.from_pretrained(whole, trust_remote_code=how.trust)
        if spec.parameters.get("attention") == "bidirectional":
            config.is_causal = False
        config.use_cache = False
        if not kind and config.model_type == "dpr":  # AutoModel takes the question tower's class for both
            kind = getattr(transformers, config.architectures[0])
        elif not kind:  # AutoModel would load T5 with its decoder
            encoders = transformers.MODEL_FOR_TEXT_ENCODING_MAPPING
            kind = transformers.AutoModelForTextEncoding if type(config) in encoders else transformers.AutoModel
        options = {"config": config, "dtype": how.dtype, "trust_remote_code": how.trust}
        if device == how.devices[0]:  # the files are the same for all
            check_weights(spec.name, whole, kind, pooled=pooling == "pooler", **options)
        model = kind.from_pretrained(whole, use_safetensors=True, **options)
    if spec.base:
        model = merged(spec, model, adapter)
    return model.to(device).eval()
