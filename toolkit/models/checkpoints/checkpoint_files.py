"""What a checkpoint's files say of it, read so that one that is damaged, or made to hurt, is one error."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, library
from toolkit.core.system import yaml_json

WEIGHTS = "*.safetensors"
COMPLETE = "is the checkpoint complete?"
# what makes a model larger than its weights, before they are read: the names that transformers' configurations have
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")
EXPERTS = ("num_experts", "num_local_experts")  # whose weights may be one tensor
WIDTHS = (
    *("hidden_size", "d_model", "n_embd", "dim", "hidden_dim", "intermediate_size", "d_ff", "ffn_dim", "d_kv", "vocab_size"),
    *("embedding_size", "type_vocab_size", "num_attention_heads", "num_key_value_heads", "head_dim", "num_labels"),
    *("max_position_embeddings", "n_positions", "n_ctx"),
)
MOST_LAYERS = 2000
FEWEST = 1 << 24  # a width may be this in any model
RANK = 1 << 14  # the largest of an adapter


def read_json(path: Path, absent: Any = None) -> Any:
    """A JSON file of a checkpoint, `absent` where there is none. ToolkitError for a damaged one, or a value of another kind.

    A mapping is expected, or a list where `absent` is one. Configurations may hold Infinity, as Python writes it.
    """
    if not path.exists():
        return absent
    return yaml_json.read_json(path, list if isinstance(absent, list) else dict, COMPLETE, finite=False)


@contextmanager
def sound(folder: Path) -> Iterator[None]:
    """A value of another type than is meant, in what the block reads of a checkpoint's files, as one ToolkitError."""
    try:
        yield
    except ToolkitError:
        raise
    except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError) as error:
        said = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        raise ToolkitError(f"{folder}: its configuration files hold invalid values ({said})", COMPLETE) from error


def inside(folder: Path, name: str) -> Path:
    """A folder of one of a checkpoint's modules. ValueError for one that lies outside of it."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"a module in {name!r}")
    return folder / name


def count_parameters(folder: Path) -> int:
    """The parameters in the safetensors of a folder, from their headers."""
    return sum(_sizes(folder))


def _sizes(folder: Path) -> list[int]:
    """The parameters of each tensor."""
    safetensors, sizes = library("safetensors", "this system", "dense"), []
    # some repositories have all weights a second time, in one file that transformers does not read
    for path in sorted(path for path in folder.glob(WEIGHTS) if not path.name.startswith("consolidated")):
        try:
            with safetensors.safe_open(path, "np") as file:  # checks lengths and offsets, too
                sizes += [math.prod(file.get_slice(name).get_shape()) for name in file.keys()]  # noqa: SIM118
        except (safetensors.SafetensorError, OSError, ValueError, OverflowError) as error:
            raise ToolkitError(f"{path} is no safetensors file ({str(error)[:100]})", COMPLETE) from error
    return sizes


def check_config(folder: Path) -> None:
    """ToolkitError for a configuration of a model that is far larger than its weights: transformers would make it first."""
    with sound(folder):
        sizes = _sizes(folder)
        most = dict.fromkeys(LAYERS, min(MOST_LAYERS, len(sizes))) | dict.fromkeys(EXPERTS, MOST_LAYERS)
        for name, value in _numbers(read_json(folder / "config.json", {})):
            if value > most.get(name, max(FEWEST, 8 * sum(sizes))):
                raise ToolkitError(f"{folder}: {name} is {value}, which is no size of a model with these weights", COMPLETE)
        adapter = read_json(folder / "adapter_config.json", {})
        for rank in (adapter.get("r", 0), *(adapter.get("rank_pattern") or {}).values()):
            if rank > RANK:
                raise ToolkitError(f"{folder}: an adapter's rank is {rank}, beyond {RANK}", COMPLETE)


def _numbers(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """(name, value) of what makes a model large, of the configurations within a configuration too."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif name in (*LAYERS, *EXPERTS, *WIDTHS):
            for number in value if isinstance(value, list) else [value]:
                if number is not None:
                    yield name, number
