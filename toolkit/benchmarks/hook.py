"""Registration with ir_datasets, put off until someone imports that: it takes 0.8 s, which `--help` and BM25 do not need."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec


def register_with_ir_datasets() -> None:
    """Register our ids now where ir_datasets is imported already, else as soon as it is."""
    if "ir_datasets" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _WhenImported())


def _register() -> None:
    from toolkit.benchmarks.registration import register

    register()


class _WhenImported(MetaPathFinder):
    """Finds nothing itself; has the module that others find call `_register` when it is complete."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != "ir_datasets":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: object) -> None:
            execute(module)
            _register()

        spec.loader.exec_module = execute_and_register
        return spec
