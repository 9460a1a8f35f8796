"""The page of a comparison shows what the terminal shows: means, differences, intervals, p, queries up and down, rankings."""

import re

import pytest
from bs4 import BeautifulSoup
from chromium import needs_chromium, wait

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import shown_measure
from toolkit.core.system.files import shipped
from toolkit.reporting.diff.compare_runs import diff, load, page
from toolkit.reporting.diff.diff_output import summaries

MINI = "infosearch-mini"
NAMES = ("bm25", "bm25+rules", "all-minilm-l6-v2")


def given(count=2):
    baselines = shipped("runs", "baselines")
    return load({name: baselines / f"{MINI}.{name}.v2.trec.gz" for name in NAMES[:count]}, benchmark=MINI)


@pytest.fixture(scope="module")
def two():
    runs = given()
    return diff(runs), page(runs, benchmark=MINI)


def rows_of(table):
    heads = [" ".join(head.text.split()) for head in table.find("thead").find_all("th")]
    return [
        {"group": row["data-group"]}
        | {head: " ".join(cell.text.split()) for head, cell in zip(heads, row.find_all(["th", "td"]), strict=True)}
        for row in table.find("tbody").find_all("tr")
    ]


def test_every_number_of_the_terminal_is_in_the_page(two):
    [pair], text = two
    rows = rows_of(BeautifulSoup(text, "html.parser").find(class_="changes"))
    shown = {(row["group"], row["measure"].removesuffix(" lower is better")): row for row in rows}
    assert len(shown) == len(rows) == len(pair.comparison.changes)
    for change in pair.comparison.changes:
        mode = "" if change.mode == "paired" else f" {change.mode}"
        row = shown[change.group, f"{shown_measure(change.measure)}{mode}"]
        digits = 1 if change.measure == "GoldRank" else 3
        assert [row["bm25"], row["bm25+rules"]] == [f"{value:z.{digits}f}" for value in (change.a, change.b)]
        assert row["difference"] == f"{change.difference:+z.{digits}f}{change.mark}"
        interval = f"{change.low:+z.{digits}f} to {change.high:+z.{digits}f}"
        assert row["95 % interval"] == (change.untested or interval)
        assert row["p"] == ("-" if change.untested else "<0.0001" if change.p < 0.0001 else f"{change.p:.4f}")
        assert re.findall(r"\d+", row["core queries up, down, equal"]) == [
            str(each) for each in (change.up, change.down, change.same)
        ]


def test_what_moved_most_is_said_first_and_rankings_last(two):
    [pair], text = two
    soup = BeautifulSoup(text, "html.parser")
    said = soup.find(class_="headline").text
    # rules keep away what a reversed instruction excludes: by the range of its values GoldRank rev moved more than WISE
    assert said.startswith("GoldRank rev 9.2 \u2192 32.4: +23.2 (95 % interval +18.2 to +28.2); p <0.0001. ")
    assert said.endswith("Of 84 core queries 44 up, 3 down, 37 equal.")
    table = soup.find(class_="likeness")
    rows = [[cell.text for cell in row.find_all(["th", "td"])] for row in table.find("tbody").find_all("tr")]
    assert rows == [
        [row["mode"], str(row["queries"]), *(f"{row[key]:.3f}" for key in ("overlap", "tau", "rbo")), str(row["same ranking"])]
        for row in summaries(pair)
    ]
    notes = [note.text for note in soup.find(class_="about").find_all("li")]
    assert set(pair.notes) <= set(notes)


def test_an_interval_is_drawn_where_its_numbers_are(two):
    """The circle between both ends, right of zero for what rose; the widest of a group's fractions reaches the edge."""
    table = BeautifulSoup(two[1], "html.parser").find(class_="changes")
    edges = []
    for row in table.find("tbody").find_all("tr"):
        interval = row.find("td", {"data-label": "95 % interval"}).text
        if " to " not in interval:
            continue  # not tested
        low, high = (float(end) for end in interval.split(" to "))
        zero, line, *_ = row.find_all("line")
        middle = float(row.find("circle")["cx"])
        assert float(line["x1"]) <= middle <= float(line["x2"])
        assert (float(line["x1"]) > float(zero["x1"])) == (low > 0) or abs(low) < 0.01
        assert (float(line["x2"]) < float(zero["x1"])) == (high < 0) or abs(high) < 0.01
        if row["data-group"] == "average":
            edges.append((high, float(line["x2"])))
    assert max(edge for _, edge in edges) == 106  # of 110, with a margin of 4


def test_of_three_runs_both_differences_from_the_first_stand_beside_each_other():
    runs = given(3)
    pairs, soup = diff(runs), BeautifulSoup(page(runs, benchmark=MINI), "html.parser")
    assert soup.find("h1").text == "2 runs compared with bm25"
    rows = {row["measure"]: row for row in rows_of(soup.find(class_="together"))}
    for pair in pairs:
        for change in pair.comparison.changes:
            if change.group == "average" and change.measure == "WISE@20":
                shown = rows["WISE@20"][pair.b]
                assert shown.startswith(f"{change.difference:+.3f}")
                assert shown.endswith(f"{change.low:+.3f} to {change.high:+.3f}")
    folds = soup.find_all("details", class_="pair")
    assert [fold.find("summary").text for fold in folds] == [f"bm25 \u2192 {name}" for name in NAMES[1:]]
    assert all(len(rows_of(fold.find(class_="changes"))) == len(pairs[0].comparison.changes) for fold in folds)


def test_identical_runs_say_so_beside_others():
    run = Run.from_dict({"q1": {"a": 2.0, "b": 1.0}}, tag="x")
    other = Run.from_dict({"q1": {"b": 2.0, "a": 1.0}}, tag="z")
    qrels = Qrels.from_rows([Qrel("q1", "a", 1)])
    runs = load({"x": run, "y": run, "z": other}, qrels=qrels)
    soup = BeautifulSoup(page(runs, measures=["RR"]), "html.parser")
    first, second = soup.find_all("details", class_="pair")
    assert "Identical: the same documents" in first.text
    assert "RR 1.000 \u2192 0.500: -0.500" in second.text
    alone = page(load({"x": run, "y": run}, qrels=qrels), measures=["RR"])
    assert "Identical: the same documents" in alone


def test_names_of_runs_are_text():
    name = "</script><img src=x onerror=alert(1)>"
    run, other = Run.from_dict({"q1": {"a": 2.0}}, tag="x"), Run.from_dict({"q1": {"b": 2.0}}, tag="y")
    text = page(load({name: run, "b": other}, qrels=Qrels.from_rows([Qrel("q1", "a", 1)])), measures=["RR"])
    assert "<img" not in text
    assert f"{name} \u2192 b" in BeautifulSoup(text, "html.parser").find("h1").text


def test_a_page_needs_judgments():
    runs = [Run.from_dict({"q1": {"a": 2.0}}, tag=tag) for tag in "xy"]
    with pytest.raises(ToolkitError, match="no judgments"):
        page(load(runs))


@needs_chromium
def test_a_click_on_a_measure_shows_its_queries_and_a_group_its_rows(chrome, tmp_path, two):
    path = tmp_path / "page.html"
    path.write_text(two[1], encoding="utf-8")
    chrome.get(path.as_uri())
    rows = """return [...document.querySelectorAll(".changes tbody tr")]
      .filter((row) => !row.hidden && row.matches(arguments[0])).map((row) => row.dataset[arguments[1]])"""
    assert chrome.execute_script(rows, "[aria-current]", "measure") == ["GoldRank rev"]
    button = chrome.find_element("css selector", "tr[data-measure='WISE@20'] button")
    button.click()
    assert chrome.execute_script(rows, "[aria-current]", "measure") == ["WISE@20"]
    assert chrome.find_element("css selector", ".browser .measure").get_property("selectedOptions")[0].text == "WISE@20"
    assert set(chrome.execute_script(rows, "tr", "group")) == {"average"}
    next(each for each in chrome.find_elements("css selector", ".of-group option") if each.text == "keyword").click()
    assert set(chrome.execute_script(rows, "tr", "group")) == {"keyword"}
    chrome.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    chrome.find_element("css selector", ".pair .copy").click()
    lines = wait(chrome, lambda: chrome.execute_script("return window.copied")).splitlines()
    assert lines[0] == 'measure,bm25,bm25+rules,difference,95 % interval,p,d,"core queries up, down, equal"'
    assert lines[1].startswith("nDCG@10 ori,0.712,0.712,+0.000,")
    assert chrome.get_log("browser") == []


@needs_chromium
@pytest.mark.parametrize("count", [2, 3])
def test_no_table_is_wider_than_the_window(chrome, tmp_path, count):
    path = tmp_path / "page.html"
    path.write_text(page(given(count), benchmark=MINI), encoding="utf-8")
    try:
        for width in (390, 768, 1280, 1400):
            window = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
            chrome.get(path.as_uri())
            chrome.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page_width, shown = chrome.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            assert page_width <= shown == width
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
