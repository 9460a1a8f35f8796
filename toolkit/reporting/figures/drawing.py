"""Figures: drawn once, as a specification that lives in a page or as files for papers."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolkit.core.system.files import open_output
from toolkit.core.system.lazy_names import vl_convert
from toolkit.reporting.figures import PLOTS, Drawn, Plot
from toolkit.reporting.figures.theme import SMALL, leading_only, themed
from toolkit.reporting.report.model import ReportModel
from toolkit.reporting.tables import fitting
from toolkit.reporting.tables.pdf_order import ordered

DPI = 300  # of PNG
WIDTHS = {"column": 3.33, "page": 7.0}  # inches: a column of a paper of two, and both
POINTS = 7  # of the smallest text at that width
INCH = 72  # points


def applying(model: ReportModel) -> tuple[Plot, ...]:
    """The plots that these runs have what they draw."""
    return tuple(plot for plot in PLOTS if plot.applies(model))


def caption(plot: Plot, model: ReportModel) -> str:
    """What is drawn, and of which runs where it is not all."""
    return " ".join(filter(None, (plot.caption, leading_only(model) if plot.leading else "")))


def file_stem(plot: Plot, model: ReportModel) -> str:
    """The name of a figure's files, without what their format adds."""
    return f"{model.name.replace('/', '-')}.{plot.name}"


def to_spec(plot: Plot, model: ReportModel) -> dict[str, Any]:
    """The Vega-Lite specification of a figure, as a page draws it; it has title and caption for those who do not see it."""
    from altair.utils import schemapi

    # tests draw every figure: what Altair checks at each step takes half of the time
    with schemapi.debug_mode(False):
        return fitting.with_names_once(themed(plot.draw(model), f"{plot.title}. {caption(plot, model)}"))


def save(benchmarks: Sequence[ReportModel], folder: Path, width: str = "page") -> list[Path]:
    """Every plot of every benchmark as SVG, PDF and PNG, and its numbers as CSV: `<folder>/<benchmark>.<plot>.<suffix>`.

    width  in which a paper shows it, of `WIDTHS`: text has 7 points there or more

    Returns the paths, in the order of a report. The same runs give the same bytes.
    """
    paths = []
    for model in benchmarks:
        for plot in applying(model):
            of_inch, of_points = at_width(to_spec(plot, model), WIDTHS[width])
            made = {
                "svg": of_inch.encode(),
                "pdf": ordered(vl_convert.svg_to_pdf(of_points)),
                "png": vl_convert.svg_to_png(of_points, scale=DPI / INCH),
                "csv": _numbers(plot.drawn(model)).encode(),
            }
            for suffix, content in made.items():
                paths.append(folder / f"{file_stem(plot, model)}.{suffix}")
                with open_output(paths[-1]) as file:
                    file.write(content)
    return paths


def at_width(spec: dict[str, Any], inches: float) -> tuple[str, str]:
    """A chart as SVG for a width: its size in inches, as a browser reads it, and in points, as PDF and PNG are made of it."""
    _, svg = fitting.fitted(spec | {"background": "white"}, inches * INCH * SMALL / POINTS)
    wide, high = fitting.size(svg)
    # what could not be made narrow enough is scaled down
    scale = min(POINTS / SMALL, inches * INCH / wide)
    across, down = (round(pixels * scale, 2) for pixels in (wide, high))
    was = fitting.SIZE.search(svg)
    assert was
    return tuple(
        svg.replace(was[0], f'width="{size[0]}" height="{size[1]}"', 1)
        for size in ((f"{across / INCH:.4g}in", f"{down / INCH:.4g}in"), (across, down))
    )


def _numbers(numbers: Drawn) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([numbers.columns, *numbers.rows])
    return text.getvalue()
