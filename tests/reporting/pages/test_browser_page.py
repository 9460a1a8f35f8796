"""The page of a comparison in real Chromium: what it shows, what clicks do, and that texts stay texts."""

import base64
import csv
import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from chromium import needs_chromium, wait
from command import tandem
from hypothesis import given, settings
from hypothesis import strategies as st
from selenium.webdriver.common.keys import Keys

import tandem_ir
from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.system.files import shipped
from toolkit.core.topics import Topic
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.reporting.diff.compare_runs import load, page
from toolkit.reporting.pages import Browsed, Frame, Question, browse, browsers, render
from toolkit.reporting.pages import page as frame_of
from toolkit.reporting.pages.browser import rounded

MODES = ("ori", "ins", "rev")
BASELINES = shipped("runs", "baselines")
AUDIENCE = registry.benchmark("infosearch-mini").group("audience")["counts"]
AT_ONCE = 100  # rows that are shown before more are asked for
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


ROWS = """
  return [...document.querySelectorAll(".queries > tbody > tr:not(.detail)")].map((row) => [
    row.dataset.query, ...[...row.querySelectorAll("td")].map((cell) => cell.innerText.replace(/\\s+/g, " "))]);
"""


def mini_page(folder: Path, benchmark: str = "infosearch-mini", runs: int = 2) -> Path:
    """The page of a mini's registered runs; of as many as are wanted, in which documents are shuffled."""
    if runs == 2 and benchmark == "infosearch-mini":
        given = load(
            {name: BASELINES / f"{benchmark}.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules")}, benchmark=benchmark
        )
    else:
        judged = tandem_ir.load(benchmark)
        rng = np.random.default_rng(0)
        made = {}
        for number in range(runs):
            rows = {}
            for group in judged.groups:
                doc_ids = [doc.doc_id for doc in judged.docs(group)]
                for mode in judged.spec.modes:
                    for topic in judged.topics(group, mode):
                        rows[topic.query_id] = {doc: 1 / rank for rank, doc in enumerate(rng.permutation(doc_ids)[:30], 1)}
            made[f"shuffled {number}"] = Run.from_dict(rows, tag=f"shuffled {number}")
        given = load(made, benchmark=benchmark)
    path = folder / "mini.html"
    path.write_text(page(given, benchmark=benchmark), encoding="utf-8")
    return path


def rows_shown(chrome):
    """Of each row: the query's id, and the text of its cells of numbers."""
    return chrome.execute_script(ROWS)


@needs_chromium
def test_the_page_opens_without_an_error_and_shows_every_query(chrome, compared):
    chrome.get(compared[0].as_uri())
    assert chrome.get_log("browser") == []
    assert len(rows_shown(chrome)) == AUDIENCE["queries"]


@needs_chromium
def test_the_numbers_are_those_of_evaluate(chrome, compared):
    path, made = compared
    chrome.get(path.as_uri())
    select = chrome.find_element("css selector", ".measure")
    for option in select.find_elements("tag name", "option"):
        option.click()
        measure, _, mode = option.text.partition(" ")
        mode = mode or "paired"
        measure = measure.replace("p-MRR", "pMRR")
        shown = {row[0]: list(map(float, row[1:3])) for row in rows_shown(chrome)}
        for place, run in enumerate(made):
            scores = tandem_ir.evaluate(run, benchmark="infosearch-mini-audience", measures=[measure], by_query=True)
            wanted = {row.query_id: row.value for row in scores.rows if row.query_id and row.mode == mode}
            # rounded to four decimals in the page, and to three where it shows them
            assert {query_id: values[place] for query_id, values in shown.items()} == pytest.approx(wanted, abs=0.00056)


@needs_chromium
def test_a_click_on_a_heading_sorts_and_the_filter_filters(chrome, compared):
    chrome.get(compared[0].as_uri())
    heading = chrome.find_element("css selector", "th[data-key='run0'] button")
    heading.click()
    falling = [float(row[1]) for row in rows_shown(chrome)]
    assert falling == sorted(falling, reverse=True)
    heading.click()
    assert [float(row[1]) for row in rows_shown(chrome)] == sorted(falling)
    chrome.find_element("css selector", ".filter").send_keys("mrna vaccines")
    assert {row[0] for row in rows_shown(chrome)} == {"audience-001-1", "audience-001-2"}
    assert chrome.find_element("css selector", ".count").text == f"2 of {AUDIENCE['queries']} queries"


def opened(chrome, query):
    """The opened query, by a search for it and the keyboard."""
    chrome.find_element("css selector", ".filter").send_keys(query)
    chrome.find_element("css selector", ".queries .open").send_keys("\n")
    return wait(chrome, lambda: chrome.find_elements("css selector", ".opened"))[0]


def ranks_shown(chrome):
    rows = chrome.find_elements("css selector", ".judged tbody tr")
    return [
        [row.find_element("tag name", "th").text, *(each.text for each in row.find_elements("tag name", "td"))] for row in rows
    ]


@needs_chromium
def test_a_query_opens_its_rankings_between_runs_and_between_modes(chrome, compared):
    chrome.get(compared[0].as_uri())
    found = opened(chrome, "audience-001-1")
    own = tandem_ir.load("infosearch-mini")
    doc_ids = [doc.doc_id for doc in own.docs("audience")]
    gold = "audience-021"
    rank = doc_ids.index(gold) + 1
    turned = len(doc_ids) - rank + 1  # in the other order
    assert [each.text for each in chrome.find_elements("css selector", ".judged thead th")[2:]] == ["up", "up \u2192 down"]
    first = ranks_shown(chrome)[0]
    assert first[:1] + first[2:] == [gold, str(rank), f"{rank} \u2192 {turned} {'▼' if rank < turned else '▲'}"]
    assert first[1].startswith("gold")
    assert [head.text.split()[0] for head in found.find_elements("css selector", ".lists h4")] == ["up", "down"]
    found.find_element("xpath", ".//button[text()='down']").click()  # the modes of one run, beside each other
    assert [each.text for each in chrome.find_elements("css selector", ".judged thead th")[2:]] == [
        "ori",
        "ori \u2192 ins",
        "ori \u2192 rev",
    ]
    assert ranks_shown(chrome)[0][2:] == [str(turned), *2 * [f"{turned} ="]]
    assert [head.text.split()[0] for head in found.find_elements("css selector", ".lists h4")] == ["ori", "ins", "rev"]
    assert len(found.find_elements("css selector", ".lists section:first-child li")) == 10
    found.find_element("xpath", ".//button[text()='10 more documents']").click()
    assert len(found.find_elements("css selector", ".lists section:first-child li")) == 20


@needs_chromium
def test_a_documents_text_opens_at_the_side_and_escape_gives_the_focus_back(chrome, compared):
    chrome.get(compared[0].as_uri())
    asked = opened(chrome, "audience-001-1").find_element("css selector", "ol li button")
    assert (asked.get_attribute("aria-haspopup"), asked.get_attribute("aria-expanded")) == ("dialog", "false")
    asked.send_keys("\n")
    panel = chrome.find_element("css selector", "dialog.panel")
    own = tandem_ir.load("infosearch-mini")
    text = next(doc.contents for doc in own.docs("audience") if doc.doc_id == asked.text)
    assert panel.find_element("css selector", ".text").text.split() == text.split()
    assert panel.find_element("css selector", "h2").text == asked.text == chrome.switch_to.active_element.text
    assert asked.get_attribute("aria-expanded") == "true"
    chrome.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not panel.is_displayed()
    assert chrome.switch_to.active_element == asked
    assert asked.get_attribute("aria-expanded") == "false"


@needs_chromium
def test_instructions_are_shown_and_searched_and_their_words_are_marked(chrome, tmp_path):
    path = mini_page(tmp_path)
    chrome.get(path.as_uri())
    chrome.find_element("css selector", ".filter").send_keys("insulation")
    assert [row[0] for row in rows_shown(chrome)] == ["keyword-001-1"]
    [row] = chrome.find_elements("css selector", ".queries tbody tr")
    assert "insulation" in row.find_element("css selector", ".instruction").text.lower()
    assert row.find_element("css selector", "mark.found").text.lower() == "insulation"
    chrome.find_element("css selector", ".queries .open").click()
    wait(chrome, lambda: chrome.find_elements("css selector", ".opened"))
    marks = {(mark.get_attribute("class"), mark.text.lower()) for mark in chrome.find_elements("css selector", ".snippet mark")}
    assert ("of-instruction", "insulation") in marks
    assert {word for kind, word in marks if kind == "of-query"} & {"household", "energy", "bills", "bill"}
    assert not {word for _, word in marks} & {"how", "to", "the", "must"}


@needs_chromium
def test_it_opens_on_what_moved_most_by_size(chrome, tmp_path):
    chrome.get(mini_page(tmp_path).as_uri())
    select = chrome.find_element("css selector", ".measure")
    assert select.get_property("selectedOptions")[0].text == "GoldRank rev"  # what rules move furthest
    sizes = [abs(float(row[-1])) for row in rows_shown(chrome)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 50
    heading = chrome.find_element("css selector", "th[data-key=difference]")
    assert heading.get_attribute("aria-sort") == "other"
    heading.find_element("tag name", "button").click()
    falling = [float(row[-1]) for row in rows_shown(chrome)]
    assert falling == sorted(falling, reverse=True)
    assert chrome.get_log("browser") == []


@needs_chromium
def test_an_address_names_a_query_and_a_measure(chrome, tmp_path):
    address = mini_page(tmp_path).as_uri()
    chrome.get(f"{address}#q=keyword-001-1&m=nDCG%4010%20ins")
    wait(chrome, lambda: chrome.find_elements("css selector", ".opened[aria-label='Query keyword-001-1']"))
    select = chrome.find_element("css selector", ".measure")
    assert select.get_property("selectedOptions")[0].text == "nDCG@10 ins"
    head = chrome.find_element("css selector", ".queries thead th").rect
    asked = chrome.switch_to.active_element
    assert asked.text == "keyword-001-1"
    top = chrome.execute_script("return arguments[0].getBoundingClientRect().top", asked)
    assert head["height"] < top < 200  # below the head that stays at the top of the window
    # another one in the same page, in another mode than the id has, and one that is opened by a click
    chrome.execute_script("location.hash = '#q=length-002-1-rev&m=pMRR'")
    wait(chrome, lambda: chrome.find_elements("css selector", ".opened[aria-label='Query length-002-1']"))
    assert select.get_property("selectedOptions")[0].text == "p-MRR"
    chrome.find_element("css selector", "tr[data-query=length-002-1] .open").click()
    assert "#" not in chrome.current_url
    button = chrome.find_element("css selector", "tr[data-query=keyword-004-2] .open")
    button.send_keys("\n")
    wait(chrome, lambda: button.get_attribute("aria-expanded") == "true")
    assert chrome.current_url.endswith("#q=keyword-004-2&m=p-MRR")
    chrome.execute_script("location.hash = '#q=nobody'")
    wait(chrome, lambda: chrome.find_element("css selector", ".count").text == "no query nobody in this page")


@needs_chromium
def test_no_focus_goes_below_the_head(chrome, tmp_path):
    """Back through the rows by the keyboard: the window scrolls each below the head of the table."""
    chrome.get(mini_page(tmp_path).as_uri())
    wait(chrome, lambda: len(rows_shown(chrome)) == AT_ONCE)
    chrome.execute_script("document.querySelectorAll('.queries .open')[60].focus()")
    for _ in range(25):
        chrome.switch_to.active_element.send_keys(Keys.SHIFT, Keys.TAB)
        covered = """const own = document.activeElement.getBoundingClientRect();
          return document.querySelector(".queries thead th").getBoundingClientRect().bottom - own.top"""
        assert chrome.execute_script(covered) <= 0


@needs_chromium
def test_a_query_opens_although_the_reference_changes_meanwhile(chrome, tmp_path):
    chrome.get(mini_page(tmp_path).as_uri())
    chrome.execute_script("""
      window.failed = [];
      window.addEventListener("unhandledrejection", (event) => failed.push(event.reason.message));
      const rows = [...document.querySelectorAll(".queries .open")];
      rows[rows.length - 1].click();  // it waits for the rankings
      const reference = document.querySelector(".reference");
      document.querySelector(".filter").value = "insulation";
      document.querySelector(".filter").dispatchEvent(new Event("input"));
      reference.value = "1";
      reference.dispatchEvent(new Event("change", {bubbles: true}));
    """)
    wait(chrome, lambda: "q=" in chrome.current_url or chrome.execute_script("return failed.length"))
    assert chrome.execute_script("return failed") == []


@needs_chromium
def test_the_table_is_copied_as_csv(chrome, tmp_path):
    chrome.get(mini_page(tmp_path).as_uri())
    chrome.find_element("css selector", ".filter").send_keys("insulation")
    chrome.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    chrome.find_element("css selector", ".controls .copy").click()
    rows = list(csv.reader(io.StringIO(wait(chrome, lambda: chrome.execute_script("return window.copied")))))
    assert rows[0] == ["query", "group", "text", "instruction", "bm25", "bm25+rules", "difference"]
    assert [rows[1][:3], *rows[2:]] == [["keyword-001-1", "keyword", "how to lower household energy bills"]]
    assert rows[1][4:] == rows_shown(chrome)[0][1:]


def sizes(chrome, path, width, dark=False):
    """The page in a window of some width: its width, and all texts whose contrast with what is behind them is below 4.5."""
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    )
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    try:
        chrome.get("about:blank")  # a page of another fragment alone is not loaded again
        chrome.get(path.as_uri() + "#q=fas-01")
        wait(chrome, lambda: chrome.find_elements("css selector", ".lists li"))
        chrome.execute_script("document.querySelector('.lists li button').click()")
        wide = chrome.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
        return wide, chrome.execute_script(CONTRAST)
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# each colour as the browser paints it, over the backgrounds of all elements around it
CONTRAST = """
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true}), low = [];
  const linear = (value) => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const luminance = (colours) => {
    for (const each of colours) { canvas.fillStyle = each; canvas.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => linear(value / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const paper = matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff";
  const behind = (each) => each ? [...behind(each.parentElement), getComputedStyle(each).backgroundColor] : [paper];
  const check = (each, colour) => {
    const back = behind(each), [dark, light] = [luminance(back), luminance([...back, colour])].sort((a, b) => a - b);
    const ratio = (light + .05) / (dark + .05);
    if (ratio < 4.5) low.push([each.outerHTML.slice(0, 90), colour, ratio]);
  };
  for (const each of document.querySelectorAll("body *")) {
    if (!each.checkVisibility() || ["SCRIPT", "STYLE", "OPTION"].includes(each.tagName)) continue;
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (own) check(each, getComputedStyle(each).color);
    if (each.placeholder) check(each, getComputedStyle(each, "::placeholder").color);
  }
  return low;
"""


@needs_chromium
@pytest.mark.parametrize("runs", [2, 7])
def test_nothing_is_wider_than_the_window_and_every_text_can_be_read(chrome, tmp_path, runs):
    path = mini_page(tmp_path, "mfollowir-mini", runs)
    for width in (390, 768, 1280, 1400):
        for dark in (False, True):
            (window, page), low = sizes(chrome, path, width, dark)
            assert page <= window, f"{width}"
            assert low == [], f"{width} {dark}"


@needs_chromium
def test_persian_and_chinese_say_so_and_run_their_own_way(chrome, tmp_path):
    chrome.get(mini_page(tmp_path, "mfollowir-mini").as_uri() + "#q=fas-01")
    wait(chrome, lambda: chrome.find_elements("css selector", ".lists li"))
    shown = chrome.execute_script("""return [".query .words", ".asked dd", ".snippet"].map((each) => {
      const found = document.querySelector(`tr[data-query^=fas] ${each}`) ?? document.querySelector(each);
      return [found.dir, found.lang, getComputedStyle(found).direction]; })""")
    assert shown == [["auto", "fa", "rtl"]] * 3
    assert chrome.execute_script("return document.querySelector('tr[data-query^=zho] .words').lang") == "zh"


@needs_chromium
def test_a_query_in_english_for_documents_in_persian_is_english(chrome, tmp_path):
    chrome.get(mini_page(tmp_path, "mfollowir-mini-cross-lingual").as_uri() + "#q=cross-lingual-fas-01")
    wait(chrome, lambda: chrome.find_elements("css selector", ".lists li"))
    attributes = """return [".asked dd", ".snippet"].map((each) => document.querySelector(each))
      .map((each) => [each.lang, getComputedStyle(each).direction])"""
    assert chrome.execute_script(attributes) == [["en", "ltr"], ["fa", "rtl"]]


@needs_chromium
def test_of_many_runs_those_that_moved_most_are_columns_and_others_can_be_chosen(chrome, tmp_path):
    chrome.get(mini_page(tmp_path, "mfollowir-mini", 7).as_uri())
    heads = lambda: [each.text for each in chrome.find_elements("css selector", ".queries thead button")]  # noqa: E731
    assert len(heads()) == 7  # the query, the reference and four others, the largest difference
    assert heads()[1] == "shuffled 0"
    chrome.find_element("css selector", ".chosen summary").click()
    boxes = chrome.find_elements("css selector", ".chosen input")
    assert (len(boxes), boxes[0].is_enabled(), sum(box.is_selected() for box in boxes)) == (7, False, 5)
    for box in boxes[1:]:
        if box.is_selected():
            box.click()
    boxes[3].click()
    assert heads() == ["query", "shuffled 0", "shuffled 3", "difference"]
    first = rows_shown(chrome)[0]
    assert float(first[3]) == pytest.approx(float(first[2]) - float(first[1]), abs=0.0011)
    # a page that has a choice of baseline tells its browsers
    chrome.execute_script("document.dispatchEvent(new CustomEvent('baseline', {detail: 'shuffled 3'}))")
    assert [float(row[3]) for row in rows_shown(chrome)][:1] == [-float(first[3])]


@needs_chromium
def test_texts_from_outside_stay_texts(chrome, tmp_path):
    chrome.get(hostile_page(tmp_path).as_uri())
    chrome.find_element("css selector", ".filter").send_keys("src=x")  # marked in what is shown
    chrome.find_element("css selector", ".queries .open").click()
    for button in wait(chrome, lambda: chrome.find_elements("css selector", "ol button")):
        button.send_keys("\n")  # the panel may lie above it
        assert HOSTILE.partition("\u2028")[0] in chrome.find_element("css selector", ".panel .text").text
    assert chrome.title == HOSTILE.replace("\u2028", " ") or "<script>" in chrome.title
    assert chrome.title != "taken"
    assert chrome.find_elements("css selector", "img") == []
    assert HOSTILE.partition("\u2028")[0] in chrome.find_element("css selector", ".asked dd").text
    assert chrome.get_log("browser") == []


def test_nothing_from_outside_ends_the_data(tmp_path):
    text = hostile_page(tmp_path).read_text(encoding="utf-8")
    data = text.partition('class="data">')[2].partition("</script>")[0]
    assert json.loads(data)["questions"][0]["text"] == HOSTILE
    assert "<img" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_command_writes_the_page(runs, tmp_path):
    from toolkit.files.formats import write_run

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


def test_a_page_of_a_site_has_the_links_of_the_site():
    frame = Frame((("All results", "../index.html"),), "../assets", "tandem report --site .")
    page = render(Browsed(("a",), (("nDCG@10", ""),), [], [], []), title="a", frame=frame)
    assert '<a href="../index.html">All results</a>' in page


def test_texts_are_shortened_where_a_page_would_be_too_large_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(sys.modules["toolkit.reporting.pages.render"], "LIMIT", 600_000)
    browsed = large(6000, queries=100)
    text = render(browsed, title="a and b")
    assert len(text.encode()) < 650_000
    data = json.loads(text.partition('class="data">')[2].partition("</script>")[0])
    assert data["notes"] == [f"So that the page stays small: documents have their first {data['characters']} characters."]
    assert 20 < data["characters"] < 300
    content = parts_of(text)[1]
    whole = dict(zip(browsed.docs, browsed.texts, strict=True))
    assert content["texts"] == [whole[doc][: data["characters"]] for doc in content["docs"]]


def test_a_measure_that_no_question_has_a_value_of_moves_nothing():
    values = {("nDCG@10", "ori"): [0.25, 0.75]}
    question = Question("core-1", "all", "a query of the base mode alone", values)
    browsed = Browsed(("a", "b"), (("WISE@20", "paired"), ("nDCG@10", "ori")), [], [], [question])
    assert browsed.moves == [(0.0, 0.0), (1.0, 1.0)]
    assert browsed.opening == 1


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
    wait(chrome, lambda: len(chrome.find_elements("css selector", ".queries > tbody > tr")) == 100)
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
    chrome.execute_script("document.querySelector('.queries .open').click()")
    widths = "return [...document.querySelectorAll('.lists section')].map((each) => each.clientWidth)"
    assert len(wait(chrome, lambda: chrome.execute_script(widths))) == 5
    assert min(chrome.execute_script(widths)) >= 190  # pixels: a snippet of some words a line


def parts_of(text: str) -> tuple[dict, dict]:
    """What the table of queries of a page shows, and what a click shows."""
    data = text.partition('class="data">')[2].partition("</script>")[0]
    packed, texts = (
        json.loads(gzip.decompress(base64.b64decode(text.partition(f'class="{name}">')[2].partition("</script>")[0])))
        for name in ("packed", "texts")
    )
    return json.loads(data), packed | {"texts": texts}


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
        patch.setattr(sys.modules["toolkit.reporting.pages.render"], "LIMIT", ROOM)
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
    monkeypatch.setattr(sys.modules["toolkit.reporting.pages.render"], "LIMIT", 30_000)
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
    assert len(text.encode()) < 30_000 + len(frame_of("", "").encode()) + 4_000


def test_several_browsers_of_a_page_share_its_room():
    small, big = large(200, queries=20), large(6000, queries=300)
    needed = [len(str(part)) for each in (small, big) for part in browsers([(each, [])], 10**9)]
    parts = browsers([(big, []), (small, [])], 400_000)
    assert [len(str(part)) for part in parts][1] == needed[0]  # the small one is whole
    assert 300_000 < sum(len(str(part)) for part in parts) < 402_000
    assert needed[1] > 402_000


@needs_chromium
def test_a_page_says_how_many_relevant_documents_it_does_not_name(chrome, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["toolkit.reporting.pages.render"], "LIMIT", 6_000)
    rows = [Qrel("q1", f"document-{doc}-\u202e", 1) for doc in range(900)]
    run = Run.from_dict({"q1": {"document-1-\u202e": 1.0}}, tag="a")
    judgments = Judgments("x", Modes(), (Part("all", Qrels.from_rows(rows, "x")),), ())
    path = tmp_path / "many.html"
    path.write_text(render(browse([run, run], ["a", "b"], judgments, ["RR"]), title="many"), encoding="utf-8")
    chrome.get(path.as_uri())
    chrome.find_element("css selector", ".queries .open").click()
    left = wait(chrome, lambda: chrome.find_elements("css selector", ".judged .left"))[0]
    for button in chrome.find_elements("css selector", ".judged > button"):
        button.click()
    named = len(chrome.find_elements("css selector", ".judged tbody tr"))
    assert left.text == f"and {900 - named} more relevant documents, which are not in this page"
    assert f"{named - 1} are named" in chrome.find_element("css selector", ".browser .notes").text
    assert chrome.get_log("browser") == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**8), 10**8).map(lambda each: each / 1e3)))
def test_scores_have_the_six_digits_that_python_prints(scores):
    assert list(map(repr, rounded(np.array(scores, np.float64)))) == [repr(float(f"{score:.6g}")) for score in scores]
