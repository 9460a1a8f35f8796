"""What is imported when it is first asked for: names of our packages (a search loads no linter), heavy libraries, and
what belongs to a library that most commands never load.

A module that needs one of these libraries writes `from toolkit.core.system.lazy_names import pyarrow`, and uses it as if it
had been imported: `--help` and most commands load none of them.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import altair as alt
    import jnius
    import pandas as pandas
    import pyarrow
    import pyarrow.compute as compute
    import requests
    import torch
    import transformers
    import vl_convert
    import yaml
else:
    names = "altair jnius pandas pyarrow pyarrow.compute requests torch transformers vl_convert yaml"
    alt, jnius, pandas, pyarrow, compute, requests, torch, transformers, vl_convert, yaml = map(_Lazy, names.split())


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


def when_imported(module: str, then: Callable[[], object]) -> None:
    """Call `then` now where the module is imported already, else as soon as it is."""
    if module in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _WhenImported(module, then))


class _WhenImported(MetaPathFinder):
    """Finds nothing itself; has the module that others find call `then` when it is complete."""

    def __init__(self, module: str, then: Callable[[], object]):
        self.module, self.then = module, then

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_call(module: object) -> None:
            execute(module)
            self.then()

        spec.loader.exec_module = execute_and_call
        return spec
