"""The kinds of systems and what each takes (`kinds.yaml`), and whether an entry says only such things."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import check_template
from toolkit.registry.loader import FOLDER, did_you_mean, read_yaml

TYPES = {"int": int, "float": (int, float), "bool": bool, "str": str, "list": list}
WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text", "list": "a list"}
TEMPLATES = ("query", "plain", "passage")
RECIPE = ("source", "kind", "loader", "parameters", "templates", "notes", "unknown")


@functools.cache
def kinds() -> dict[str, dict[str, Any]]:
    """Every kind: what it `is`, and its `parameters` with their values."""
    return read_yaml(FOLDER / "kinds.yaml")


def check_system(spec: SystemSpec) -> None:
    """Raise ToolkitError, with every problem, for a kind, parameter, value, template or slot that there is not."""
    if spec.kind not in kinds():
        raise ToolkitError(f"system {spec.name} is of unknown kind {spec.kind!r}", _known(spec.kind, kinds()))
    problems = [*_parameters(spec), *_templates(spec), *_recipes(spec)]
    if problems:
        known = f"parameters of kind {spec.kind}: {', '.join(kinds()[spec.kind]['parameters'])}"
        if len(problems) == 1:
            raise ToolkitError(f"system {spec.name}: {problems[0]}", known)
        raise ToolkitError(f"system {spec.name} has {len(problems)} problems", known, problems=problems)


def _parameters(spec: SystemSpec) -> Iterator[str]:
    known = kinds()[spec.kind]["parameters"]
    for name, value in spec.parameters.items():
        if name not in known:
            yield f"kind {spec.kind} has no parameter {name!r} {did_you_mean(name, known)}".rstrip()
        elif not _fits(value, known[name]["of"]):
            yield f"{name} is {value!r}, not {values(known[name]['of'])}"


def _templates(spec: SystemSpec) -> Iterator[str]:
    for name, template in spec.templates.items():
        if name not in TEMPLATES:
            yield f"no template {name!r}: {', '.join(TEMPLATES)}"
            continue
        try:
            check_template(name, template)
        except ToolkitError as error:
            yield f"{error.message} ({error.hint})"


def _recipes(spec: SystemSpec) -> Iterator[str]:
    for recipe, content in spec.recipes.items():
        yield from (f"recipe {recipe} has an unknown key {key!r}" for key in content if key not in RECIPE)


def _fits(value: Any, of: str | list[str]) -> bool:
    if isinstance(of, list):
        return value in of
    return isinstance(value, TYPES[of]) and (of == "bool" or not isinstance(value, bool))


def values(of: str | list[str]) -> str:
    """What a parameter may be, in words."""
    return " or ".join(of) if isinstance(of, list) else WORDS[of]


def _known(name: str, known: dict[str, Any]) -> str:
    return f"{did_you_mean(name, known)}known: {', '.join(known)}"
