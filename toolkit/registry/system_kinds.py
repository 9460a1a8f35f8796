"""The kinds of systems and what each takes (`kinds.yaml`), and whether an entry says only such things."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import DOC_SLOTS, SLOT, check_template
from toolkit.core.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER, did_you_mean, shown

# what `of` may be but a list of values: whether a value is one, and what that is called
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: type(value) is int, "a whole number"),
    "count": (lambda value: type(value) is int and value > 0, "a whole number from 1 on"),
    "float": (lambda value: type(value) in (int, float) and -math.inf < value < math.inf, "a number"),
    "bool": (lambda value: type(value) is bool, "true or false"),
    "str": (lambda value: type(value) is str, "text"),
    "list": (lambda value: type(value) is list and all(type(each) in (str, int) for each in value), "a list"),
}
# template -> the slots of which it needs one
TEMPLATES = {"query": ("query", "question"), "plain": ("query", "question"), "passage": DOC_SLOTS}
Settings = TypeVar("Settings")
NAME = re.compile(r"\w[\w.+-]*")  # of systems and recipes: they become parts of a run's file name
SIGNS = "(letters, digits and . _ + -)"
LOADERS = ("anserini", "own", "sentence-transformers", "transformers", "peft", "rerankers", "endpoint")
VERIFIED = ("run", "tiny checkpoint", "facts only")
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
    parameters = kinds()[spec.kind]["parameters"]
    if "precision" in parameters and "model" not in parameters and not spec.checkpoint:  # a model, and none behind a server
        raise ToolkitError(f"system {spec.name} names no checkpoint", "a folder, a Hugging Face id, or package:MODULE/FOLDER")


def parameters_as(settings: type[Settings], spec: SystemSpec) -> Settings:
    """An entry's parameters as a dataclass, over its defaults; those that it has no field for are read elsewhere.

    Raises ToolkitError as `check_system`, and whatever the dataclass refuses.
    """
    check_system(spec)
    known = {field.name for field in fields(settings)}
    given = {name: value for name, value in spec.parameters.items() if name in known}
    return settings(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def _problems(kind: str, parameters: Mapping[str, Any], templates: Mapping[str, Any]) -> Iterator[str]:
    known = kinds()[kind]["parameters"]
    for name, value in parameters.items():
        if name not in known:
            yield f"kind {kind} has no parameter {shown(name)} {did_you_mean(str(name), known)}".rstrip()
        elif not _fits(value, known[name]["of"]):
            yield f"{name} is {shown(value)}, not {values(known[name]['of'])}"
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
        problems += [
            f"{key} is {shown(value)}" for key, value in recipe.items() if not isinstance(value, RECIPE.get(key, object))
        ]
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
    if spec.verified not in VERIFIED:
        yield f"verified is {shown(spec.verified)}, not {values(VERIFIED)}"


def _fits(value: Any, of: str | Sequence[str]) -> bool:
    return TYPES[of][0](value) if isinstance(of, str) else value in of


def values(of: str | Sequence[str]) -> str:
    """What a parameter may be, in words."""
    return TYPES[of][1] if isinstance(of, str) else " or ".join(of)
