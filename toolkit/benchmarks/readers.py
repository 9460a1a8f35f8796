"""The module that reads a benchmark's layout, loaded when a benchmark of it is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from toolkit.benchmarks.layouts import LAYOUTS
from toolkit.benchmarks.minis import MINIS
from toolkit.core.errors import ToolkitError


def layout_of(layout: str, name: str = "") -> ModuleType:
    """The module of a registry entry's `layout`; ToolkitError, which names the benchmark, for one that is not known."""
    if layout in MINIS:
        return import_module(f"toolkit.benchmarks.minis.{MINIS[layout]}")
    if layout not in LAYOUTS:
        raise ToolkitError(f"benchmark {name}: unknown layout {layout!r}", f"known: {', '.join([*LAYOUTS, *MINIS])}")
    return import_module(f"toolkit.benchmarks.layouts.{layout}")
