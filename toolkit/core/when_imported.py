"""Work put off until somebody imports a module: for what belongs to a library that most commands never load."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec


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
