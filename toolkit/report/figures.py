"""Figures: drawn once, as SVG that lives in a page or as files for papers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from toolkit.core.files import atomic_path, open_output
from toolkit.report.model import ReportModel
from toolkit.report.plots import PLOTS, Drawn, Plot
from toolkit.report.plots.theme import themed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("pdf", "svg", "png")
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same runs give the same bytes
DPI = 200  # of PNG
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# text stays text, never a formula, and the same figure is the same bytes
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "tandem", "text.parse_math": False, "pdf.fonttype": 42}


def applying(model: ReportModel) -> tuple[Plot, ...]:
    """The plots that these runs have what they draw."""
    return tuple(plot for plot in PLOTS if plot.applies(model))


def to_spec(plot: Plot, model: ReportModel) -> dict[str, Any]:
    """The Vega-Lite specification of a figure, as a page draws it."""
    return themed(plot.draw(model))


def _is_chart(drawing: object) -> bool:
    return hasattr(drawing, "to_dict")


@contextmanager
def drawn(plot: Plot, model: ReportModel) -> Iterator[Figure]:
    """The figure, in the style of reports, in which it is saved too."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield plot.draw(model)


def to_svg(plot: Plot, model: ReportModel, prefix: str) -> str:
    """The figure as an SVG element to stand in a page.

    prefix  of all ids, so that two figures of a page do not share any

    It has title and description for those who hear it, no colour behind it, and black parts take the page's colour of text.
    """
    raw = io.BytesIO()
    with drawn(plot, model) as figure:
        figure.savefig(raw, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    root = ElementTree.fromstring(raw.getvalue())
    _without_metadata(root)
    _with_prefix(root, prefix)
    for name, text in (("desc", plot.caption), ("title", plot.title)):
        element = ElementTree.Element(f"{{{SVG}}}{name}", id=f"{prefix}{name}")
        element.text = text
        root.insert(0, element)
    root.attrib |= {"role": "img", "aria-labelledby": f"{prefix}title {prefix}desc"}
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode").replace("#000000", "currentColor")


def _without_metadata(root: ElementTree.Element) -> None:
    for child in list(root):
        if child.tag == f"{{{SVG}}}metadata":
            root.remove(child)


def _with_prefix(root: ElementTree.Element, prefix: str) -> None:
    """Every id, and every reference to one, with a prefix."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                value = prefix + value
            elif name in ("href", f"{{{XLINK}}}href") and value.startswith("#"):
                value = f"#{prefix}{value[1:]}"
            element.set(name, re.sub(r"url\(#", f"url(#{prefix}", value))


def save(benchmarks: Sequence[ReportModel], folder: Path) -> list[Path]:
    """Every plot of every benchmark as PDF, SVG and PNG, and its numbers as CSV: `<folder>/<benchmark>.<plot>.<suffix>`.

    Returns the paths, in the order of a report.
    """
    paths = []
    for model in benchmarks:
        for plot in applying(model):
            stem = f"{model.name.replace('/', '-')}.{plot.name}"
            if _is_chart(plot.draw(model)):
                paths += _save_chart(themed(plot.draw(model), "black"), folder, stem)
                paths.append(folder / f"{stem}.csv")
                with open_output(paths[-1]) as file:
                    file.write(_numbers(plot.drawn(model)).encode())
                continue
            with drawn(plot, model) as figure:
                for suffix in FILES:
                    paths.append(folder / f"{stem}.{suffix}")
                    with atomic_path(paths[-1]) as part:
                        figure.savefig(part, format=suffix, dpi=DPI, bbox_inches="tight", metadata=UNDATED.get(suffix))
            paths.append(folder / f"{stem}.csv")
            with open_output(paths[-1]) as file:
                file.write(_numbers(plot.drawn(model)).encode())
    return paths


def _save_chart(spec: dict[str, Any], folder: Path, stem: str) -> list[Path]:
    import vl_convert

    made = {
        "pdf": lambda: vl_convert.vegalite_to_pdf(spec),
        "svg": lambda: vl_convert.vegalite_to_svg(spec).encode(),
        "png": lambda: vl_convert.vegalite_to_png(spec, ppi=DPI),
    }
    paths = []
    for suffix, convert in made.items():
        paths.append(folder / f"{stem}.{suffix}")
        with open_output(paths[-1]) as file:
            file.write(convert())
    return paths


def _numbers(numbers: Drawn) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([numbers.columns, *numbers.rows])
    return text.getvalue()
