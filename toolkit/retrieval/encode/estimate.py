"""What encoding will take, before anything is loaded or downloaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import PYTHON
from toolkit.files.store import shown

if TYPE_CHECKING:
    from toolkit.core.templates import Input
    from toolkit.models.encoders.served import ServedEncoder

FLOAT32 = 4  # bytes


def estimate(spec: SystemSpec, count: int, precision: str) -> list[str]:
    """Lines on the memory that the weights need and the room that so many vectors need on disk.

    Of an adapter, and of a checkpoint that is no folder of this machine, only the published size is known.
    """
    from toolkit.models.checkpoints.checkpoint_files import count_parameters
    from toolkit.models.computing import BYTES

    if spec.checkpoint.startswith(PYTHON):
        return [f"vectors: {count:,} times the dimension of {spec.checkpoint} times {FLOAT32} bytes"]
    if spec.base or not _is_here(spec):
        size = f", {spec.size} parameters" if spec.size else ""
        return [f"checkpoint {spec.checkpoint}{size}", f"vectors: {count:,} times the model's dimension times {FLOAT32} bytes"]
    folder = _folder(spec)
    weights = shown(count_parameters(folder) * BYTES[precision])
    lines = [f"checkpoint {spec.checkpoint}: {weights} of memory for the weights in {precision}"]
    dimension = vector_size(folder)
    if dimension is None:
        return lines
    return [*lines, f"vectors: {count:,} x {dimension} float32, {shown(count * dimension * FLOAT32)} on disk"]


def _is_here(spec: SystemSpec) -> bool:
    from toolkit.models.checkpoints.local_checkpoints import PACKAGE

    return spec.checkpoint.startswith(PACKAGE) or Path(spec.checkpoint).expanduser().is_dir()


def _folder(spec: SystemSpec) -> Path:
    from toolkit.models.checkpoints.local_checkpoints import locate

    return locate(spec, side="passage", trust_remote_code=True)  # no code is run: only sizes are read


def asked_of(encoder: ServedEncoder, parts: Iterable[Sequence[Input]], side: str) -> str:
    """What a server would be asked for these inputs, part by part; asks nothing."""
    total: Counter[str] = Counter()
    for inputs in parts:
        total.update(encoder.plan(inputs, side))
    asked = f"{total['requests']:,} requests of about {total['tokens']:,} tokens (estimate) to {encoder.served.place}"
    return f"{total['different']:,} different, {total['cached']:,} cached; {asked}"


def vector_size(folder: Path) -> int | None:
    """The dimension of what a checkpoint gives, from its configuration; None where that does not say it."""
    from toolkit.models.checkpoints.checkpoint_files import read_json, sound
    from toolkit.models.encoders.modules import read_modules

    with sound(folder):
        modules = read_modules(folder)
        for kind, layer in reversed(modules.layers):
            if kind == "Dense":
                return int(read_json(layer / "config.json", {})["out_features"])
        config = read_json(modules.folder / "config.json", {})
        size = config.get("hidden_size") or config.get("d_model")
        return None if size is None else int(size)
