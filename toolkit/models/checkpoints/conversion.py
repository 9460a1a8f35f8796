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
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, library
from toolkit.core.system.files import home
from toolkit.core.system.lazy_names import torch, transformers
from toolkit.core.system.memory import memory_bound
from toolkit.core.system.progress import say
from toolkit.files.store import lock, new_folder
from toolkit.files.store.digests import file_sha256, write_digests
from toolkit.models.checkpoints.architectures import check_report
from toolkit.models.checkpoints.checkpoint_files import COMPLETE, FEWEST

GGUF = ".gguf"
# weights in PyTorch's form, of a checkpoint or of a module's folder (2_Dense/pytorch_model.bin)
PICKLE = re.compile(r"(\d+_\w+/)?(pytorch_model|adapter_model)(-\d+-of-\d+)?\.bin")
COPIED = (".json", ".txt", ".model", ".jinja", ".metadata", ".safetensors")  # beside the weights that are converted
SAFE = {"pytorch_model": "model", "adapter_model": "adapter_model"}  # how the files are called in safetensors
SAFE_SINCE = (2, 6)  # of torch: before, weights_only could be made to run code (CVE-2025-32434)
INDEX = ".bin.index.json"  # ends the name of the list of pickled parts
PICKLES = "pickled.sha256"  # in a converted folder: what it was made of
TIED = 4  # names that one tensor has at most: of T5 its embeddings and its head
SPARE = 1 << 30  # bytes that torch's reader may take beside the tensors of a file
BLOCK = re.compile(r"(?:.+\.)?blk\.(\d+)\..+")  # a tensor of a GGUF file's block
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


def converted(name: str, place: Path, *, now: bool = True) -> Path | None:
    """The folder in TANDEM_HOME that holds a checkpoint in safetensors; None where it is not made yet, and not `now`.

    Raises ToolkitError for pickles that torch refuses, what holds no weights, and a GGUF file that transformers cannot read.
    """
    stem = re.sub(r"[^\w.-]", "-", place.name)[:60]
    lines = (f"{file_sha256(place / each)}  {each}\n" for each in _files(place))  # all that the folder is made of
    made_of = "".join(lines).encode(errors="surrogateescape") if place.is_dir() else b""
    digest = hashlib.sha256(made_of).hexdigest() if place.is_dir() else file_sha256(place)
    folder = home() / "converted" / f"{stem}-{digest[:16]}"
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
        _write_gguf(name, place, target)
        return
    for relative in _files(place):
        if relative.suffix in COPIED and not relative.name.endswith(INDEX):
            (target / relative).parent.mkdir(exist_ok=True)
            shutil.copyfile(place / relative, target / relative)
    convert_pickles(place, pickles_in(place), target)


def convert_pickles(place: Path, names: Sequence[str], target: Path) -> None:
    """Pickled weights of a folder as safetensors in another one (or in itself), part by part; `PICKLES` has digests."""
    from safetensors.torch import save_file

    parts: dict[Path, dict[str, str]] = {}  # of a checkpoint in several files: its index -> weight -> file
    for name in names:
        file = target / _safe_name(name)
        file.parent.mkdir(exist_ok=True)
        try:
            tensors = read_pickled(place / name)
            save_file(_apart(tensors), file, metadata={"format": "pt"})
        except BaseException:
            for written in names:
                (target / _safe_name(written)).unlink(missing_ok=True)
            raise
        if "-of-" in file.name:
            index = file.with_name(f"{file.name.partition('-')[0]}.safetensors.index.json")
            parts.setdefault(index, {}).update(dict.fromkeys(tensors, file.name))
    for index, weights in parts.items():
        index.write_text(json.dumps({"metadata": {}, "weight_map": weights}, indent=1, sort_keys=True), encoding="utf-8")
    if names:
        (target / PICKLES).write_text("".join(f"{file_sha256(place / name)}  {name}\n" for name in names), encoding="utf-8")


def read_pickled(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file of PyTorch's, by `torch.load(weights_only=True)`, which runs none of its code.

    Raises ToolkitError where torch refuses it, for other content, for tensors larger than the file, and for a torch before 2.6.
    """
    from toolkit.models.computing import import_torch

    torch = import_torch()
    if tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) < SAFE_SINCE:
        raise ToolkitError(f"torch {torch.__version__} does not read {path} safely", "pip install 'torch>=2.6'")
    size, archive = path.stat().st_size, zipfile.is_zipfile(path)
    try:
        if archive:
            with zipfile.ZipFile(path) as packed:
                if any(member.compress_type for member in packed.infolist()):
                    raise zipfile.BadZipFile("it is compressed, as torch's own files are not")
        with warnings.catch_warnings(), memory_bound(size + SPARE):
            warnings.simplefilter("ignore")  # of the pickle's protocol
            loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
    except Exception as error:  # of pickle, zipfile or torch, by what is wrong with the file
        found = REFUSED.search(str(error))
        said = found[0] if found else " ".join(str(error).split())[:160] or type(error).__name__
        message = f"{path}: torch refuses it as weights ({said})"
        raise ToolkitError(message, "a pickle may hold nothing but tensors: other objects could run code") from error
    values = list(loaded.values()) if isinstance(loaded, dict) else []
    plain = (isinstance(value, torch.Tensor) and value.layout is torch.strided for value in values)
    if not values or not all(plain) or any(value.is_meta or value.is_quantized for value in values):
        raise ToolkitError(f"{path} holds no mapping of names to tensors", "is it a checkpoint of a training?")
    if (whole := sum(value.numel() * value.element_size() for value in loaded.values())) > TIED * size:
        raise ToolkitError(f"{path} has {size:,} bytes, and its tensors would have {whole:,}", "save it as safetensors")
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
    from toolkit.models.computing import explained, import_torch, import_transformers

    torch, transformers = import_torch(), import_transformers()
    gguf = library("gguf", f"{name} ({file.name})", "gguf")
    from safetensors.torch import save_file

    # a bar of its own, which nothing turns off
    with explained(name, file), redirect_stderr(io.StringIO()):
        options = {"gguf_file": file.name, "local_files_only": True}
        unused = _unused(name, file, gguf.GGUFReader(file))
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
        options |= {"dtype": torch.float32, "output_loading_info": True, "ignore_mismatched_sizes": True}
        model, report = transformers.AutoModelForCausalLM.from_pretrained(file.parent, **options)
        check_report(name, file, model, {**report, "unexpected_keys": {*report["unexpected_keys"], *unused}})
        if hasattr(model.config, "quantization_config"):  # the numbers are not quantised any more
            del model.config.quantization_config
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(target)
        if model.can_generate():
            model.generation_config.save_pretrained(target)
        tokenizer.save_pretrained(target)
        weights = model.state_dict()
        if model.config.tie_word_embeddings:  # transformers ties them when it loads
            weights.pop("lm_head.weight", None)
        save_file(_apart(weights), target / "model.safetensors", metadata={"format": "pt"})
    (target / PICKLES).write_text(f"{file_sha256(file)}  {file.name}\n", encoding="utf-8")


def _unused(name: str, file: Path, reader: Any) -> list[str]:
    """The tensors of a GGUF file that transformers would pass over, by the header alone, as gguf's reader has it. Raises
    ToolkitError where the header announces more blocks than there are, or a model that is far larger than its tensors."""
    from transformers import modeling_gguf_pytorch_utils as ggufs

    blocks = {found[1] for tensor in reader.tensors if (found := BLOCK.fullmatch(tensor.name))}
    for key, field in reader.fields.items():
        if key.endswith("block_count") and field.contents() > len(blocks):
            message = f"{name}: {file} announces {field.contents():,} blocks ({key}), and has tensors of {len(blocks):,}"
            raise ToolkitError(message, COMPLETE)
    with torch.device("meta"):  # no memory
        config = transformers.AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        model = transformers.AutoModelForCausalLM.from_config(config)
    announced, held = model.num_parameters(), sum(tensor.n_elements for tensor in reader.tensors)
    if announced > 2 * held + FEWEST:
        raise ToolkitError(f"{name}: {file} announces a model of {announced:,} parameters, and holds {held:,}", COMPLETE)
    processor = ggufs.TENSOR_PROCESSORS.get(reader.fields["general.architecture"].contents(), ggufs.TensorProcessor)
    try:
        used = ggufs.get_gguf_hf_weights_map(model, processor(config=model.config.to_dict())).keys()
    except NotImplementedError:  # of architectures that transformers reads in another way, and reports on
        return []
    names = (tensor.name for tensor in reader.tensors)
    return [each for each in names if used.isdisjoint((each, each.removesuffix(".weight")))]  # as experts are known
