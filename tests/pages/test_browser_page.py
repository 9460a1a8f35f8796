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
from hypothesis import given, settings
from hypothesis import strategies as st

import tandem_ir
from toolkit.core.documents import Doc
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.diff.compare_runs import load, page
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.pages import Browsed, Question, browse, browsers, render
from toolkit.pages import page as frame_of

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
    assert '"characters":300,"notes":[]' in text


def test_texts_are_shortened_where_a_page_would_be_too_large_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(sys.modules["toolkit.pages.render"], "LIMIT", 600_000)
    browsed = large(6000, queries=100)
    text = render(browsed, title="a and b")
    assert len(text.encode()) < 650_000
    data = json.loads(text.partition('class="data">')[2].partition("</script>")[0])
    assert data["notes"] == [f"So that the page stays small: documents have their first {data['characters']} characters."]
    assert 20 < data["characters"] < 300
    packed = text.partition('class="packed">')[2].partition("</script>")[0]
    content = json.loads(gzip.decompress(base64.b64decode(packed)))
    whole = dict(zip(browsed.docs, browsed.texts, strict=True))
    assert content["texts"] == [whole[doc][: data["characters"]] for doc in content["docs"]]


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


def parts_of(text: str) -> tuple[dict, dict]:
    """What the table of queries of a page shows, and what a click shows."""
    data = text.partition('class="data">')[2].partition("</script>")[0]
    packed = text.partition('class="packed">')[2].partition("</script>")[0]
    return json.loads(data), json.loads(gzip.decompress(base64.b64decode(packed)))


ROOM = 20_000  # bytes of a small page's data
TEXTS = st.sampled_from(["", "a text of some words", HOSTILE, "\0\x1b[31m\u202e\u2066\ud800", "\U0001f600" * 90, "x" * 40_000])


@settings(derandomize=True)
@given(
    queries=st.sampled_from([1, 2, 7, 60]),
    depth=st.sampled_from([1, 3, 20, 40]),
    judged=st.sampled_from([1, 5, 150]),
    relevant=st.sampled_from([0.0, 0.3, 1.0]),
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    query_text=TEXTS,
    names=st.lists(st.sampled_from(["a", "b" * 5_000, HOSTILE]), min_size=1, max_size=3),
    has_texts=st.booleans(),
    seed=st.integers(0, 9),
)
def test_a_page_holds_what_fits_and_says_what_it_leaves_out(
    queries, depth, judged, relevant, texts, query_text, names, has_texts, seed
):
    rng = np.random.default_rng(seed)
    ids = [f"q{number}-{mode}" for number in range(queries) for mode in ("ori", "ins")]
    labels = [Qrel(query_id, f"d{doc}", int(rng.random() < relevant)) for query_id in ids for doc in range(seed, seed + judged)]
    run = Run.from_dict({query_id: {f"d{doc}": 1 / (1 + doc) for doc in range(depth)} for query_id in ids}, tag="a")
    modes = Modes({"ori": "base", "ins": "instructed"})
    judgments = Judgments("x", modes, (Part("all", Qrels.from_rows(labels, "x")),), ())
    topics = [Topic(query_id, query_text, query=query_text) for query_id in ids]

    def find(group, doc_ids):
        return {doc_id: Doc(doc_id, "", texts[place % len(texts)]) for place, doc_id in enumerate(doc_ids)}

    browsed = browse([run] * len(names), names, judgments, ["RR"], topics=topics, find=find if has_texts else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["toolkit.pages.render"], "LIMIT", ROOM)
        text = render(browsed, title=" and ".join(names), notes=[HOSTILE])
    frame = len(frame_of("", "").encode()) + 4_000  # the elements of a browser, and the title
    assert len(text.encode()) < ROOM + frame
    assert "<img" not in text.partition("<main>")[2]
    data, packed = parts_of(text)
    said = " ".join(data["notes"])
    shown = len(data["questions"])
    assert shown == len(packed["modes"])
    assert shown == queries or f"of {queries} queries the first {shown} are here" in said
    assert len(packed["docs"]) == len(packed["texts"])
    for question, packed_modes in zip(browsed.questions, packed["modes"], strict=False):
        for mode, packed_mode in zip(question.modes, packed_modes, strict=True):
            for ranking, packed_ranking in zip(mode["lists"], packed_mode["lists"], strict=True):
                assert len(packed_ranking) == len(ranking) or f"lists have their top {len(packed_ranking)}" in said
                assert [browsed.docs[doc] for doc, _ in ranking[: len(packed_ranking)]] == [
                    packed["docs"][doc] for doc, _ in packed_ranking
                ]
            relevant_docs = {browsed.docs[row[0]] for row in mode["judged"] if row[2] != "other"}
            named = {packed["docs"][row[0]] for row in packed_mode["judged"] if row[2] != "other"}
            assert named <= relevant_docs
            assert len(relevant_docs) - len(named) == packed_mode["more"]
            assert not packed_mode["more"] or "of the relevant documents of a query" in said


def test_judged_documents_without_texts_may_be_more_than_a_page_holds(monkeypatch):
    """What ended in a ZeroDivisionError: there is no text to shorten, and the rest alone is too large."""
    monkeypatch.setattr(sys.modules["toolkit.pages.render"], "LIMIT", 30_000)
    rows = [Qrel(f"q{query}", f"document-{query}-{doc}", 1) for query in range(40) for doc in range(200)]
    run = Run.from_dict({f"q{query}": {f"document-{query}-7": 1.0} for query in range(40)}, tag="a")
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows(rows, "x")),), ())
    text = render(browse([run, run], ["a", "b"], judgments, ["RR"]), title="a and b")
    data, packed = parts_of(text)
    [note] = data["notes"]
    named = len(packed["modes"][0][0]["judged"]) - 1
    assert 10 < named < 199
    assert (
        note == f"So that the page stays small: of the relevant documents of a query that stand in no list, {named} are named."
    )
    assert {mode["more"] for [mode] in packed["modes"]} == {199 - named}
    assert len(text.encode()) < 30_000 + 25_000


def test_several_browsers_of_a_page_share_its_room():
    small, big = large(200, queries=20), large(6000, queries=300)
    needed = [len(str(part)) for each in (small, big) for part in browsers([(each, [])], 10**9)]
    parts = browsers([(big, []), (small, [])], 400_000)
    assert [len(str(part)) for part in parts][1] == needed[0]  # the small one is whole
    assert 300_000 < sum(len(str(part)) for part in parts) < 402_000
    assert needed[1] > 402_000


@needs_chromium
def test_a_page_says_how_many_relevant_documents_it_does_not_name(chrome, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["toolkit.pages.render"], "LIMIT", 6_000)
    rows = [Qrel("q1", f"document-{doc}-\u202e", 1) for doc in range(900)]
    run = Run.from_dict({"q1": {"document-1-\u202e": 1.0}}, tag="a")
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows(rows, "x")),), ())
    path = tmp_path / "many.html"
    path.write_text(render(browse([run, run], ["a", "b"], judgments, ["RR"]), title="many"), encoding="utf-8")
    chrome.get(path.as_uri())
    chrome.find_element("css selector", "tbody button").click()
    ranks = wait(chrome, lambda: chrome.find_elements("css selector", ".ranks > div"))
    named = len(ranks) - 1
    assert ranks[-1].text == f"and {900 - named} more relevant documents, which are not in this page"
    assert f"{named - 1} are named" in chrome.find_element("css selector", ".browser .notes").text
    assert chrome.get_log("browser") == []
