"""The page of a comparison in real Chromium: what it shows, what clicks do, and that texts stay texts."""

import base64
import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from chromium import needs_chromium, wait
from command import tandem

import tandem_ir
from toolkit.core.documents import Doc
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.diff.compare_runs import load, page
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.pages import Browsed, Question, browse, render

MODES = ("ori", "ins", "rev")
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">&amp;\u2028'\""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a mini's dimension: all documents of each query in two orders."""
    folder = tmp_path_factory.mktemp("runs")
    own = tandem_ir.load("infosearch-mini")
    made = []
    for name, step in (("up", 1), ("down", -1)):
        rows = {}
        for mode in own.spec.modes:
            doc_ids = [doc.doc_id for doc in own.docs("audience")][::step]
            for topic in own.topics("audience", mode):
                rows[topic.query_id] = {doc_id: 1 / rank for rank, doc_id in enumerate(doc_ids, 1)}
        made.append(Run.from_dict(rows, tag=name))
    return folder, made


@pytest.fixture(scope="module")
def compared(runs):
    folder, made = runs
    path = folder / "page.html"
    given = load(made, benchmark="infosearch-mini-audience")
    path.write_text(page(given, benchmark="infosearch-mini-audience", measures=["nDCG@10", "WISE"]), encoding="utf-8")
    return path, made


def hostile_page(folder: Path) -> Path:
    run = Run.from_dict({"q1": {HOSTILE.replace(" ", "_"): 2.0, "d2": 1.0}}, tag=HOSTILE.replace(" ", "_"))
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows([Qrel("q1", "d2", 1)])),), ())
    topics = [Topic("q1", HOSTILE, query=HOSTILE)]
    doc = Doc

    def find(group, doc_ids):
        return {doc_id: doc(doc_id, HOSTILE, HOSTILE) for doc_id in doc_ids}

    browsed = browse([run, run], ["a", HOSTILE], judgments, ["RR"], topics=topics, find=find)
    path = folder / "hostile.html"
    path.write_text(render(browsed, title=HOSTILE, notes=[HOSTILE]), encoding="utf-8")
    return path


def rows_shown(chrome):
    rows = chrome.find_elements("css selector", ".queries tbody tr:not(.detail)")
    return [[cell.text for cell in row.find_elements("tag name", "td")] for row in rows if row.is_displayed()]


@needs_chromium
def test_the_page_opens_without_an_error_and_shows_every_query(chrome, compared):
    chrome.get(compared[0].as_uri())
    assert chrome.get_log("browser") == []
    assert len(rows_shown(chrome)) == 12


@needs_chromium
def test_the_numbers_are_those_of_evaluate(chrome, compared):
    path, made = compared
    chrome.get(path.as_uri())
    select = chrome.find_element("css selector", ".measure")
    for option in select.find_elements("tag name", "option"):
        option.click()
        measure, _, mode = option.text.partition(" ")
        mode = mode or "paired"
        shown = {row[0]: row[3:5] for row in rows_shown(chrome)}
        for place, run in enumerate(made):
            scores = tandem_ir.evaluate(run, benchmark="infosearch-mini-audience", measures=[measure], by_query=True)
            wanted = {row.query_id: f"{row.value:.4f}" for row in scores.rows if row.query_id and row.mode == mode}
            assert {query_id: values[place] for query_id, values in shown.items()} == wanted


@needs_chromium
def test_a_click_on_a_heading_sorts_and_the_filter_filters(chrome, compared):
    chrome.get(compared[0].as_uri())
    heading = chrome.find_element("css selector", "th[data-key='run0'] button")
    heading.click()
    falling = [float(row[3]) for row in rows_shown(chrome)]
    assert falling == sorted(falling, reverse=True)
    heading.click()
    assert [float(row[3]) for row in rows_shown(chrome)] == sorted(falling)
    chrome.find_element("css selector", ".filter").send_keys("mrna vaccines")
    assert {row[0] for row in rows_shown(chrome)} == {"audience-001-1", "audience-001-2"}
    assert chrome.find_element("css selector", ".count").text == "2 of 12 queries"


@needs_chromium
def test_a_query_opens_its_rankings_in_all_modes_and_a_document_its_text(chrome, compared):
    chrome.get(compared[0].as_uri())
    chrome.find_element("css selector", ".filter").send_keys("audience-001-1")
    chrome.find_element("css selector", "tbody tr:not([hidden]) button").send_keys("\n")  # by the keyboard
    modes = wait(chrome, lambda: chrome.find_elements("css selector", ".mode"))
    assert [mode.find_element("tag name", "h3").text for mode in modes] == ["ori", "ins", "rev"]
    assert all(len(mode.find_elements("css selector", "ol")) == 2 for mode in modes)
    own = tandem_ir.load("infosearch-mini")
    gold = "audience-021"
    rank = [doc.doc_id for doc in own.docs("audience")].index(gold) + 1
    assert f"{gold} gold, label 1: ranks {rank} / {48 - rank + 1}" in modes[1].text
    first = modes[0].find_element("css selector", "ol li")
    first.find_element("tag name", "button").click()
    text = next(doc.contents for doc in own.docs("audience") if doc.doc_id == first.text.split()[0])
    assert first.find_element("css selector", ".text").text.split() == text[:300].split()


@needs_chromium
def test_texts_from_outside_stay_texts(chrome, tmp_path):
    chrome.get(hostile_page(tmp_path).as_uri())
    chrome.find_element("css selector", "tbody button").click()
    for button in wait(chrome, lambda: chrome.find_elements("css selector", "ol button")):
        button.click()
    assert chrome.title == HOSTILE.replace("\u2028", " ") or "<script>" in chrome.title
    assert chrome.title != "taken"
    assert chrome.find_elements("css selector", "img") == []
    assert HOSTILE.partition("\u2028")[0] in chrome.find_element("css selector", "td.query").text
    assert chrome.get_log("browser") == []


def test_nothing_from_outside_ends_the_data(tmp_path):
    text = hostile_page(tmp_path).read_text(encoding="utf-8")
    data = text.partition('class="data">')[2].partition("</script>")[0]
    assert json.loads(data)["questions"][0]["text"] == HOSTILE
    assert "<img" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_command_writes_the_page(runs, tmp_path):
    from toolkit.formats import write_run

    for run in runs[1]:
        write_run(run, tmp_path / f"{run.tag}.trec")
    words = ["up.trec", "down.trec", "--benchmark", "infosearch-mini-audience", "-m", "WISE", "--html", "page.html"]
    done = tandem("diff", *words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "written: page.html" in done.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def large(documents, characters=300, queries=1600):
    """As much as a page must hold: every query in three modes, twenty documents of two runs in each, all of them read."""
    generator = np.random.default_rng(0)
    words = np.array(["".join(letters) for letters in generator.choice(list("abcdefghijklmnop"), (5000, 6))])
    texts = [" ".join(words[row])[:characters] for row in generator.integers(0, 5000, (documents, characters // 7 + 1))]
    lists = generator.integers(0, documents, (queries, 3, 2, 20)).tolist()
    questions = [
        Question(
            f"core-{number}",
            "all",
            "a query of some words",
            {("nDCG@10", mode): [number / queries, 0.5] for mode in MODES},
            [
                {
                    "mode": mode,
                    "id": f"core-{number}-{mode}",
                    "text": "an instruction of some more words",
                    "lists": [[(doc, 20.5 - rank) for rank, doc in enumerate(its)] for its in own],
                    "judged": [(own[0][0], 1, "gold", [1, None])],
                }
                for mode, own in zip(MODES, its, strict=True)
            ],
        )
        for number, its in enumerate(lists)
    ]
    columns = tuple(("nDCG@10", mode) for mode in MODES)
    return Browsed(("a", "b"), columns, [f"document-{number}" for number in range(documents)], texts, questions)


def test_a_page_of_sixteen_hundred_queries_stays_under_eight_megabytes():
    text = render(large(6392), title="a and b")
    assert len(text.encode()) < 8e6
    assert '"characters":300,"shortened":false' in text


def test_texts_are_shortened_where_a_page_would_be_too_large_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(sys.modules["toolkit.pages.render"], "LIMIT", 600_000)
    browsed = large(6000, queries=100)
    text = render(browsed, title="a and b")
    assert len(text.encode()) < 650_000
    data = json.loads(text.partition('class="data">')[2].partition("</script>")[0])
    assert data["shortened"]
    assert 20 < data["characters"] < 300
    packed = text.partition('class="packed">')[2].partition("</script>")[0]
    texts = json.loads(gzip.decompress(base64.b64decode(packed)))["texts"]
    assert texts == [each[: data["characters"]] for each in browsed.texts]


def test_halves_of_characters_are_no_trouble():
    run = Run.from_dict({"q1": {"d1": 2.0}}, tag="a")
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows([Qrel("q1", "d1", 1)])),), ())
    topics = [Topic("q1", "half \ud800", query="half \ud800")]

    def find(group, doc_ids):
        return {doc_id: Doc(doc_id, "", "half \udc00") for doc_id in doc_ids}

    text = render(browse([run, run], ["a", "b"], judgments, ["RR"], topics=topics, find=find), title="a")
    assert '"text":"half ?"' in text.encode().decode()


@needs_chromium
def test_more_queries_come_on_a_click(chrome, tmp_path):
    path = tmp_path / "large.html"
    path.write_text(render(large(50, queries=230), title="a and b"), encoding="utf-8")
    chrome.get(path.as_uri())
    assert len(chrome.find_elements("css selector", ".queries tbody tr")) == 100
    more = chrome.find_element("css selector", ".more")
    assert more.text == "130 more queries"
    chrome.execute_script("arguments[0].click(); arguments[0].click()", more)
    assert len(chrome.find_elements("css selector", ".queries tbody tr")) == 230
    assert not more.is_displayed()
    chrome.find_element("css selector", ".filter").send_keys("core-229")
    assert [row[0] for row in rows_shown(chrome)] == ["core-229"]
    assert chrome.find_element("css selector", ".count").text == "1 of 230 queries"


@needs_chromium
def test_lists_of_ten_runs_stay_wide_enough_to_be_read(chrome, tmp_path):
    run = Run.from_dict({"q1": {"document-1": 2.0, "document-2": 1.0}}, tag="a")
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows([Qrel("q1", "document-2", 1)])),), ())
    path = tmp_path / "ten.html"
    path.write_text(
        render(browse([run] * 10, [f"run-{n}" for n in range(10)], judgments, ["RR"]), title="ten"), encoding="utf-8"
    )
    chrome.get(path.as_uri())
    chrome.execute_script("document.querySelector('.queries tbody button').click()")
    widths = chrome.execute_script("return [...document.querySelectorAll('.lists section')].map((each) => each.clientWidth)")
    assert len(widths) == 10
    assert min(widths) >= 100  # pixels: a name of ten letters or so
