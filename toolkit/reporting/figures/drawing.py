"""Figures: drawn once, as a specification that lives in a page or as files for papers."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_output
from toolkit.core.system.lazy_names import alt, vl_convert
from toolkit.core.tables.tabular import for_spreadsheet, to_csv
from toolkit.registry.loader import did_you_mean
from toolkit.reporting.figures import PLOTS, Plot
from toolkit.reporting.figures.theme import MOST, SMALL, themed
from toolkit.reporting.report.model import ReportModel

DPI = 300  # of PNG
WIDTHS = {"column": 3.33, "page": 7.0}  # inches: a column of a paper of two, and both
POINTS = 7  # of the smallest text at that width
INCH = 72  # points
TRIES = 6  # to make a chart narrower, as figures.js does in a window
LEAST = 120  # pixels of a panel
NAMES = 0.34  # of the width that names of rows may take
PARTS = ("concat", "hconcat", "vconcat", "layer")
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
# of a PDF file
OBJECT = re.compile(rb"^(\d+) 0 obj\n", re.MULTILINE)
REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
# entries of a dictionary, one a line, each a name and a reference
ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
STREAM = b"\nstream\n"


def applying(model: ReportModel) -> tuple[Plot, ...]:
    """The plots that these runs have what they draw."""
    return tuple(plot for plot in PLOTS if plot.applies(model))


def caption(plot: Plot, model: ReportModel) -> str:
    """What is drawn, and of which runs where it is not all."""
    if not plot.leading or len(model.runs) <= MOST:
        return plot.caption
    return f"{plot.caption} Drawn are the {MOST} best of {len(model.runs)} runs, or on a page those that are chosen."


def file_stem(plot: Plot, model: ReportModel) -> str:
    """The name of a figure's files, without what their format adds."""
    return f"{model.name.replace('/', '-')}.{plot.name}"


def to_spec(plot: Plot, model: ReportModel) -> dict[str, Any]:
    """The Vega-Lite specification of a figure, as a page draws it; it has title and caption for those who do not see it."""
    from altair.utils import schemapi

    # tests draw every figure: what Altair checks at each step takes half of the time
    with schemapi.debug_mode(False):
        return with_names_once(themed(plot.draw(model), f"{plot.title}. {caption(plot, model)}"))


def chart(name: str, model: ReportModel) -> alt.TopLevelMixin:
    """A figure on its own, with its title. ToolkitError for one that there is not, or that these runs have nothing for."""
    known = {plot.name: plot for plot in PLOTS}
    if name not in known:
        raise ToolkitError(f"no figure {name!r}", f"{did_you_mean(name, known)}known: {', '.join(known)}")
    if not known[name].applies(model):
        drawable = ", ".join(plot.name for plot in applying(model)) or "none"
        raise ToolkitError(f"these runs have nothing that {name} draws", f"of them there are {drawable}")
    spec = to_spec(known[name], model) | {"title": known[name].title, "background": "white"}
    kinds = {"vconcat": alt.VConcatChart, "hconcat": alt.HConcatChart, "concat": alt.ConcatChart, "layer": alt.LayerChart}
    kind = next((made for part, made in (kinds | {"spec": alt.FacetChart}).items() if part in spec), alt.Chart)
    return kind.from_dict(spec, validate=False)


def save(benchmarks: Sequence[ReportModel], folder: Path, width: str = "page") -> list[Path]:
    """Every plot of every benchmark as SVG, PDF and PNG, and its numbers as CSV: `<folder>/<benchmark>.<plot>.<suffix>`.

    width  in which a paper shows it, of `WIDTHS`: text has 7 points there or more

    Returns the paths, in the order of a report. The same runs give the same bytes.
    """
    paths = []
    for model in benchmarks:
        for plot in applying(model):
            numbers = plot.drawn(model)
            of_inch, of_points = at_width(to_spec(plot, model), WIDTHS[width])
            made = {
                "svg": of_inch.encode(),
                "pdf": ordered_pdf(vl_convert.svg_to_pdf(of_points)),
                "png": vl_convert.svg_to_png(of_points, scale=DPI / INCH),
                "csv": to_csv(numbers.columns, map(for_spreadsheet, numbers.dicts())).encode(),
            }
            for suffix, content in made.items():
                paths.append(folder / f"{file_stem(plot, model)}.{suffix}")
                with open_output(paths[-1]) as file:
                    file.write(content)
    return paths


def at_width(spec: dict[str, Any], inches: float) -> tuple[str, str]:
    """A chart as SVG for a width: its size in inches, as a browser reads it, and in points, as PDF and PNG are made of it."""
    _, svg = fitted(spec | {"background": "white"}, inches * INCH * SMALL / POINTS)
    wide, high = size(svg)
    # what could not be made narrow enough is scaled down
    scale = min(POINTS / SMALL, inches * INCH / wide)
    across, down = (round(pixels * scale, 2) for pixels in (wide, high))
    was = SIZE.search(svg)
    assert was
    return tuple(
        svg.replace(was[0], f'width="{width}" height="{height}"', 1)
        for width, height in ((f"{across / INCH:.4g}in", f"{down / INCH:.4g}in"), (across, down))
    )


def fitted(spec: dict[str, Any], width: float) -> tuple[dict[str, Any], str]:
    """A chart's specification and SVG, so many pixels wide at most where panels can be: fewer side by side, then narrower."""
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


def ordered_pdf(pdf: bytes) -> bytes:
    """The same document, entries of its dictionaries sorted and its objects numbered as the catalogue leads to them.

    vl-convert writes fonts and resources in the order of a random hash.
    """
    table = int(pdf[pdf.rindex(b"startxref") :].split()[1])
    starts = sorted(int(line[:10]) for line in re.findall(rb"^\d{10} \d{5} n", pdf[table:], re.MULTILINE))
    objects: dict[bytes, tuple[bytes, bytes]] = {}
    for start, end in zip(starts, [*starts[1:], table], strict=True):
        header = OBJECT.match(pdf, start)
        assert header, pdf[start : start + 20]
        words, stream, content = pdf[header.end() : end].partition(STREAM)
        objects[header[1]] = ENTRIES.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), words), stream + content
    trailer = pdf[pdf.index(b"trailer", table) : pdf.rindex(b"startxref")]
    order = dict.fromkeys(REFERENCE.findall(trailer))
    for number in (queue := list(order)):
        queue += (new := [each for each in dict.fromkeys(REFERENCE.findall(objects[number][0])) if each not in order])
        order |= dict.fromkeys(new)
    place = {number: b"%d" % new for new, number in enumerate(order, 1)}

    def renumbered(words: bytes) -> bytes:
        return REFERENCE.sub(lambda found: place[found[1]] + b" 0 R", words)

    made = pdf[: starts[0]]
    offsets = []
    for number in order:
        offsets.append(len(made))
        words, content = objects[number]
        made += place[number] + b" 0 obj\n" + renumbered(words) + content
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    xref = b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1) + rows
    return made + xref + trailer + b"startxref\n%d\n%%%%EOF" % len(made)
