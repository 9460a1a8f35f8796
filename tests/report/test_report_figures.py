"""Figures of a report: SVG that may stand in a page with others, and files for papers."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.report import figures
from toolkit.report.collect import collect
from toolkit.report.plots import Drawn, Plot

SVG = "{http://www.w3.org/2000/svg}"


def draw(model):
    figure = Figure()
    axes = figure.add_subplot()
    for facts in model.runs:
        axes.plot([1, 2], [1, 2], marker="o", color="#000000", label=facts.name, clip_on=True)
    axes.set_xlabel("a <b> & $c")
    axes.legend()
    return figure


PLOT = Plot("line", "A <line>", "Up & away.", lambda model: True, draw, lambda model: Drawn(("run", "value"), (("a,b", 0.1),)))


@pytest.fixture(scope="module")
def model():
    run = Run.from_dict({"q": {"d": 1.0}}, tag="$x_{1")
    return collect([run], qrels=Qrels.from_rows([Qrel("q", "d", 1)]), measures=["RR"])[0]


def test_ids_of_two_figures_do_not_meet_and_references_find_theirs(model):
    first, second = (ElementTree.fromstring(figures.to_svg(PLOT, model, prefix)) for prefix in ("b1-", "b2-"))
    ids = [{element.get("id") for element in root.iter()} - {None} for root in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    text = ElementTree.tostring(first, encoding="unicode")
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert used
    assert used <= ids[0]


def test_a_figure_has_title_and_description_and_takes_the_colour_of_text(model):
    text = figures.to_svg(PLOT, model, "b1-")
    root = ElementTree.fromstring(text)
    named = {element.get("id"): element.text for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert [named[each] for each in root.get("aria-labelledby").split()] == ["A <line>", "Up & away."]
    assert root.get("role") == "img"
    assert "currentColor" in text
    assert "#000000" not in text
    assert "<metadata" not in text


def test_names_in_a_figure_are_text_and_no_formulas(model):
    root = ElementTree.fromstring(figures.to_svg(PLOT, model, "b1-"))
    texts = {"".join(element.itertext()) for element in root.iter(f"{SVG}text")}
    assert {"$x_{1", "a <b> & $c"} <= texts


def test_files_of_a_figure_are_the_same_each_time(model, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "PLOTS", (PLOT,))
    paths = figures.save([model], tmp_path / "one")
    again = figures.save([model], tmp_path / "two")
    assert [path.name for path in paths] == [f"qrels.line.{suffix}" for suffix in ("pdf", "svg", "png", "csv")]
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert [Path(path).read_bytes()[:4] for path in paths[:3:2]] == [b"%PDF", b"\x89PNG"]
    assert list(csv.reader(paths[3].open(encoding="utf-8"))) == [["run", "value"], ["a,b", "0.1"]]
