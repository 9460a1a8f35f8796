"""The measures as ir_measures knows them: one class each, made from its row in registry/measures.yaml."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

import ir_measures
from ir_measures.measures import MeanAgg, Measure, ParamInfo, register
from ir_measures.measures import registry as known

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import MeasureSpec

NAME = re.compile(r"[^@(]*")
BETWEEN = re.compile(r"[\s,]+(?![^(]*\))")  # two measures in one text, and not two parameters of one
TYPES = {"int": int, "float": float, "str": str}


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
    """What ir_measures' parse_measure gives, checked; a ToolkitError names what is wrong with it.

    A name may be written in other cases and with other punctuation (`p-MRR`, `ndcg@10`).
    For trec_eval's names the error says ours.
    """
    try:
        parsed = ir_measures.parse_measure(_respelled(measure) if isinstance(measure, str) else measure)
        parsed.validate_params()
    except NameError as error:
        name = str(error).rpartition(" ")[2]
        near = _of_trec_eval(name) or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`tandem measures list` has their names"
        raise ToolkitError(f"no measure {name!r} (in {measure!r})", hint) from error
    except (ValueError, AssertionError) as error:
        hint = "as in nDCG@10 or WISE(variant='release')@20"
        raise ToolkitError(f"cannot read measure {str(measure)!r}: {error}", hint) from error
    if parsed.params.get("cutoff", 1) < 1:
        raise ToolkitError(f"cannot read measure {str(measure)!r}: its cutoff is below 1", "as in nDCG@10")
    return parsed


def parse_all(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """The measures of one text (`nDCG@10 WISE@20`, divided by blanks or commas), of one measure, or of several such."""
    if isinstance(measures, Measure):
        return [parse(measures)]
    if isinstance(measures, str):
        return [parse(measure) for measure in BETWEEN.split(re.sub(r"\s*@\s*", "@", measures.strip(" ,\n\t")))]
    return [measure for each in measures for measure in parse_all(each)]


def _respelled(text: str) -> str:
    """The measure with its name as ir_measures writes it, where just one name differs only in case and punctuation."""
    name = NAME.match(text)[0]
    if name in known:
        return text
    alike = {str(found) for other, found in known.items() if registry.letters(other) == registry.letters(name)}
    return alike.pop() + text[len(name) :] if len(alike) == 1 else text


def _of_trec_eval(name: str) -> list[str]:
    """What trec_eval's name of one measure (`ndcg_cut_10`, `map`) means; nothing for other names and for families."""
    try:
        meant = ir_measures.parse_trec_measure(name)
    except ValueError:
        return []
    return [str(each) for each in meant] if len(meant) == 1 else []


MEASURES = {name: define(spec) for name, spec in registry.measures().items() if spec.over != "aggregate"}
for _measure in MEASURES.values():
    register(_measure)
