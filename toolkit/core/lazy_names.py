"""What is imported when it is first asked for: names of our packages (a search loads no linter), and heavy libraries.

A module that needs one of these libraries writes `from toolkit.core.lazy_names import pyarrow`, and uses it as if it had been
imported: `--help` and most commands load none of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import altair as alt
    import pandas
    import pyarrow
    import requests
    import vl_convert
    import yaml
else:
    names = ("altair", "pandas", "pyarrow", "requests", "vl_convert", "yaml")
    alt, pandas, pyarrow, requests, vl_convert, yaml = map(_Lazy, names)


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
