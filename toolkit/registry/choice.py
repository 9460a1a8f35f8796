"""The system that a user names: an entry of the registry or of a file of theirs, or a checkpoint that no entry knows."""

import functools
import inspect
import ipaddress
import re
import uuid
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import NamedSpec, ObjectSpec, SystemSpec
from toolkit.core.system.progress import say
from toolkit.core.system.python_names import CALLED, PYTHON, digest_of, find_source, is_named, own_files
from toolkit.core.system.terminal import without_keys
from toolkit.core.templates import without_slots
from toolkit.registry.loader import HUB_ID, Unread, did_you_mean, entries, read_each, read_entries, refuse_taken
from toolkit.registry.system_kinds import check_system

SHORT = re.compile(r"(?P<api>[a-z]+):(?P<model>(?!//)[^@]+)(?:@(?P<address>.*))?", re.DOTALL)  # API:MODEL[@ADDRESS]
SCHEMES = ("http://", "https://")
PLACE = re.compile(r"localhost\b|\[|\d+\.\d+\.\d+\.\d+\b|[^/]+:\d+/")  # how an address begins, and no model's name
LIBRARY = re.compile(r"rerankers:(?P<type>[^:/]+):(?P<model>.+)", re.DOTALL)
OF_LIBRARY = "a model of the rerankers library that no entry knows"
# prefix of a name in somebody else's registry -> what makes the model of the rest of it, and the parameters of its system
RESOLVERS: dict[str, Callable[[str], tuple[Any, dict[str, Any]]]] = {}
UNLISTED = "a checkpoint that no entry knows"
ENTRY = "system.yaml"  # in a folder with a checkpoint: its entry
SERVED = "a model on a server that no entry knows"
PLAIN = "Texts are sent as they are, without the prompts that the checkpoint may name; templates and entries change that."


def known_systems(files: Iterable[str | Path] = ()) -> tuple[dict[str, SystemSpec], tuple[Unread, ...], tuple[Unread, ...]]:
    """The registry's systems by name, then those of the user's files; what is no entry in the registry, and in the files.

    Raises OSError for a file that is not there.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        path.stat()
    known, unread = entries("systems", SystemSpec)
    mine, broken = read_each(paths, SystemSpec, taken=known)
    return known | mine, unread, broken


def choose_system(
    name: Any,
    *,
    files: Iterable[str | Path] = (),
    recipe: str | None = None,
    kind: str | None = None,
    query_template: str | None = None,
    plain_template: str | None = None,
    passage_template: str | None = None,
    pooling: str | None = None,
    of_server: str = "dense",
) -> SystemSpec:
    """The system of this name, as it is to be used.

    name    of the registry or of `files`, a folder or Hugging Face id (one that an entry has is that entry), or an object with
            one of the methods of `CALLED`
    files   the user's own YAML files, in the form of `registry/systems/*.yaml`
    recipe  one of the entry's recipes; without it the model card's
    kind    what runs a checkpoint that no entry knows (`dense` unless said)
    query_template, plain_template, passage_template, pooling
            instead of the entry's; in a template `\\\\n` stands for a line feed. Of a query template without a plain one,
            queries without instruction get what `templates.without_slots` leaves of it

    A file that is no entry is a warning where the name is found elsewhere. An object of Python is a `NamedSpec`, which alone
    may be imported, where `name` or an entry of `files` names it; one that an entry of the registry names is none.

    of_server  the kind of a model on a server, `API:MODEL` or `API:MODEL@ADDRESS`, where none is said: see `server_forms`

    Raises ToolkitError for an unknown name or recipe, a recipe that was never published, and what the kind does not know.
    """
    known, unread, broken = known_systems(files)
    if not isinstance(name, str | Path):
        return _checked(_of_object(name, known, kind), query_template, plain_template, passage_template)
    name = str(name)
    if prefix := next(filter(name.startswith, RESOLVERS), None):
        return _checked(_resolved(name, prefix, known, kind), query_template, plain_template, passage_template)
    refuse_taken(name, (*unread, *broken))
    spec = _find(name, known, kind) or _of_library(name, known) or _on_server(name, known, kind or of_server)
    if spec is None:
        hint = (
            "it may also be a folder, a Hugging Face id, an entry of a file (--systems), or http:MODEL on a server; "
            "`tandem systems list` has the names"
        )
        missing = ToolkitError(f"no system {name!r}", did_you_mean(name, known) + hint, problems=list(map(str, unread)))
        raise broken[0].error if broken else missing
    for one in broken:
        _warn_once(f"warning: left out: {one}")
    named = is_named(spec.checkpoint, by_user=spec is not entries("systems", SystemSpec)[0].get(spec.name))
    check_system(spec)  # with all of its recipes, before one of them is followed
    spec = _on_its_server(spec) if spec.kind == "rerankers" else spec
    if spec.override:
        _warn_once(f"note: {spec.name} is your own entry, in place of the one that comes with Tandem")
    recipe = recipe or (spec.recipe_of(kind) if kind and kind != spec.kind else None)
    if recipe:
        spec = spec.with_recipe(recipe)
    if pooling is not None:
        spec = replace(spec, parameters={**spec.parameters, "pooling": pooling})
    if spec.is_python:
        spec = _of_source(spec)
        spec = NamedSpec(**vars(spec)) if named else spec
    return _checked(spec, query_template, plain_template, passage_template)


def _checked(spec: SystemSpec, query: str | None, plain: str | None, passage: str | None) -> SystemSpec:
    """The system with the user's templates in the place of its own; the user's query template is for every mode."""
    given = {"query": query, "plain": plain, "passage": passage}
    mine = {name: template.replace("\\n", "\n") for name, template in given.items() if template is not None}
    if "{instruction}" in mine.get("query", ""):
        mine = {"plain": without_slots(mine["query"], ("instruction",)), **mine}
    own = {name: template for name, template in spec.templates.items() if name != "plain" or "query" not in mine}
    spec = replace(spec, templates=own | mine)
    check_system(spec)
    return spec


def _of_source(spec: SystemSpec) -> SystemSpec:
    """A system of Python with the digest of its module as revision: another file is another system, and makes other vectors."""
    digest = find_source(spec.checkpoint).sha256
    if spec.revision not in ("", digest):
        message = f"{spec.name}: {spec.checkpoint} is another file than its entry says (SHA-256 {digest[:12]})"
        raise ToolkitError(message, f"it has revision {spec.revision[:12]}: leave that out, or take the file it was")
    return replace(spec, revision=digest)


def _of_object(made: Any, known: Container[str], kind: str | None) -> ObjectSpec:
    """An object of this process as a system, named by its class. Without an `identity` of its own it is like no other."""
    module, name = type(made).__module__, type(made).__qualname__
    if not any(callable(getattr(made, method, None)) for method in CALLED):
        hint = f"a system is a name, or an object with one of {', '.join(CALLED)}"
        raise ToolkitError(f"{made!r} is no system" if made is None else f"an object of {name} is no system", hint)
    spec = _unlisted(f"{PYTHON}{module}:{name}", known, kind)
    try:
        file = inspect.getsourcefile(type(made))
    except (TypeError, OSError):  # built in, or of a notebook
        file = None
    path = Path(file) if file and Path(file).is_file() else None
    ours = module.partition(".")[0] == __package__.partition(".")[0]  # an adapter's own file alone, not all of the toolkit
    source = digest_of({"": path} if path and ours else own_files(path) if path else {})
    identity = str(getattr(made, "identity", "") or uuid.uuid4().hex)
    return ObjectSpec(**vars(spec) | {"revision": "-".join(filter(None, [source, identity]))}, instance=made)


def _resolved(name: str, prefix: str, known: Container[str], kind: str | None) -> ObjectSpec:
    """A model of somebody else's registry, which only its own package knows, as an object: of the kind that it says."""
    made, parameters = RESOLVERS[prefix](name.removeprefix(prefix))
    if kind not in (None, made.kind):
        raise ToolkitError(f"{name} is of kind {made.kind}, not {kind}", "leave --kind out")
    spec = replace(_of_object(made, known, made.kind), parameters=parameters, remote_code=made.has_code)
    return replace(spec, name=_as_name(name), description=made.description)


@functools.cache
def _warn_once(message: str) -> None:
    """A command may look up several systems, each in the same files."""
    say(message)


def _find(name: str, known: Mapping[str, SystemSpec], kind: str | None) -> SystemSpec | None:
    if name in known:
        if kind and kind != known[name].kind and not known[name].recipe_of(kind):
            raise ToolkitError(f"{name} is of kind {known[name].kind}, not {kind}", "leave --kind out")
        return known[name]
    if name.startswith(PYTHON):
        return _unlisted(name, known, kind)
    if (Path(name) / ENTRY).is_file():
        folder = Path(name).resolve()  # as `tandem systems convert` writes it, with an entry: the checkpoint is there
        names = read_entries([Path(name) / ENTRY], SystemSpec, taken=known)
        if len(names) != 1:
            raise ToolkitError(f"{Path(name) / ENTRY} has {len(names)} entries", "it says what one system is")
        [spec] = names.values()
        passages = folder / Path(spec.passage_checkpoint).name
        towers = {"passage_checkpoint": str(passages)} if spec.passage_checkpoint and passages.is_dir() else {}
        return replace(spec, checkpoint=str(folder), **towers)
    if Path(name).is_dir() or (name.endswith(".gguf") and Path(name).is_file()):
        return _unlisted(str(Path(name).resolve()), known, kind)
    if HUB_ID.fullmatch(name):
        same = [spec for spec in known.values() if spec.checkpoint == name and kind in (None, spec.kind)]
        if len(same) > 1:
            names = ", ".join(spec.name for spec in same)
            raise ToolkitError(f"{name} is the checkpoint of {len(same)} systems", f"name one of them: {names}")
        return same[0] if same else _unlisted(name, known, kind)
    return None


def _unlisted(checkpoint: str, known: Container[str], kind: str | None) -> SystemSpec:
    """A checkpoint of which only the place is known, named by its last part: by all of it where a system has that name."""
    own = checkpoint.startswith(PYTHON)
    name = _as_name(checkpoint.removeprefix(PYTHON) if own else checkpoint.rpartition("/")[2])
    if not name or name in known:
        name = _as_name(checkpoint)
    if not name:
        raise ToolkitError(f"{checkpoint} cannot name a system", "give the folder a name with letters or digits")
    kind = kind or "dense"
    parameters = {**({} if own else {"pooling": "own"}), "similarity": "cos"} if kind == "dense" else {}
    said = {"description": "an object of Python"} if own else {"description": UNLISTED, "notes": PLAIN}
    return SystemSpec(name=name, kind=kind, checkpoint=checkpoint, parameters=parameters, **said)


def _on_server(name: str, known: Container[str], kind: str) -> SystemSpec | None:
    """A model that a server has; None for a name that is none of that kind."""
    from toolkit.registry.server_forms import apis

    short = SHORT.fullmatch(name)
    if name.startswith(SCHEMES):
        raise ToolkitError(f"{without_keys(name)} is an address", f"name the model, too: http:MODEL@{without_keys(name)}")
    if not short or short["api"] not in apis():
        return None
    if PLACE.match(short["model"]):
        message = f"{name.partition('@')[0]} names an address where a model is"
        raise ToolkitError(message, "it is http:MODEL@http://HOST:PORT/v1")
    model, server = short["model"].replace("%40", "@"), {"api": short["api"]}
    if short["address"] is not None:
        server["base_url"] = _address(f"{short['api']}:{short['model']}", short["address"])
    called = _name_of(model, short["api"], known)
    parameters = {"model": model} | ({"similarity": "cos"} if kind == "dense" else {})
    said = {"description": SERVED, "notes": PLAIN}
    return SystemSpec(name=called, kind=kind, loader="endpoint", server=server, parameters=parameters, **said)


def _address(model: str, address: str) -> str:
    """The address of `API:MODEL@ADDRESS`; http where a private host has no scheme. ToolkitError for what may be something else.

    A text that is no address must not be taken for a part of the model's name: texts and keys would go to OPENAI_BASE_URL.
    """
    if address.startswith(SCHEMES):
        return address
    host = re.fullmatch(r"(\[[^]]*\]|[^/:]+)(:\d+)?(/(?!/).*)?", address, re.DOTALL)
    if host and (host[2] or host[3] or host[1] == "localhost"):
        name = host[1].strip("[]")
        try:
            is_private = ipaddress.ip_address(name).is_private
        except ValueError:
            is_private = "." not in name and ":" not in name
        if is_private:
            return f"http://{address}"
    hint = "an address begins with http:// or https://, as in http:MODEL@https://host/v1; an @ of a model's name is written %40"
    raise ToolkitError(f"{model}: what stands behind the @ is no address", hint)


def _of_library(name: str, known: Container[str]) -> SystemSpec | None:
    """A model of the rerankers library; None for a name that is none of that kind."""
    if not (short := LIBRARY.fullmatch(name)):
        return None
    called = _name_of(short["model"].rstrip("/"), short["type"], known)
    parameters = {"type": short["type"], "model": short["model"]}
    return SystemSpec(name=called, description=OF_LIBRARY, kind="rerankers", parameters=parameters, notes=PLAIN)


def _on_its_server(spec: SystemSpec) -> SystemSpec:
    """Of the library's types those that are servers are asked as all servers are: cached, retried, checked."""
    from toolkit.registry.server_forms import apis

    type_name, key = spec.parameters["type"], spec.parameters.get("key")
    if not (api := next((api for api in apis().values() if api.rerankers == type_name), None)):
        return spec
    parameters = {name: value for name, value in spec.parameters.items() if name not in ("type", "key")}
    server = {"api": api.name} | ({"key": key} if key else {})
    return replace(spec, kind="cross-encoder", loader="endpoint", server=server, parameters=parameters)


def _name_of(model: str, prefix: str, known: Container[str]) -> str:
    """The last part of a model's name, with a prefix where a system has that name."""
    called = _as_name(model.rpartition("/")[2])
    return _as_name(f"{prefix}-{called}") if not called or called in known else called


def _as_name(place: str) -> str:
    return re.sub(r"[^\w.+-]", "-", place).lstrip(".+-")
