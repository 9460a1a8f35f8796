"""A reader with a question: what they ask is answered on the first screen, or one click away, by the numbers of `evaluate`."""

import re
from pathlib import Path

import pytest
from chromium import needs_chromium, wait
from command import tandem
from legible import as_it_was, show

import tandem_ir
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
RUNS = [BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules", "all-minilm-l6-v2")]
FIRST = """
return [...document.querySelectorAll(arguments[0])].filter((element) => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility() && box.top < innerHeight && box.bottom > 0;
}).map((element) => element.innerText).join("\\n");
"""
DIFFERENCES = """
const cells = [...document.querySelectorAll(".by-query tbody tr td.difference")];
return cells.slice(0, 20).map((cell) => Math.abs(Number(cell.innerText.replace("−", "-"))));
"""
MARKS = """
return Object.fromEntries([...document.querySelectorAll(".main table.scores tbody tr")].map((row) => [row.dataset.run,
  row.cells[[...document.querySelectorAll(".main thead th")].findIndex((head) => head.dataset.label === arguments[0])]
    .querySelector("sup")?.textContent ?? ""]));
"""


@pytest.fixture(scope="module")
def scores():
    return tandem_ir.evaluate(RUNS, benchmark="infosearch-mini", references=True, by_query=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("reading") / "page.html"
    tandem("report", *RUNS, "--benchmark", "infosearch-mini", "--output", path, check=True)
    return path


@pytest.fixture
def page(chrome, path):
    """The page, just opened, in a window of 1,280 x 800."""
    show(chrome, path, 1280)
    wait(chrome, lambda: chrome.execute_script("return Boolean(document.querySelector('.main .dt-container'))"))
    yield chrome
    as_it_was(chrome)


def seen(page, selector: str) -> str:
    """What a reader sees of it without scrolling."""
    return page.execute_script(FIRST, selector).replace("−", "-").replace("\u202f", " ")


def said(page, about: str) -> str:
    """What the headline says about it."""
    lines = seen(page, ".headline dl > div").split("\n")
    assert about in lines, lines
    return lines[lines.index(about) + 1]


def click(page, selector: str) -> None:
    page.execute_script("document.querySelector(arguments[0]).click()", selector)


def wise(scores, run: str, group: str | None = None) -> float:
    return scores.value("WISE@20", "paired", run=run, group=group)


def best(scores) -> str:
    return max(("bm25", "bm25+rules", "all-minilm-l6-v2"), key=lambda run: wise(scores, run))


@needs_chromium
def test_which_system_follows_instructions_best(page, scores):
    run = best(scores)
    assert seen(page, ".headline .lead").startswith(
        f"{run} has the highest WISE@20 ({wise(scores, run):.3f}); not shown to follow"
    )
    assert seen(page, ".main tbody tr:first-child th").strip() == run


@needs_chromium
def test_does_it_beat_ignoring_the_instructions(page, scores):
    run = best(scores)
    value, blind = wise(scores, run), wise(scores, f"blind of {run}")
    text = said(page, "Beside ignoring instructions")
    assert f"{run} has WISE@20 {value:.3f}" in text
    assert f"ignored has {blind:.3f}" in text
    assert f"difference {value - blind:+.3f}" in text


@needs_chromium
def test_does_it_beat_chance(page, scores):
    run = best(scores)
    low, high = (wise(scores, f"random {bound}% of {run}") for bound in (2.5, 97.5))
    assert wise(scores, run) > high
    assert f"{run} is above the range of random orders of its lists ({low:.3f} to {high:.3f})" in said(page, "Beside chance")


@needs_chromium
def test_what_following_costs_in_relevance(page, scores):
    run = best(scores)
    ori, ins = (scores.value("nDCG@10", mode, run=run) for mode in ("ori", "ins"))
    assert f"{ori:.3f} (ori) to {ins:.3f} (ins): {ins - ori:+.3f}" in said(page, "In relevance")


@needs_chromium
def test_which_systems_cannot_be_told_apart(page):
    ranks = dict(re.findall(r"(?m)^(\S+)\n.*?(\d+(?:–\d+)?)$", seen(page, ".main tbody tr th, .main tbody tr td:nth-child(3)")))
    shared = [run for run, rank in ranks.items() if "–" in rank]
    assert len(shared) == 2
    assert all(run in said(page, "Not told apart") for run in shared)


@needs_chromium
def test_what_is_to_be_distrusted(page):
    text = said(page, "What to distrust")
    assert "no score on it is comparable with a published one" in text
    assert "12 to 16 in each group, 84 in all" in text
    assert "16 of 224 of bm25 (ori)" in text


@needs_chromium
def test_is_one_better_than_another_by_choosing_it(page):
    """One choice: the daggers are against the run that is chosen."""
    compared = differences(collect(RUNS, ["infosearch-mini"])[0])
    for baseline in ("bm25", "all-minilm-l6-v2"):
        page.execute_script(
            "const pick = document.querySelector('select.baseline'); pick.value = arguments[0];"
            "pick.dispatchEvent(new Event('change', {bubbles: true}))",
            baseline,
        )
        for run, mark in page.execute_script(MARKS, "nDCG@10 ins").items():
            change = compared.change(baseline, run, Key("average", "nDCG@10", "ins"))
            better = change is not None and change.holm < 0.05 and change.difference > 0
            assert (mark == "†") == better, (baseline, run, change)


@needs_chromium
def test_which_group_is_worst_one_click_away(page, scores):
    run = best(scores)
    groups = {row.group for row in scores.rows if row.run == run and row.group != "average"}
    worst = min(groups, key=lambda group: wise(scores, run, group))
    click(page, ".groups > summary")
    shown = page.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.groups table.scores')].map((table) => ["
        "table.caption.textContent.trim().split(': ')[1],"
        "[...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))]))"
    )
    assert set(shown) == groups
    [row] = [cells for cells in shown[worst] if cells[0] == run]
    assert any(f"{wise(scores, run, worst):.3f}" in cell.replace("−", "-") for cell in row)


@needs_chromium
def test_which_query_moved_most_one_click_away(page):
    click(page, ".by-query > summary")
    wait(page, lambda: page.execute_script("return document.querySelectorAll('.by-query tbody tr td.difference').length > 20"))
    differences = page.execute_script(DIFFERENCES)
    assert differences == sorted(differences, reverse=True)
    first = page.execute_script("return document.querySelector('.by-query tbody tr').dataset.query")
    measure, mode = page.execute_script(
        "return document.querySelector('.by-query select').selectedOptions[0].textContent"
    ).split()
    values = tandem_ir.evaluate(RUNS, benchmark="infosearch-mini", measures=[measure], by_query=True).rows
    of_query = {}
    for row in values:
        if row.query_id and row.mode == mode:
            of_query.setdefault(row.query_id, {})[row.run] = row.value
    moved = {query: max(abs(v - runs["bm25"]) for v in runs.values()) for query, runs in of_query.items()}
    assert moved[first] == max(moved.values()) == pytest.approx(differences[0], abs=5e-4)


@needs_chromium
def test_how_it_is_made_again_one_click_away(page):
    click(page, "nav a[href='#reproduce']")
    wait(page, lambda: "--benchmark infosearch-mini" in seen(page, "#reproduce"))
    assert "tandem search --topics infosearch-mini" in seen(page, "#reproduce")
