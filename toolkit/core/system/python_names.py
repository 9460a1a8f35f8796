"""`python:module:factory`: an object of Python named by what makes it, its file, and who names it. Imports nothing."""

import ast
import hashlib
import importlib
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import PYTHON

FORM = "python:MODULE:FACTORY, such as python:my_model:load, of a module in this folder or one that is installed"
# the methods of which an object has one that is a system, and how each is called
CALLED = {
    "encode": "encode(texts, kind)",
    "score": "score(pairs)",
    "rank": "rank(query, docs)",
    "generate": "generate(messages)",
    "retrieve": "retrieve(queries, k)",
}
EXPECTED = {
    "encode": "encode(texts: list[str], kind: str) -> numpy.ndarray",
    "score": "score(pairs: list[tuple[str, str]]) -> list[float]",
    "rank": "rank(query: str, docs: list[str]) -> list[int]",
    "generate": "generate(messages: list[dict[str, str]]) -> str",
    "retrieve": "retrieve(queries: list[str], k: int) -> list[list[tuple[str, float]]]",
}

_rule: dict[str, Any] = {"named": (), "of_data": False, "dry": False}


@contextmanager
def importing(**rule: Any) -> Iterator[None]:
    """Which objects may be imported within it: those `named` by the user, whatever else names them (`--trust-python`).

    of_data  names are read from data, a `build.yaml` or a registered run: they do not say that the user wants them to run
    dry      no object is imported
    """
    if wrong := [name for name in rule.get("named", ()) if not name.startswith(PYTHON)]:
        raise ToolkitError(f"{wrong[0]!r} names no object of Python", FORM)
    before = {**_rule}
    try:
        yield _rule.update(rule)
    finally:
        _rule.update(before)


def is_named(name: str, *, by_user: bool) -> bool:
    """Whether the user has named an object: by its name alone, or in the place that it is read from, unless that is data."""
    return name in _rule["named"] or (by_user and not _rule["of_data"])


def is_dry() -> bool:
    """Whether nothing is imported, for only what would be done is shown."""
    return _rule["dry"]


class Source(NamedTuple):
    """Where a named object comes from.

    factory  a name in the module: a class or a function without arguments that makes the object, or the object itself
    top      how the import system finds the module, or the package that it is in
    file     of the module; None where it has none
    files    what the object is made by, see `own_files`
    sha256   of `files`
    """

    module: str
    factory: str
    top: ModuleSpec
    file: Path | None
    files: tuple[str, ...]
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
    files = own_files(file) if file else {}
    return Source(module, factory, top, file, tuple(files), digest_of(files))


def own_files(file: Path) -> dict[str, Path]:
    """A module's file and what it imports of its own: relative name -> file, sorted. Nothing is imported.

    Its own is all of the package that it is in, and what lies beside that (or beside the module), as far as `import` statements
    or a call of `import_module` with a name lead there; of what lies among installed packages, its package alone. What is
    imported by a computed name, and data files, are not seen.
    """
    root, installed = file.parent, {Path(path).resolve() for path in sysconfig.get_paths().values()}
    while (root / "__init__.py").is_file():
        root = root.parent
    found: set[Path] = set()
    looked: set[str] = set()  # a package's folder is walked once, however often it is imported
    pending = [file] if root == file.parent else _package(root / file.relative_to(root).parts[0])
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            tops = set() if root.resolve() in installed else {name.partition(".")[0] for name in _imported_names(path)} - looked
            looked |= tops
            for top in tops:
                pending += [module] if (module := root / f"{top}.py").is_file() else _package(root / top)
    return {path.relative_to(root).as_posix(): path for path in sorted(found)}


def digest_of(files: Mapping[str, Path]) -> str:
    """SHA-256 of one file; of several, of the lines that sha256sum prints of them; empty where there are none."""
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    if len(digests) < 2:
        return "".join(digests.values())
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode()).hexdigest()


def _package(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.py") if path.is_file()] if folder.is_dir() else []


def _imported_names(path: Path) -> Iterator[str]:
    """Names of modules that a file imports; none where it is no Python, which importing it will say."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(name := getattr(node.args[0], "value", None), str):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield from [name] if called in ("import_module", "__import__") else []
