"""The measures as ir_measures knows them: one class each, made from its row in registry/measures.yaml."""

from __future__ import annotations

import difflib
from typing import Any

import ir_measures
from ir_measures.measures import Measure, ParamInfo, register
from ir_measures.measures import registry as known

from toolkit import registry
from toolkit.core.errors import ToolkitError

TYPES = {"int": int, "str": str}


def define(name: str, row: dict[str, Any]) -> Measure:
    """The ir_measures measure of one row, without parameters (`WISE`; `WISE @ 20` adds one)."""
    fields = {
        "__name__": name,
        "__doc__": row["text"],
        "NAME": name,
        "PRETTY_NAME": row["title"],
        "SHORT_DESC": row["text"],
        "SUPPORTED_PARAMS": {key: _parameter(**spec) for key, spec in row["parameters"].items()},
        "DEFAULT": row["worst"],
        "over": row["over"],
    }
    return type(f"_{name}", (Measure,), fields)()


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


MEASURES = {name: define(name, row) for name, row in registry.measures().items()}
for _measure in MEASURES.values():
    register(_measure)
