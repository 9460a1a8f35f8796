"""A chart that fits into a width: fewer panels side by side, then narrower ones. figures.js does the same in a window."""

import copy
import math
import re
from collections.abc import Iterator
from typing import Any

from toolkit.core.system.lazy_names import vl_convert

TRIES = 6
LEAST = 120  # pixels of a panel
NAMES = 0.34  # of the width that names of rows may take
PARTS = ("concat", "hconcat", "vconcat", "layer")
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def fitted(spec: dict[str, Any], width: float) -> tuple[dict[str, Any], str]:
    """The specification of a chart that is so many pixels wide at most, where its panels can be, and its SVG."""
    for _ in range(TRIES):
        svg = vl_convert.vegalite_to_svg(spec)
        wide, _ = size(svg)
        if wide <= width:
            break
        spec = narrowed(spec, wide, width)
    return spec, svg


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG in pixels."""
    found = SIZE.search(svg)
    assert found, svg[:200]
    return float(found[1]), float(found[2])


def narrowed(spec: dict[str, Any], wide: float, width: float) -> dict[str, Any]:
    """A step from one width to a smaller one, in pixels."""
    spec = copy.deepcopy(spec)
    config = spec["config"]
    config["legend"]["columns"] = max(1, math.floor(config["legend"]["columns"] * width / wide))
    config["axis"]["labelLimit"] = min(config["axis"]["labelLimit"], NAMES * width)
    config["title"]["limit"] = width - 20
    beside = [node for node in nodes(spec) if "hconcat" in node or node.get("columns", 1) > 1]
    for node in beside:
        if "hconcat" in node:
            node["vconcat"] = node.pop("hconcat")
        else:
            node["columns"] = max(1, math.floor(node["columns"] * width / wide))
    for node in nodes(spec) if not beside else ():
        if isinstance(node.get("width"), int | float):
            node["width"] = max(LEAST, math.floor(node["width"] - (wide - width)))
    return with_names_once(spec)


def with_names_once(spec: dict[str, Any]) -> dict[str, Any]:
    """Panels whose rows are the same runs name them in the first column alone; the specification itself, changed."""
    if spec.get("usermeta", {}).get("names") == "first column":
        for parent in nodes(spec):
            for number, panel in enumerate(parent.get("concat", ())):
                first = number % parent.get("columns", 1) == 0
                for node in nodes(panel):
                    y = node.get("encoding", {}).get("y", {})
                    if y.get("field") == "run":
                        y["axis"] = {**(y.get("axis") or {}), "labels": first, "ticks": first}
    return spec


def nodes(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A specification and all that it is composed of."""
    yield spec
    for part in PARTS:
        for child in spec.get(part, ()):
            yield from nodes(child)
    if "spec" in spec:  # of a facet
        yield from nodes(spec["spec"])
