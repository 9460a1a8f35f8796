"""Figures of a report: specifications that live in a page, and files for papers."""

import base64
import csv
import gzip
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from chromium import needs_chromium, wait
from command import ROOT, tandem

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.reporting import pages
from toolkit.reporting.figures import PLOTS, Drawn, Plot, drawing
from toolkit.reporting.figures.charts import chart_of
from toolkit.reporting.figures.theme import focused, run_looks, with_legend_clicks
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report, to_html

SVG = "{http://www.w3.org/2000/svg}"
BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"


def draw(model):
    import altair as alt

    rows = [{"run": facts.name, "query": "q 1&2", "measure": "RR", "value": 0.123456789} for facts in model.runs]
    points = chart_of(rows).mark_point(size=400, filled=True)
    return with_legend_clicks(
        points.encode(
            x=alt.X("value:Q", title="a <b> & $c"), **run_looks(model, "color", "shape", legend=True), opacity=focused()
        )
    )


PLOT = Plot("line", "A <line>", "Up & away.", lambda model: True, draw, lambda model: Drawn(("run", "value"), (("a,b", 0.1),)))


@pytest.fixture(scope="module")
def model():
    run = Run.from_dict({"q": {"d": 1.0}}, tag="$x_{1")
    return collect([run], qrels=Qrels.from_rows([Qrel("q", "d", 1)]), measures=["RR"])[0]


@pytest.fixture(scope="module")
def minis():
    """A report of six runs over six groups and one of perspectives, with the largest figures of both."""
    runs = [sorted(BASELINES.glob(f"{name}.*.gz")) for name in ("infosearch-mini", "berds-mini")]
    return [
        collect([str(path) for path in paths], [name], radar=True)[0]
        for paths, name in zip(runs, ("infosearch-mini", "berds-mini"), strict=True)
    ]


def test_a_specification_says_what_is_drawn_and_has_the_colour_of_the_text_around_it(model):
    spec = drawing.to_spec(PLOT, model)
    assert spec["description"] == "A <line>. Up & away."
    assert spec["background"] == "transparent"
    assert spec["config"]["axis"]["labelColor"] == spec["config"]["text"]["color"] == "currentColor"
    assert "title" not in spec


def test_names_in_a_figure_are_text_and_no_formulas(model, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "PLOTS", (PLOT,))
    svg, *_ = drawing.save([model], tmp_path)
    texts = {"".join(element.itertext()) for element in ElementTree.parse(svg).iter(f"{SVG}text")}
    assert {"$x_{1", "a <b> & $c"} <= texts


def test_files_of_a_figure_are_the_same_each_time(model, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "PLOTS", (PLOT,))
    paths = drawing.save([model], tmp_path / "one")
    again = drawing.save([model], tmp_path / "two")
    assert [path.name for path in paths] == [f"qrels.line.{suffix}" for suffix in ("svg", "pdf", "png", "csv")]
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert [Path(path).read_bytes()[:4] for path in paths[1:3]] == [b"%PDF", b"\x89PNG"]
    assert list(csv.reader(paths[3].open(encoding="utf-8"))) == [["run", "value"], ["a,b", "0.1"]]


def test_a_spreadsheet_takes_no_text_of_a_figures_file_for_a_formula(model, tmp_path, monkeypatch):
    texts = ("=1+1", "+a", "-a", "@a", "\ta", "-1.5e3", "a=1")
    drawn = Drawn(("run", "value"), tuple((text, -0.5) for text in texts))
    monkeypatch.setattr(drawing, "PLOTS", (replace(PLOT, drawn=lambda model: drawn),))
    *_, path = drawing.save([model], tmp_path)
    rows = list(csv.reader(path.open(encoding="utf-8", newline="")))[1:]
    assert rows == [[text, "-0.5"] for text in ("'=1+1", "'+a", "'-a", "'@a", "'\ta", "-1.5e3", "a=1")]


@pytest.mark.slow  # each figure is drawn several times, until it is as narrow as that
@pytest.mark.parametrize(("width", "inches"), [("column", 3.33), ("page", 7.0)])
def test_text_of_files_has_seven_points_at_the_width_they_are_made_for(minis, tmp_path, width, inches):
    small = {}
    for model in minis:
        for path in drawing.save([model], tmp_path / width, width):
            if path.suffix == ".svg":
                root = ElementTree.parse(path).getroot()
                wide, across = root.get("width"), float(root.get("viewBox").split()[2])
                assert wide.endswith("in")
                assert float(wide[:-2]) <= inches * 1.001, path.name
                points = float(wide[:-2]) * 72 / across
                sizes = [float(each.get("font-size").removesuffix("px")) * points for each in root.iter(f"{SVG}text")]
                small |= {path.name: min(sizes)} if min(sizes) < 6.99 else {}
    assert not small
    assert len(list((tmp_path / width).iterdir())) == 4 * sum(len(drawing.applying(model)) for model in minis)


def test_a_narrow_chart_has_fewer_panels_side_by_side_and_names_its_rows_in_the_first_column(minis):
    plot = next(plot for plot in PLOTS if plot.name == "intervals")
    whole = drawing.to_spec(plot, minis[0])
    narrow, svg = drawing.fitted(whole, 343)
    assert drawing.size(svg)[0] <= 343
    assert (whole["columns"], narrow["columns"]) == (3, 1)

    def named(spec):
        return [panel["layer"][1]["encoding"]["y"]["axis"]["labels"] for panel in spec["concat"]]

    assert named(whole) == [True, False, False] * 2
    assert named(narrow) == [True] * 6


@pytest.mark.parametrize(
    "plot", [plot for plot in PLOTS if plot.name not in ("stance", "lean", "paraphrases")], ids=lambda plot: plot.name
)
def test_every_figure_can_be_as_narrow_as_a_phone(minis, plot):
    for model in filter(plot.applies, minis):
        _, svg = drawing.fitted(drawing.to_spec(plot, model), 358)
        assert drawing.size(svg)[0] <= 358 * 1.1  # text of 10 pixels has 9


@pytest.mark.process
def test_without_the_extra_nothing_is_written(tmp_path):
    hidden = "import sys; sys.modules['vl_convert'] = None; from toolkit.__main__ import main; sys.exit(main())"
    from subprocess import run as process
    from sys import executable

    words = [
        "report",
        str(BASELINES / "berds-mini.bm25.v2.trec.gz"),
        "--benchmark",
        "berds-mini",
        "--plots",
        str(tmp_path / "f"),
    ]
    done = process([executable, "-c", hidden, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"hint:  pip install -e '{ROOT}[pages]'"
    assert not (tmp_path / "f").exists()


# in a browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("figures") / "page.html"
    runs = [BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules", "all-minilm-l6-v2")]
    tandem("report", *runs, "--benchmark", "infosearch-mini", "--radar", "--output", path, check=True)
    return path


def opened(chrome, page, width=1280, scheme="light"):
    """The page with every figure drawn, in a window of a width; the last of a call stays for the next test."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    chrome.get(page.as_uri())
    chrome.execute_script(
        "document.querySelectorAll('details').forEach((each) => { each.open = !each.matches('.by-query'); });"
    )
    wait(chrome, lambda: chrome.execute_script("return !document.querySelector('.chart:not([data-state=drawn])')"))


@pytest.fixture
def emulated(chrome):
    yield chrome
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@needs_chromium
@pytest.mark.parametrize("width", [390, 768, 1280, 1400])
def test_figures_fit_into_the_window_and_their_text_can_be_read(emulated, page, width):
    opened(emulated, page, width)
    shown = emulated.execute_script("""
      return [...document.querySelectorAll(".chart")].map((chart) => {
        const svg = chart.querySelector("svg"), box = svg.getBoundingClientRect();
        const scale = box.width / svg.getAttribute("width"), label = chart.querySelector("[aria-label]").ariaLabel;
        const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(text.getAttribute("font-size")) * scale);
        return {name: chart.id, right: box.right, text: Math.min(...sizes), label};
      });""")
    assert len(shown) > 8
    assert all(each["right"] <= width for each in shown), shown
    assert all(each["text"] >= 9 for each in shown), shown
    assert all(". " in each["label"] for each in shown)
    assert emulated.get_log("browser") == []


@needs_chromium
def test_figures_of_a_dark_page_have_light_text_and_no_ground(emulated, page):
    opened(emulated, page, scheme="dark")
    fills = emulated.execute_script("""
      return [...document.querySelectorAll("#b1-intervals text")].map((text) => getComputedStyle(text).fill);""")
    assert set(fills) == {"rgb(255, 255, 255)"}


@needs_chromium
def test_a_click_on_a_legend_chooses_a_run_in_every_figure_and_again_lets_go(emulated, page):
    from selenium.webdriver import ActionChains

    opened(emulated, page)
    emulated.execute_script("document.querySelector('#b1-wise-surface').scrollIntoView()")  # what is far off has no text yet
    labels = "#b1-wise-surface .role-legend-label text"
    (entry,) = wait(
        emulated, lambda: [each for each in emulated.find_elements("css selector", labels) if each.text == "bm25+rules"]
    )

    def pale():
        # figures follow when they are seen
        emulated.execute_script("document.querySelector('#b1-intervals').scrollIntoView()")
        return emulated.execute_script("""
          return [...document.querySelectorAll("#b1-intervals path[aria-roledescription=point]")].filter(
            (mark) => Number(mark.getAttribute("opacity")) < 0.5).map((mark) => mark.getAttribute("aria-label"));""")

    assert pale() == []
    emulated.execute_script("arguments[0].scrollIntoView({block: 'center'})", entry)
    ActionChains(emulated).move_to_element(entry).click().perform()
    found = wait(emulated, pale)
    assert found
    assert not any("bm25+rules" in label for label in found)
    emulated.execute_script("arguments[0].scrollIntoView({block: 'center'})", entry)
    ActionChains(emulated).move_to_element(entry).click().perform()
    wait(emulated, lambda: not pale())


@needs_chromium
def test_numbers_and_drawing_of_a_figure_can_be_taken(emulated, page):
    opened(emulated, page)
    taken = emulated.execute_async_script("""
      const done = arguments[arguments.length - 1], chart = document.querySelector("#b1-intervals");
      (async () => {
        const [svg, png, csv] = await Promise.all(["svg", "png", "csv"].map((format) => contentOf(chart, format)));
        done({svg: await svg.text(), png: [...new Uint8Array(await png.slice(0, 4).arrayBuffer())], csv: await csv.text()});
      })();""")
    assert ElementTree.fromstring(taken["svg"]).tag == f"{SVG}svg"
    assert bytes(taken["png"]) == b"\x89PNG"
    rows = list(csv.DictReader(taken["csv"].splitlines()))
    packed = re.search(r'id="b1-intervals"[^>]*><script[^>]*>(.*?)</script>', page.read_text("utf-8"))[1]
    spec = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert len(rows) == sum(map(bool, itertools.chain(*spec["datasets"].values())))  # a line at zero has no numbers
    assert {"bm25", "bm25+rules", "all-minilm-l6-v2"} == {row["run"] for row in rows}
    assert float(rows[0]["low"]) <= float(rows[0]["value"]) <= float(rows[0]["high"])
    button = emulated.find_element("css selector", "figure .take button[data-way=save][data-format=csv]")
    emulated.execute_script("arguments[0].click()", button)
    wait(emulated, lambda: "saved: infosearch-mini." in emulated.find_element("css selector", "figure .take output").text)
    assert emulated.get_log("browser") == []


@needs_chromium
def test_figures_are_drawn_again_for_a_window_of_another_width(emulated, page):
    opened(emulated, page, 1280)
    size = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    emulated.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    drawn = "return Number(document.querySelector('#b1-intervals svg')?.getAttribute('width') ?? 999)"
    wait(emulated, lambda: emulated.execute_script(drawn) <= 390)


@pytest.mark.slow  # all that a page can have, twice
def test_tables_figures_and_libraries_count_towards_the_size_of_the_page(monkeypatch):
    paths = sorted(map(str, BASELINES.glob("infosearch-mini.*.gz")))
    made = report(collect(paths, ["infosearch-mini"]))
    whole = to_html(made)
    assert len(whole.encode()) <= pages.LIMIT
    assert "So that the page stays small" not in whole
    monkeypatch.setattr(pages, "LIMIT", len(whole.encode()) - 30_000)
    smaller = to_html(made)
    assert len(smaller.encode()) <= pages.LIMIT + 2_000  # the controls of the queries: the limit leaves 100,000 to 8 MB
    assert "So that the page stays small: documents have their first" in smaller
