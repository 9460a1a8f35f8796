"""The measures as ir_measures knows them: one class each, made from its row in registry/measures.yaml."""

from __future__ import annotations

import difflib
from typing import Any

import ir_measures
from ir_measures.measures import MeanAgg, Measure, ParamInfo, register
from ir_measures.measures import registry as known

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import MeasureSpec

TYPES = {"int": int, "str": str}


class Repeated(float):
    """A value given once more, for another query id that it is about."""


class WithoutRepeated(MeanAgg):
    """The mean over values, each counted once."""

    def add(self, value: float) -> None:
        """Take a value in, unless it is repeated."""
        if not isinstance(value, Repeated):
            super().add(value)


def define(spec: MeasureSpec) -> Measure:
    """The ir_measures measure of one row, without parameters (`WISE`; `WISE @ 20` adds one)."""
    fields = {
        "__name__": spec.name,
        "__doc__": spec.text,
        "NAME": spec.name,
        "PRETTY_NAME": spec.title,
        "SHORT_DESC": spec.text,
        "SUPPORTED_PARAMS": {name: _parameter(**options) for name, options in spec.parameters.items()},
        "DEFAULT": spec.worst,
        "aggregator": lambda self: WithoutRepeated(),
    }
    return type(f"_{spec.name}", (Measure,), fields)()


def _parameter(type: str, text: str, **options: Any) -> ParamInfo:
    return ParamInfo(dtype=TYPES[type], desc=text, **options)


def parse(measure: str | Measure) -> Measure:
    """What ir_measures' parse_measure gives, checked; a ToolkitError names what is wrong with it."""
    try:
        parsed = ir_measures.parse_measure(measure)
        parsed.validate_params()
    except NameError as error:
        name = str(error).rpartition(" ")[2]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "see docs/measures.md"
        raise ToolkitError(f"no measure {name!r} (in {measure!r})", hint) from error
    except (ValueError, AssertionError) as error:
        raise ToolkitError(
            f"cannot read measure {str(measure)!r}: {error}", "as in nDCG@10 or WISE(variant='release')@20"
        ) from error
    if parsed.params.get("cutoff", 1) < 1:
        raise ToolkitError(f"cannot read measure {str(measure)!r}: its cutoff is below 1", "as in nDCG@10")
    return parsed


MEASURES = {name: define(spec) for name, spec in registry.measures().items() if spec.over != "aggregate"}
for _measure in MEASURES.values():
    register(_measure)
