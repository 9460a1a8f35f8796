"""Measures of instruction following and perspective diversity, as an extension of ir_measures.

Importing this package registers the measures of `registry/measures.yaml` with ir_measures: parse_measure, calc_aggregate,
iter_calc know them from then on. Each is also a name of this package: `from toolkit.metrics import WISE, pMRR`.
"""

from importlib import import_module
from typing import Any

from toolkit import registry
from toolkit.core.system.lazy_names import lazy_names, when_imported

_load, _names = lazy_names(
    __name__,
    {
        "definitions": ("MEASURES", "parse", "parse_all"),
        "toolkit.metrics.families.diagnostics": ("Findings", "describe", "findings", "notes"),
        "evaluation": ("MeasureValues", "evaluate"),
        "explanation": ("Explanation", "explain"),
        "toolkit.metrics.families.join": ("Positions", "positions"),
        "toolkit.metrics.families.paired": ("per",),
    },
)
__all__ = [*_names, *(name for name, spec in registry.measures().items() if spec.over != "aggregate")]


def __getattr__(name: str) -> Any:
    """A name when it is first asked for."""
    if name not in _names and name in __all__:
        return _load("MEASURES")[name]
    return _load(name)


def _register() -> None:
    """Make the measures and what computes them known to ir_measures."""
    for module in ("definitions", "providers"):
        import_module(f"{__name__}.{module}")


when_imported("ir_measures", _register)  # which commands that only read the registry never do
