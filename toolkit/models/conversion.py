"""Weights in other forms than safetensors, converted once: GGUF, and PyTorch's pickles as far as torch reads them as data.

Every model is then loaded from safetensors, in the one way there is.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import warnings
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, library
from toolkit.core.home import home
from toolkit.core.lazy_names import torch
from toolkit.core.progress import say
from toolkit.store import lock, new_folder
from toolkit.store.digests import file_sha256, write_digests

GGUF = ".gguf"
# weights in PyTorch's form, of a checkpoint or of a module's folder (2_Dense/pytorch_model.bin)
PICKLE = re.compile(r"(\d+_\w+/)?(pytorch_model|adapter_model)(-\d+-of-\d+)?\.bin")
COPIED = (".json", ".txt", ".model", ".jinja", ".metadata", ".safetensors")  # beside the weights that are converted
SAFE = {"pytorch_model": "model", "adapter_model": "adapter_model"}  # how the files are called in safetensors
SAFE_SINCE = (2, 6)  # of torch: before, weights_only could be made to run code (CVE-2025-32434)
INDEX = ".bin.index.json"  # ends the name of the list of pickled parts
PICKLES = "pickled.sha256"  # in a converted folder: what it was made of
REFUSED = re.compile(r"GLOBAL [\w.]+|[Uu]nsupported operand \d+")  # of what torch says: what it is about


def pickles_of(names: Iterable[str]) -> list[str]:
    """Of the files of a checkpoint, the pickled weights of those folders that have no safetensors."""
    names = list(names)
    safe = {name.rpartition("/")[0] for name in names if name.endswith(".safetensors")}
    return sorted(name for name in names if PICKLE.fullmatch(name) and name.rpartition("/")[0] not in safe)


def pickles_in(folder: Path) -> list[str]:
    """The same of a folder."""
    return pickles_of(relative.as_posix() for relative in _files(folder))


def _files(folder: Path) -> list[Path]:
    """The files of a folder and of its modules' folders, by their names in it."""
    paths = (path for pattern in ("*", "*/*") for path in folder.glob(pattern) if path.is_file())
    return sorted(path.relative_to(folder) for path in paths)


def needs_conversion(place: Path) -> bool:
    """Whether a file or a folder has weights in another form."""
    return place.suffix == GGUF if place.is_file() else bool(pickles_in(place))


def converted(name: str, place: Path, *, now: bool = True) -> Path | None:
    """The folder in TANDEM_HOME that holds a checkpoint in safetensors.

    name   of the system, for messages
    place  a folder with pickled weights, or a GGUF file
    now    make it where it is not there yet; else None

    Raises ToolkitError for pickles that torch refuses, what holds no weights, and a GGUF file that transformers cannot read.
    """
    stem = re.sub(r"[^\w.-]", "-", place.name)[:60]
    folder = home() / "converted" / f"{stem}-{_digest(place)[:16]}"
    if folder.is_dir():
        return folder
    if not now:
        return None
    with lock(f"converting {folder.name}"):
        if not folder.is_dir():
            say(f"{name}: converting {place} to safetensors, once")
            with new_folder(folder) as part:
                write_safetensors(name, place, part)
                write_digests(part)
    return folder


def write_safetensors(name: str, place: Path, target: Path) -> None:
    """Write a checkpoint (a folder, a GGUF file) into an empty folder, all of its weights as safetensors."""
    if place.is_file():
        return _write_gguf(name, place, target)
    pickled = pickles_in(place)
    for relative in _files(place):
        if relative.suffix in COPIED and not relative.name.endswith(INDEX):
            (target / relative).parent.mkdir(exist_ok=True)
            shutil.copyfile(place / relative, target / relative)
    convert_pickles(place, pickled, target)
    return None


def convert_pickles(place: Path, names: Sequence[str], target: Path) -> None:
    """Pickled weights of a folder as safetensors in another one (or in itself), part by part; `PICKLES` has digests."""
    from safetensors.torch import save_file

    parts: dict[Path, dict[str, str]] = {}  # of a checkpoint in several files: its index -> weight -> file
    for name in names:
        tensors, file = read_pickled(place / name), target / _safe_name(name)
        file.parent.mkdir(exist_ok=True)
        save_file(_apart(tensors), file, metadata={"format": "pt"})
        if "-of-" in file.name:
            index = file.with_name(f"{file.name.partition('-')[0]}.safetensors.index.json")
            parts.setdefault(index, {}).update(dict.fromkeys(tensors, file.name))
    for index, weights in parts.items():
        index.write_text(json.dumps({"metadata": {}, "weight_map": weights}, indent=1, sort_keys=True), encoding="utf-8")
    if names:
        lines = "".join(f"{file_sha256(place / name)}  {name}\n" for name in names)
        (target / PICKLES).write_text(lines, encoding="utf-8")


def read_pickled(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file of PyTorch's, by `torch.load(weights_only=True)`, which runs none of its code.

    Raises ToolkitError for a file that torch refuses, for one that holds something else, and for a torch before 2.6.
    """
    from toolkit.models.checkpoints import import_torch

    torch = import_torch()
    if tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) < SAFE_SINCE:
        raise ToolkitError(f"torch {torch.__version__} does not read {path} safely", "pip install 'torch>=2.6'")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the pickle's protocol
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile or torch, by what is wrong with the file
        found = REFUSED.search(str(error))
        said = found[0] if found else " ".join(str(error).split())[:160] or type(error).__name__
        message = f"{path}: torch refuses it as weights ({said})"
        raise ToolkitError(message, "a pickle may hold nothing but tensors: other objects could run code", status=1) from error
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(value, torch.Tensor) for value in loaded.values()):
        raise ToolkitError(f"{path} holds no mapping of names to tensors", "is it a checkpoint of a training?")
    return {str(name): value for name, value in loaded.items()}


def _apart(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Each tensor with memory of its own, as safetensors want it: tied ones are written twice."""
    seen: set[int] = set()
    result = {}
    for name, tensor in tensors.items():
        whole = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        place = tensor.untyped_storage().data_ptr()
        result[name] = tensor if whole and place not in seen else tensor.contiguous().clone()
        seen.add(place)
    return result


def _safe_name(name: str) -> str:
    """`2_Dense/pytorch_model.bin` -> `2_Dense/model.safetensors`."""
    folder, stem, part = PICKLE.fullmatch(name).groups("")
    return f"{folder}{SAFE[stem]}{part}.safetensors"


def _write_gguf(name: str, file: Path, target: Path) -> None:
    """A GGUF file's weights as the numbers that they stand for, with the tokenizer and the chat template that it holds."""
    from toolkit.models.checkpoints import explained_by, import_torch, import_transformers

    torch, transformers = import_torch(), import_transformers()
    library("gguf", f"{name} ({file.name})", "gguf")
    from safetensors.torch import save_file

    # a bar of its own, which nothing turns off
    with explained_by(name, file), redirect_stderr(io.StringIO()):
        options = {"gguf_file": file.name, "local_files_only": True}
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
        if hasattr(model.config, "quantization_config"):  # the numbers are not quantised any more
            del model.config.quantization_config
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(target)
        if model.can_generate():
            model.generation_config.save_pretrained(target)
        tokenizer.save_pretrained(target)
        weights = {key: value for key, value in model.state_dict().items() if not _is_tied(model, key)}
        save_file(_apart(weights), target / "model.safetensors", metadata={"format": "pt"})
    (target / PICKLES).write_text(f"{file_sha256(file)}  {file.name}\n", encoding="utf-8")


def _is_tied(model: Any, key: str) -> bool:
    """Whether a weight is another one under a second name, which transformers ties when it loads."""
    return model.config.tie_word_embeddings and key == "lm_head.weight"


def _digest(place: Path) -> str:
    """Of all that a converted folder is made of."""
    if place.is_file():
        return file_sha256(place)
    lines = (f"{file_sha256(place / relative)}  {relative}\n" for relative in _files(place))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()
