"""Checkpoints of the Hugging Face hub, at one revision, in TANDEM_HOME: safetensors, configuration, tokenizer.

Pickled weights are taken at a pinned revision alone, and converted as they come (see `conversion`).
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.files.store import check_room, home, lock, shown, without_secrets
from toolkit.files.store.digests import file_sha256, read_digests, write_digests
from toolkit.files.store.hub import COMMIT, HubError, HubFile, Listing, endpoint, fetch_files, is_offline, list_files
from toolkit.models.checkpoints.conversion import INDEX, convert_pickles, pickles_in, pickles_of

# configuration and tokenizer, of the checkpoint and of its modules' folders (1_Pooling/config.json); of Stanford's ColBERT
# lengths and markers (artifact.metadata)
CONFIGURATION = re.compile(r"([^/]+/)?[^/]+\.(json|txt|model|jinja|metadata)")
WEIGHTS = re.compile(r"([^/]+/)?[^/]+\.safetensors")
CODE = re.compile(r".+\.py")
# other formats, states of the training, and a second copy of all weights that some repositories have
OTHERS = re.compile(r"(onnx|openvino|coreml|original|gguf|checkpoint-\d+)/.*|consolidated.*\.safetensors")
WITH_CODE = ".code"  # ends the names of folders that have the repository's own code, too
LARGE = 100_000_000  # bytes; from here on the size is said beforehand


def fetch_checkpoint(name: str, repository: str, revision: str, *, code: bool = False) -> Path:
    """The folder of a model repository at a revision; downloaded on first use, resumed where that broke off.

    Without a revision it is the newest one, which is named in a line; `code` fetches the repository's own, too. Raises
    ToolkitError where it cannot be had, has pickled weights and no pinned revision, or they are refused, and where the disk is
    too small.
    """
    if folder := cached_folder(repository, revision, code=code):
        return folder
    commits, suffix = _place(repository), WITH_CODE if code else ""
    if is_offline():
        # without a pin, the only commit that is here
        here = [path for path in sorted(commits.glob(f"*{suffix}")) if COMMIT.fullmatch(path.name.removesuffix(suffix))]
        if revision or len(here) != 1:
            at = f" at {revision[:12]}" if revision else ""
            several = f"; {len(here)} commits of it are here" if len(here) > 1 else ""
            message = f"{repository}{at} is not on this machine, and HF_HUB_OFFLINE is set{several}"
            raise ToolkitError(message, "unset HF_HUB_OFFLINE, or name a folder as the system", status=1)
        say(f"{name}: revision not pinned, taking {here[0].name.removesuffix(suffix)}, which is here")
        return here[0]
    with lock(f"model {repository}"):
        with _explained(repository, revision):
            listing = list_files("models", repository, revision)
        if not revision:
            say(f"{name}: revision not pinned, resolved to {listing.commit}")
        folder = commits / f"{listing.commit}{suffix}"
        if not folder.is_dir():
            _download(name, repository, listing.commit, _chosen(repository, listing, code, pinned=bool(revision)), folder)
    return folder


def cached_folder(repository: str, revision: str, *, code: bool = False) -> Path | None:
    """The folder of a model repository at a pinned revision where it is on this machine; else None. Asks nobody."""
    folder = _place(repository) / f"{revision}{WITH_CODE if code else ''}"
    return folder if COMMIT.fullmatch(revision) and folder.is_dir() else None


def check_access(repository: str) -> None:
    """ToolkitError where the hub asks for a token for this repository, and there is none. A mirror may ask for nothing."""
    from huggingface_hub import get_token

    if not os.environ.get("HF_ENDPOINT") and not get_token():
        raise _gated(repository)


def _gated(repository: str) -> ToolkitError:
    token = os.environ.get("HF_TOKEN")
    why = "HF_TOKEN has no access to it" if token else "HF_TOKEN is not set"
    hint = f"accept its terms at {without_secrets(endpoint())}/{repository}" + ("" if token else ", and set HF_TOKEN")
    return ToolkitError(f"{repository} is gated and {why}", hint, status=1)


def is_cached(repository: str, revision: str = "") -> bool:
    """Whether a model repository is complete on this machine: at a commit, or at any where none is named."""
    commits = {path.name.removesuffix(WITH_CODE) for path in _place(repository).glob("*")}
    return revision in commits if COMMIT.fullmatch(revision) else any(COMMIT.fullmatch(commit) for commit in commits)


def commits_of(*folders: Path) -> dict[str, str]:
    """Repository -> commit of those folders that `fetch_checkpoint` gave; other folders are left out."""
    fetched = dict.fromkeys(folder for folder in folders if folder.parent.parent == home() / "models")
    return {folder.parent.name.replace("--", "/"): folder.name.removesuffix(WITH_CODE) for folder in fetched}


def _place(repository: str) -> Path:
    """Where the commits of a repository are cached."""
    return home() / "models" / repository.replace("/", "--")


def _chosen(repository: str, listing: Listing, code: bool, *, pinned: bool) -> list[HubFile]:
    """The files to get. ToolkitError for a repository without weights, and for pickled ones where no revision is pinned."""
    kinds = [CONFIGURATION, WEIGHTS, *([CODE] if code else [])]
    files = [file for file in listing.files if not OTHERS.fullmatch(file.name)]
    chosen = [file for file in files if any(kind.fullmatch(file.name) for kind in kinds)]
    pickled = pickles_of(file.name for file in files)
    if pickled and not pinned:
        message = f"{repository} at {listing.commit[:12]} has pickled weights ({pickled[0]}), and no revision is pinned"
        hint = "say `revision` in an entry of your own (--systems): a pickle is read, as tensors alone, at a pinned one"
        raise ToolkitError(message, hint)
    if not pickled and not any(WEIGHTS.fullmatch(file.name) for file in chosen):
        raise ToolkitError(f"{repository} at {listing.commit[:12]} has no safetensors", "is it a model's repository?")
    return [file for file in chosen if not file.name.endswith(INDEX)] + [file for file in files if file.name in pickled]


def _download(name: str, repository: str, commit: str, files: list[HubFile], folder: Path) -> None:
    """Get the files beside `folder`, where a later call resumes, and rename when all are there."""
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    size = sum(file.size for file in files)
    arrived = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
    free = check_room(part, size - arrived, repository)
    if size >= LARGE:
        say(f"{repository}: {shown(size)}, {shown(min(arrived, size))} of it there, {shown(free)} free in {part.parent}")
    else:
        say(f"fetching {repository}")
    if unchecked := [file.name for file in files if WEIGHTS.fullmatch(file.name) and file.checksum is None]:
        say(f"warning: {name}: {without_secrets(endpoint())} lists no SHA-256 of {unchecked[0]}: its weights are not verified")
    with _explained(repository, commit):
        fetch_files("models", repository, commit, files, part)
    if pickled := pickles_in(part):
        say(f"{name}: converting {len(pickled)} pickled file{'s' * (len(pickled) > 1)} of {repository} to safetensors")
        convert_pickles(part, pickled, part)
        for file in pickled:
            (part / file).unlink()
    write_digests(part)
    part.rename(folder)


@contextmanager
def _explained(repository: str, revision: str) -> Iterator[None]:
    """Whatever the hub or the network refuses, in one line."""
    place = without_secrets(endpoint())
    try:
        yield
    except HubError as error:
        code = error.code
        if code == "GatedRepo":
            raise _gated(repository) from error
        if code == "RevisionNotFound":
            raise ToolkitError(f"{repository} has no revision {revision}", "check the entry's revision", status=1) from error
        if code == "RepoNotFound":
            hint = "check the id; a private repository needs HF_TOKEN; a folder begins with ./; a model on a server is "
            hint += f"http:{repository}"
            raise ToolkitError(f"{place} has no model {repository}", hint, status=1) from error
        at = f" at {revision[:12]}" if revision else ""
        message = f"cannot fetch {repository}{at} from {place} ({error})"
        hint = f"check the network and run again, or name a folder as the system; a model on a server is http:{repository}"
        raise ToolkitError(message, hint, status=1) from error


def origin_of(*folders: Path) -> dict[str, Any]:
    """What a record says of what is loaded from these folders: `commits` (repository -> commit) of the hub's, and `weights`.

    These are the SHA-256 of the safetensors: of a single file, else of the lines that sha256sum prints of them, folder after
    folder and by name. Raises ToolkitError where a file of a fetched checkpoint is not the one that was fetched.
    """
    files = []
    for folder in dict.fromkeys(folders):
        listed = read_digests(folder)
        for path in weight_files(folder):
            name, digest = path.relative_to(folder).as_posix(), file_sha256(path)
            if listed.get(name, digest) != digest:
                message = f"{path} is not the file that was fetched: SHA-256 {digest[:12]}, expected {listed[name][:12]}"
                raise ToolkitError(message, f"remove {folder} and fetch it again; is the disk sound?", status=1)
            files.append((digest, name))
    lines = "".join(f"{digest}  {name}\n" for digest, name in files)
    weights = files[0][0] if len(files) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    commits = commits_of(*folders)
    return {**({"commits": commits} if commits else {}), "weights": weights}


def weight_files(folder: Path) -> list[Path]:
    """The safetensors that a folder is loaded from: those of its modules too, no other format's and no second copy."""
    paths = (path for path in folder.rglob("*.safetensors") if path.is_file())
    return sorted(path for path in paths if not OTHERS.fullmatch(path.relative_to(folder).as_posix()))
