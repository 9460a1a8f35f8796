"""The page of a reproduction: every printed cell with ours, its state in words, claims, files and commands that work."""

import re
import shlex
from html.parser import HTMLParser
from importlib import import_module

import pytest
from chromium import needs_chromium, wait
from command import tandem
from published_layout import write_infosearch
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.registry.published import cells
from toolkit.registry.published.paper_tables import papers
from toolkit.studies.planned_rows import Failure
from toolkit.studies.reproduce import Outcome, Reproduction
from toolkit.studies.reproduce.compared_cells import NOT_ASKED, compared, state_of
from toolkit.studies.reproduce.comparison_page import render
from toolkit.studies.reproduce.row_scores import commands

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">&amp;"


class Cells(HTMLParser):
    """What stands in the cells of the tables: (state, ours, printed)."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.links = [], 0, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if known.get("class") == "cell":
            self.found.append((known["data-state"], known["data-ours"], known["data-printed"]))
        self.scripts += tag == "script"
        self.links += [known[name] for name in ("src", "href") if name in known]


def outcome_of(reproduction, value_of=lambda cell: cell.value if cell.printed else 0.5):
    """As if all rows had been made, with these numbers."""
    made = []
    for each in compared(reproduction.tables, {}):
        value = value_of(each.cell) if each.row and each.why != NOT_ASKED else None
        state = state_of(each.cell, value, reproduction.tables.tolerance)
        made.append(each._replace(value=value, state=state, why=each.why if value is None else ""))
    return Outcome(cells=made)


@pytest.mark.parametrize("paper", papers())
def test_every_cell_of_the_papers_tables_stands_in_its_place(paper, tmp_path):
    reproduction = Reproduction(paper, output=tmp_path / "out")
    outcome = outcome_of(reproduction)
    found = Cells(render(reproduction, outcome))
    # all of them are there, once for each system that stands for them, and all that were run agree with themselves
    assert sorted(found.found) == sorted((each.state, each.shown, each.cell.printed) for each in outcome.cells)
    states = {"agrees", "not printed"} if paper == "berds" else {"agrees"}  # its figure 2
    assert {state for state, ours, _ in found.found if ours} == states
    assert not [link for link in found.links if not link.startswith("#")]


def test_rows_and_columns_are_the_papers(tmp_path):
    reproduction = Reproduction("berds", output=tmp_path / "out")
    page = render(reproduction, outcome_of(reproduction))
    table = page[page.index('<section id="table-4"') : page.index('<section id="table-5"')]
    heads = re.findall(r'<th scope="col(?:group)?"[^>]*>([^<]*)</th>', table)
    assert heads[:3] == ["default", "re-ranking", "query expansion"]  # as the paper has them over its measures
    assert heads[3:9] == ["P@5", "MRecall@5", "P@5", "change of P@5", "MRecall@5", "change of MRecall@5"]
    assert re.findall(r'<th scope="rowgroup"[^>]*>([^<]*)</th>', table) == ["wikipedia", "sphere", "google"]
    names = re.findall(r'<th scope="row" class="name">([^<]*)', table)
    assert names == [*["BM25", "DPR", "CONTRIEVER"] * 2, "BM25", "CONTRIEVER", "mean difference"]


def test_a_mean_difference_is_ours_minus_the_printed_in_points(tmp_path):
    reproduction = Reproduction("mfollowir", ["3"], ["gritlm-7b"], output=tmp_path / "out")
    outcome = outcome_of(reproduction, lambda cell: cell.value + 0.02)
    page = render(reproduction, outcome)
    assert re.findall(r'<td class="mean">([^<]*)</td>', page).count("+2.00") == 2  # of the one row that was made, and of all


def test_why_there_is_no_number_is_said(tmp_path):
    reproduction = Reproduction("berds", ["7"], output=tmp_path / "out")
    page = render(reproduction, Outcome(cells=compared(reproduction.tables, {}, {"judges/true-nli-t5-xxl": "no memory"})))
    assert "Not run: no memory" in page
    assert "Not run: the second person&#39;s labels were not published" in page


def test_texts_from_outside_are_texts(tmp_path):
    reproduction = Reproduction("mfollowir", ["3"], output=tmp_path / "out")
    row = reproduction.tables.rows[0]
    outcome = Outcome(
        compared(reproduction.tables, {}, {row.name: HOSTILE}), [], [Failure(HOSTILE, ToolkitError(HOSTILE, HOSTILE))]
    )
    parsed, plain = Cells(render(reproduction, outcome)), Cells(render(reproduction, outcome_of(reproduction)))
    assert parsed.scripts == plain.scripts
    assert not [link for link in parsed.links if not link.startswith("#")]


@pytest.mark.parametrize("paper", papers())
def test_every_command_of_a_row_is_one(paper, tmp_path):
    reproduction = Reproduction(paper, output=tmp_path / "out")
    lines = {line for row in reproduction.tables.rows for line in commands(reproduction.files, row)}
    assert len(lines) >= len(reproduction.tables.rows)
    for line in lines:
        name, command, *words = shlex.split(line)
        assert name == "tandem"
        import_module(f"toolkit.{command}").parser().parse_args(words)


@pytest.fixture
def made(home, tmp_path, monkeypatch):
    """BM25's rows of two tables, made on a tiny InfoSearch."""
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", with_candidates=True))
    monkeypatch.chdir(tmp_path)
    tandem("reproduce", "infosearch", "--system", "bm25", "--table", "1", "--table", "17", check=True)
    return tmp_path / "reproduced-infosearch"


def test_the_page_is_of_what_was_made(made):
    page = (made / "comparison.html").read_text(encoding="utf-8")
    found = Cells(page)
    printed = [cell for cell in cells("infosearch") if cell.table in ("1", "17")]
    assert len(found.found) == len(printed)
    ours = [cell for cell in found.found if cell[0] != "not run"]
    assert len(ours) == sum(cell.system == "BM25" for cell in printed)
    assert "not asked for" in page
    digest = re.search(
        r"sha256: (\w+)\n", (made / "infosearch" / "bm25.trec.yaml").read_text(encoding="utf-8").split("run:")[1]
    )
    assert digest[1] in page
    # the same files give the same page
    tandem("reproduce", "infosearch", "--system", "bm25", "--table", "1", "--table", "17", check=True)
    assert (made / "comparison.html").read_text(encoding="utf-8") == page


def test_the_commands_of_the_page_make_the_same_run(made, monkeypatch):
    reproduction = Reproduction("infosearch", ["1"], ["bm25"], output=made)
    [search, evaluate] = commands(reproduction.files, reproduction.tables.rows[0])
    before = (made / "infosearch" / "bm25.trec").read_bytes()
    monkeypatch.chdir(made)
    tandem(*shlex.split(search.replace("infosearch/bm25.trec", "again.trec"))[1:], check=True)
    assert (made / "again.trec").read_bytes() == before
    assert "nDCG@10" in tandem(*shlex.split(evaluate)[1:], check=True).stdout


def test_what_others_made_in_the_folder_is_compared_too(made):
    tandem("reproduce", "infosearch", "--system", "gpt-4o", "--table", "1", "--replay")
    found = Cells((made / "comparison.html").read_text(encoding="utf-8")).found
    printed = [cell for cell in cells("infosearch") if cell.table == "1" and cell.system == "BM25"]
    assert sum(state != "not run" for state, _, _ in found) == len(printed)


@needs_chromium
def test_a_cell_opens_what_is_known_by_keyboard_and_by_touch(chrome, tmp_path):
    reproduction = Reproduction("infosearch", ["1"], output=tmp_path / "out")
    path = tmp_path / "comparison_page.html"
    path.write_text(render(reproduction, outcome_of(reproduction, lambda cell: cell.value + 0.02)), encoding="utf-8")
    chrome.get(path.as_uri())
    about = chrome.find_element(By.ID, "about-cell")
    assert not about.is_displayed()
    first = chrome.find_element(By.CSS_SELECTOR, "button.cell")
    # one stop of the Tab key for the table, arrows within it
    assert len(chrome.find_elements(By.CSS_SELECTOR, "button.cell[tabindex='0']")) == 1
    chrome.execute_script("arguments[0].focus()", first)
    first.send_keys(Keys.ARROW_DOWN, Keys.NULL)
    second = chrome.switch_to.active_element
    assert second.location["y"] > first.location["y"]
    assert second.location["x"] == first.location["x"]
    second.send_keys(Keys.ENTER)
    wait(chrome, about.is_displayed)
    assert "Bge-Large-v1.5 (bi-encoder): nDCG@10, ori" in about.text
    assert "differs: ours 55.2, printed 53.2, difference +2.0" in about.text
    second.send_keys(Keys.ESCAPE)
    wait(chrome, lambda: not about.is_displayed())
    assert chrome.switch_to.active_element == second
    # a phone: nothing is wider than the screen, but what scrolls by itself
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= 390
        chrome.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", first)
        wait(chrome, about.is_displayed)
        box = about.rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert chrome.get_log("browser") == []
