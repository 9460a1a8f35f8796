"""A reproduction as one archive that others can check and cite: runs, records, labels, comparison and page, with a manifest."""

import csv
import hashlib
import json
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from toolkit import __version__, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import AS_FILES, as_one, atomic_path, sha256_of
from toolkit.core.system.yaml_json import parse_json
from toolkit.files.store.archives import DAMAGED

MANIFEST, COMPARISON = "manifest.json", "comparison.csv"
SUFFIXES = (".trec", ".qrels", ".tsv", ".jsonl", ".yaml", ".csv", ".html")
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that the format has: the same files are the same archive
LARGEST = 100_000_000  # bytes of a manifest
HINT = "tandem reproduce PAPER --export F writes one"


def manifest_of(folder: Path, paper: str) -> dict[str, object]:
    """What a folder of a reproduction holds: paper and citation, how its cells compare, and path -> SHA-256, in order."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
    # of YAML the records alone, each beside its file: a paper's prompts may lie in the folder, too
    made = (path for path in found if path.suffix != ".yaml" or path.with_suffix("").exists())
    files = {path.relative_to(folder).as_posix(): sha256_of(path) for path in made}
    if not files:
        raise ToolkitError(f"{folder} holds no reproduction", "tandem reproduce PAPER first")
    source = registry.benchmark(paper).source
    about = {"paper": paper, "of": source["paper"], "citation": source.get("citation", ""), "tandem": __version__}
    states: Counter[str] = Counter()
    if (comparison := folder / COMPARISON).exists():
        with comparison.open(encoding="utf-8", newline="") as file:
            states.update(row["state"] for row in csv.DictReader(file))
    return {**about, "cells": dict(states), "files": files}


def pack(folder: Path, paper: str, archive: Path) -> tuple[int, str]:
    """Write all of it as a zip archive with its manifest; the same files give the same bytes.

    Returns how many files are in it, and the SHA-256 of the manifest, by which the archive is cited.
    """
    manifest = manifest_of(folder, paper)
    text = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
    with atomic_path(archive) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(zipfile.ZipInfo(MANIFEST, DATE), text, zipfile.ZIP_DEFLATED)
        for name in manifest["files"]:
            packed.writestr(zipfile.ZipInfo(name, DATE), (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)
    return len(manifest["files"]), hashlib.sha256(text).hexdigest()


def verify(place: Path) -> tuple[str, list[str]]:
    """The SHA-256 of a manifest, and what is not as it says; nothing of a sound one.

    place  an archive, or the folder that it was unpacked into; nothing of it is run or unpacked

    Raises ToolkitError for what is neither, for a damaged archive, and for one with two files of one name.
    """
    try:
        if place.is_dir():
            found = {path.relative_to(place).as_posix(): path for path in place.rglob("*")}
            here = {name + "/" * (path.is_dir() and not path.is_symlink()): path.is_file() for name, path in found.items()}
            return _verified(place / MANIFEST, here, lambda name: found[name].open("rb"))
        if not (place.is_file() and zipfile.is_zipfile(place)):  # a pipe would be waited for
            raise ToolkitError(f"{place} is neither a folder nor a zip archive", HINT)
        with zipfile.ZipFile(place) as packed:
            names = packed.namelist()
            if len(set(names)) < len(names):  # which of them is unpacked depends on the program
                raise ToolkitError(f"{place} has several files of one name", HINT)
            kinds = {each.filename: stat.S_IFMT(each.external_attr >> 16) for each in packed.infolist()}  # 0: none is said
            here = {name: kind in (0, stat.S_IFREG) for name, kind in kinds.items()}
            return _verified(f"{place}:{MANIFEST}", here, lambda name: packed.open(name))
    except (OSError, RuntimeError, *DAMAGED) as error:
        message = f"{place} is damaged ({' '.join(str(error).split()) or type(error).__name__})"
        raise ToolkitError(message, "fetch or export it again", status=1) from error


def _verified(where: object, here: Mapping[str, bool], opened: Callable[[str], Any]) -> tuple[str, list[str]]:
    """here  name -> whether it is a file, which can be opened: a pipe would be waited for; folders end in a slash"""
    if not here.get(MANIFEST):
        raise ToolkitError(f"there is no {where}", HINT)
    with opened(MANIFEST) as file:
        data = file.read(LARGEST + 1)
    manifest = parse_json(data.decode("utf-8", "replace"), str(where), hint=HINT) if len(data) <= LARGEST else None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise ToolkitError(f"{where} is no manifest of a reproduction", HINT)
    return hashlib.sha256(data).hexdigest(), list(_problems(files, here, opened))


def _problems(files: Mapping[str, str], here: Mapping[str, bool], opened: Callable[[str], Any]) -> Iterator[str]:
    for name, digest in files.items():
        shown = _shown(name)
        if name not in here:
            yield f"{shown}: missing"
            continue
        try:
            if not here[name]:
                raise OSError("no regular file")
            with opened(name) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, RuntimeError, *DAMAGED) as error:  # RuntimeError: an entry with a password
            yield f"{shown}: cannot be read ({' '.join(str(error).split()) or type(error).__name__})"
            continue
        if found != digest:
            yield f"{shown}: not the file of the manifest"
    folders = {f"{parent}/" for name in files for parent in PurePosixPath(name).parents}
    yield from (f"{_shown(name)}: not in the manifest" for name in sorted(here.keys() - files.keys() - folders - {MANIFEST}))
    if twins := as_one(files):
        yield f"{' and '.join(map(_shown, twins))} {AS_FILES}"


def _shown(name: str) -> str:
    """On one line; escaped where the eye takes it for another name."""
    return name if name.isprintable() and unicodedata.is_normalized("NFC", name) else ascii(name)
