"""Names of a package that are imported when they are first asked for: a search loads no linter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], list[str]]:
    """`__getattr__` and `__all__` of a package (PEP 562).

    modules  module, from the package if it has no dot, -> the names that it has
    """
    places = {name: module if "." in module else f"{package}.{module}" for module, names in modules.items() for name in names}
    # a module is an attribute of its package as soon as it is imported, and hides what has its name
    assert not places.keys() & modules.keys(), places.keys() & modules.keys()

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, sorted(places)
