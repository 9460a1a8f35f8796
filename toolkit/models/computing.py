"""What a model computes with: device, precision, free memory, torch and transformers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError, library
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home
from toolkit.core.system.progress import say
from toolkit.files.store import reason

if TYPE_CHECKING:
    import torch

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
MEMINFO = Path("/proc/meminfo")
# what torch and its libraries read of the environment and then compute in another way
ARITHMETIC = (
    *("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"),
    *("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE", "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"),
)


def free_memory(device: str) -> int:
    """Bytes that are free for a model on `cpu` or a GPU."""
    if device != "cpu":
        return import_torch().cuda.mem_get_info(device)[0]
    if not MEMINFO.exists():  # elsewhere than on Linux only the whole is known
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    sizes = dict(line.split(":") for line in MEMINFO.read_text(encoding="ascii").splitlines())
    return int(sizes["MemAvailable"].split()[0]) * 1024


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


def device_of(spec: SystemSpec, name: str | None) -> str:
    """The device that a system computes on; empty for an object of Python, which knows it alone."""
    return "" if spec.is_python else pick_device(name)


def pick_device(name: str | None) -> str:
    """The first device that a name stands for, see `pick_devices`."""
    return pick_devices(name)[0]


def pick_precision(spec: SystemSpec, precision: str | None, device: str) -> str:
    """The dtype to compute in, by name: the given one, else the entry's on a GPU and fp32 on a CPU.

    An object of Python computes in what it likes, and gives fp32.
    """
    if spec.is_python:
        if precision:
            raise ToolkitError(f"{spec.name} is an object of Python: it has no precision", "leave --precision out")
        return "fp32"
    precision = precision or (spec.parameters.get("precision", "fp32") if device != "cpu" else "fp32")
    if precision not in PRECISIONS:
        raise ToolkitError(f"no precision {precision!r}", f"known: {', '.join(PRECISIONS)}")
    return precision


def pick_dtype(spec: SystemSpec, precision: str | None, device: str) -> torch.dtype:
    """The same as torch has them."""
    return getattr(import_torch(), PRECISIONS[pick_precision(spec, precision, device)])


def precision_of(dtype: torch.dtype) -> str:
    """The name of what `pick_dtype` gave."""
    return next(name for name, dtype_name in PRECISIONS.items() if dtype_name == str(dtype).removeprefix("torch."))


def settle_arithmetic() -> None:
    """Take out of the environment what torch would compute otherwise by, and say so. To be called before it is imported."""
    for name in (name for name in ARITHMETIC if name in os.environ and "torch" not in sys.modules):
        say(f"note: {name} is not used ({os.environ.pop(name)}): it could change results")
    with suppress(OSError):  # else torch makes it in the temporary folder as soon as transformers imports its compiler
        (folder := home() / "torchinductor").mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


def import_torch() -> ModuleType:
    """torch; ToolkitError where the extra is not installed."""
    settle_arithmetic()
    return library("torch", "this system", "dense")


def import_transformers() -> ModuleType:
    """transformers, which then keeps its bars and remarks to itself; ToolkitError where the extra is not installed."""
    transformers = library("transformers", "this system", "dense")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


@contextmanager
def explained(name: str, folder: Path) -> Iterator[None]:
    """Whatever transformers, sentence-transformers or a repository's own code raises over a checkpoint, in one line."""
    try:
        yield
    except ToolkitError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of tokenizers, which is Rust
            raise
        message = f"{name}: transformers {import_transformers().__version__} cannot load {folder} ({reason(error)})"
        raise ToolkitError(message, "is the checkpoint complete, and made for this version?", status=1) from error
