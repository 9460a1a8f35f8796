"""What `registry/architectures.yaml` says: which code of repositories is replaced by what, and which weights may be spare."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import transformers
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models.checkpoints.checkpoint_files import read_json, sound
from toolkit.registry.loader import FOLDER

SHOWN = 20  # names of weights in a message
# of config.json: what says which code is meant, and what transformers writes in another way
LEFT_OUT = ("architectures", "auto_map", "model_type", "rope_scaling", "rope_theta", "torch_dtype", "transformers_version")


def row_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The row that a config.json is computed by; empty where it names no code of its own, or is of another kind."""
    code = (config.get("auto_map") or {}).get("AutoConfig", "")
    row = read_yaml(FOLDER / "architectures.yaml")["own_code"].get(code.rpartition(".")[2], {})
    return row if all(config.get(name, value) == value for name, value in row.get("only", {}).items()) else {}


def is_native(folder: Path) -> bool:
    """Whether a checkpoint is computed without the code that its repository brings, whatever the user trusts."""
    with sound(folder):
        return bool(row_of(read_json(folder / "config.json", {})))


def native(folder: Path, auto: str) -> tuple[transformers.PretrainedConfig, type[transformers.PreTrainedModel]] | None:
    """The configuration and the class by which a checkpoint is computed without its repository's code; None for any other.

    Raises ToolkitError for positions that are scaled in a way that is not known.
    """
    said = read_json(folder / "config.json", {})
    if not (row := row_of(said)):
        return None
    values = said[row["from"]] if "from" in row else said
    kept = {name: value for name, value in values.items() if name not in LEFT_OUT}
    config = transformers.CONFIG_MAPPING[row["type"]](**{**kept, **_positions(folder, values), **row.get("set", {})})
    if "class" in row:
        module, _, name = row["class"].partition(":")
        config.latent_attention_config = said["latent_attention_config"]
        return config, getattr(importlib.import_module(module), name)
    kind = getattr(transformers, auto)._model_mapping[type(config)]
    if "weights" in row:  # one like it under a name of its own, by which transformers knows what its weights are called
        names = ((name, (made,) if isinstance(made, str) else tuple(made)) for name, made in row["weights"].items())
        kind = _renaming(kind, tuple(names))
    return config, kind


def _positions(folder: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """`rope_parameters` of a configuration with rotary positions. NTK-aware scaling by a factor f: the base is multiplied by f,
    and all frequencies are divided by f ** (2 / width of a head), which transformers calls linear."""
    if "rope_theta" not in values:
        return {}
    scaling = values.get("rope_scaling") or {}
    if not scaling:
        return {"rope_parameters": {"rope_type": "default", "rope_theta": values["rope_theta"]}}
    if scaling.get("type") != "ntk" or scaling.get("mixed_b") is not None:
        raise ToolkitError(f"{folder}: its positions are scaled in another way than by NTK ({scaling})", "see rope_scaling")
    factor, head = scaling["factor"], values["hidden_size"] / values["num_attention_heads"]
    linear = {"rope_type": "linear", "factor": factor ** (2 / head), "rope_theta": float(values["rope_theta"] * factor)}
    return {"rope_parameters": linear}


@functools.cache
def _renaming(kind: type, names: tuple[tuple[str, tuple[str, ...]], ...]) -> type:
    from transformers.conversion_mapping import register_checkpoint_conversion_mapping
    from transformers.core_model_loading import Chunk, WeightConverter, WeightRenaming

    made = type(f"{kind.__name__}OfOwnCode", (kind,), {})
    changes = [
        WeightConverter(old, list(new), operations=[Chunk(dim=0)]) if len(new) > 1 else WeightRenaming(old, new[0])
        for old, new in names
    ]
    register_checkpoint_conversion_mapping(made.__name__, changes, overwrite=True)
    return made


def check_weights(name: str, folder: Path, kind: type, *, pooled: bool = False, **options: Any) -> None:
    """ToolkitError unless a checkpoint holds all weights of a class of transformers, in their shapes, and no others.

    The pooler may be missing unless it is computed with (`pooled`). Only names and shapes are read, for a model without memory:
    a size that a configuration makes up costs none.
    """
    how = {"device_map": "meta", "use_safetensors": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    model, report = kind.from_pretrained(folder, **{**options, **how})
    check_report(name, folder, model, report, pooled=pooled)


def check_report(name: str, place: Path, model: Any, report: Mapping[str, Any], *, pooled: bool = False) -> None:
    """The same by what transformers reports of a load."""
    # the registry's patterns of spare weights of the architecture: buffers, heads, and what may be missing
    names = {model.config.model_type, *(model.config.architectures or [])}
    rows = [row for row in read_yaml(FOLDER / "architectures.yaml")["weights"] if not names.isdisjoint(row.get("of", names))]
    parts = ("buffers", "heads", "missing")
    buffers, heads, lacking = (re.compile("|".join(p for row in rows for p in row.get(part, ()))) for part in parts)
    modules, kind = dict(model.named_modules()), type(model).__name__
    others = [each for each in report["unexpected_keys"] if not buffers.fullmatch(each)]
    shapes = [f"{each}: {(*found,)}, not {(*meant,)}" for each, found, meant in report["mismatched_keys"]]
    wrong = {
        f"lacks {{}} weights of {kind}": [each for each in report["missing_keys"] if pooled or not lacking.fullmatch(each)],
        # a head is spare where the model has none by its name
        f"holds {{}} weights that {kind} has not": [
            each for each in others if each.rpartition(".")[0] in modules or not heads.fullmatch(each)
        ],
        f"holds {{}} weights in other shapes than {kind}": shapes,
    }
    if wrong := {what.format(len(names)): sorted(names) for what, names in wrong.items() if names}:
        shown = (f"{what} ({', '.join([*names[:SHOWN], *['...'][: len(names) - SHOWN]])})" for what, names in wrong.items())
        hint = "what a checkpoint lacks would be random: is it complete, of this architecture, and of this --kind?"
        raise ToolkitError(f"{name}: {place} {'; '.join(shown)}", hint)
