"""`python:module:factory`: an object of Python named by what makes it, and the file that this stands in. Imports nothing."""

from __future__ import annotations

import hashlib
import importlib
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError

PYTHON = "python:"
FORM = "python:MODULE:FACTORY, such as python:my_model:load, of a module in this folder or one that is installed"
# the methods of which an object has one that is a system, and how each is called
CALLED = {
    "encode": "encode(texts, kind)",
    "score": "score(pairs)",
    "rank": "rank(query, docs)",
    "generate": "generate(messages)",
}


class Source(NamedTuple):
    """Where a named object comes from.

    factory  a name in the module: a class or a function without arguments that makes the object, or the object itself
    top      how the import system finds the module, or the package that it is in
    file     of the module; None where it has none
    sha256   of that file; of a package, of the lines that sha256sum prints of its .py files
    """

    module: str
    factory: str
    top: ModuleSpec
    file: Path | None
    sha256: str


def find_source(name: str) -> Source:
    """The module of a name, of the current folder before an installed one. ToolkitError where there is none."""
    module, _, factory = name.removeprefix(PYTHON).partition(":")
    parts = module.split(".")
    if not all(part.isidentifier() for part in (*parts, *factory.split("."))):
        raise ToolkitError(f"{name!r} names no object of Python", FORM)
    importlib.invalidate_caches()  # a module may have been written a moment ago
    top = PathFinder.find_spec(parts[0], [str(Path.cwd())])
    top = found = top if top and top.loader else PathFinder.find_spec(parts[0])
    for number in range(1, len(parts)):
        where = found.submodule_search_locations if found else None
        found = PathFinder.find_spec(".".join(parts[: number + 1]), where) if where else None
    if found is None:
        raise ToolkitError(f"{name}: there is no module {module}, neither in {Path.cwd()} nor installed", FORM)
    file = Path(found.origin) if found.origin and Path(found.origin).is_file() else None
    return Source(module, factory, top, file, digest_of(file))


def digest_of(file: Path | None) -> str:
    """SHA-256 of a module's file, see `Source`; empty where it has none."""
    if file is None:
        return ""
    if file.name != "__init__.py":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    paths = sorted(file.parent.rglob("*.py"))
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(file.parent)}\n" for path in paths)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
