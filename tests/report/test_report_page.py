"""The page of a report in real Chromium: its numbers, what clicks do, and that what comes from outside stays text."""

import json
from pathlib import Path

import pytest
from chromium import needs_chromium, wait
from command import tandem

import tandem_ir
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.formats import write_run
from toolkit.provenance import write_record
from toolkit.report.collect import collect
from toolkit.report.make_report import report, to_html
from toolkit.report.text_table import ALIKE, BEST

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
# the table of infosearch-mini is read whole in other tests
MINIS = {"infosearch-mini": ["nDCG@10", "WISE"], "instructir-mini": None, "mfollowir-mini": None, "berds-mini": None}
HOSTILE = "<img/src=x/onerror=\"document.title='taken'\"></script><script>document.title='taken'</script>&amp;$x^"


@pytest.fixture(scope="module")
def shown(chrome, tmp_path_factory):
    """The page of three registered runs, and what `evaluate --format json` says of them."""
    folder = tmp_path_factory.mktemp("page")
    names = ("bm25", "bm25+rules", "all-minilm-l6-v2")
    paths = [str(BASELINES / f"infosearch-mini.{name}.v1.trec.gz") for name in names]
    words = [*paths, "--benchmark", "infosearch-mini", "--output"]
    tandem("report", *words, folder / "page.html", check=True)
    scores = folder / "scores.json"
    tandem("evaluate", *words, scores, "--format", "json", "--by-query", check=True)
    return folder / "page.html", json.loads(scores.read_text(encoding="utf-8"))["rows"]


def tables(chrome):
    """Title of each table of systems -> row -> heading -> (text, number)."""
    return chrome.execute_script("""
      return Object.fromEntries([...document.querySelectorAll(".scores")].map((table) => [
        table.querySelector("caption strong").textContent,
        Object.fromEntries([...table.querySelectorAll("tbody tr:not(.heading)")].map((row) => [
          row.cells[0].textContent,
          Object.fromEntries([...row.cells].slice(1).map((cell, place) => [
            table.tHead.lastElementChild.cells[place + 1].querySelector("button").getAttribute("aria-label"),
            [cell.textContent, "value" in cell.dataset ? Number(cell.dataset.value) : null]]))]))]));
    """)


@needs_chromium
def test_the_numbers_of_the_page_are_those_of_evaluate(chrome, shown):
    path, rows = shown
    chrome.get(path.as_uri())
    assert chrome.get_log("browser") == []
    found = tables(chrome)
    titles = {"average": "infosearch-mini: average over 6 groups"}
    for group in dict.fromkeys(row["group"] for row in rows):
        wanted = {}
        for row in rows:
            if row["group"] == group and not row["query_id"]:
                column = " ".join([row["measure"], *([row["mode"]] if row["mode"] != "paired" else [])])
                wanted.setdefault(row["run"], {})[column] = [f"{row['value']:.4f}", row["value"]]
        assert found[titles.get(group, f"infosearch-mini: {group}")] == wanted


@needs_chromium
def test_the_values_of_queries_are_those_of_evaluate(chrome, shown):
    path, rows = shown
    chrome.get(path.as_uri())
    chrome.find_element("css selector", ".by-query summary").click()
    choice = wait(
        chrome,
        lambda: chrome.find_elements("css selector", ".measure option") and chrome.find_element("css selector", ".measure"),
    )
    next(option for option in choice.find_elements("tag name", "option") if option.text == "WISE@20").click()
    found = chrome.execute_script("""
      return Object.fromEntries([...document.querySelectorAll(".queries > tbody > tr")].map(
        (row) => [row.dataset.query, [...row.cells].slice(1, -1).map((cell) => Number(cell.firstChild.textContent))]));
    """)
    wanted = {}
    for row in rows:
        if row["query_id"] and row["measure"] == "WISE@20":
            wanted.setdefault(row["query_id"], []).append((row["run"], row["value"]))
    heads = [head.text for head in chrome.find_elements("css selector", ".queries > thead button")][1:-1]
    assert len(found) == 96
    for query_id, its in wanted.items():
        assert found[query_id] == pytest.approx([dict(its)[run] for run in heads], abs=0.00056)


@needs_chromium
def test_a_click_on_a_heading_sorts_each_kind_and_words_filter_systems(chrome, shown):
    chrome.get(shown[0].as_uri())
    table = chrome.find_element("css selector", ".benchmark .scores")

    def names():
        rows = table.find_elements("css selector", "tbody tr:not(.heading)")
        return [row.find_element("tag name", "th").text for row in rows if row.is_displayed()]

    assert names() == ["bm25", "bm25+rules", "all-minilm-l6-v2"]
    head = table.find_element("css selector", "button[aria-label='WISE@20']")
    head.click()
    assert names() == ["bm25+rules", "bm25", "all-minilm-l6-v2"]  # within its kind, best first
    head.send_keys("\n")  # the same by the keyboard, the other way round
    assert names() == ["bm25", "bm25+rules", "all-minilm-l6-v2"]
    assert head.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    chrome.find_element("css selector", ".systems input").send_keys("rules")
    assert names() == ["bm25+rules"]
    assert [each.text for each in table.find_elements("css selector", ".heading") if each.is_displayed()] == ["sparse"]


@needs_chromium
def test_marks_are_seen_without_colours_and_heard(chrome, tmp_path):
    lists = {"a": [2, 2, 2], "b": [2, 2, 0]}  # scores of the relevant document; the other one has 1
    runs = [
        Run.from_dict({f"q{place}": {"good": score, "bad": 1} for place, score in enumerate(scores)}, tag=tag)
        for tag, scores in lists.items()
    ]
    qrels = Qrels.from_rows([Qrel(f"q{place}", "good", 1) for place in range(3)])
    path = tmp_path / "marks.html"
    path.write_text(to_html(report(collect(runs, qrels=qrels, measures=["RR"]))), encoding="utf-8")
    chrome.get(path.as_uri())
    best = chrome.find_element("css selector", f".{BEST}")
    assert int(best.value_of_css_property("font-weight")) >= 700
    assert (best.text, best.get_attribute("title")) == ("1.0000", "the best of its kind")
    alike = chrome.find_element("css selector", f".{ALIKE}")
    assert alike.value_of_css_property("text-decoration-line") == "underline"
    assert alike.get_attribute("title") == "not significantly different from the best of its kind"


@needs_chromium
def test_dark_pages_have_light_text(chrome, shown):
    chrome.get(shown[0].as_uri())
    colours = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colours[scheme] = chrome.find_element("css selector", "h2").value_of_css_property("color")
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours == {"light": "rgba(0, 0, 0, 1)", "dark": "rgba(255, 255, 255, 1)"}


@needs_chromium
def test_print_unfolds_all_but_queries_and_the_numbers_of_figures(chrome, shown):
    chrome.get(shown[0].as_uri())
    chrome.execute_script("dispatchEvent(new Event('beforeprint'))")
    folded = chrome.find_elements("css selector", "details:not([open])")
    assert {each.get_attribute("class") for each in folded} == {"by-query", "numbers"}


@needs_chromium
def test_every_table_of_scores_on_a_mini_says_that_it_is_one(chrome, shown):
    chrome.get(shown[0].as_uri())
    captions = chrome.execute_script("return [...document.querySelectorAll('.scores caption')].map((each) => each.textContent)")
    without = [each for each in captions if "no score on it is comparable with a published one" not in each]
    assert [each.split(" Judged@10")[0] for each in without] == ["infosearch-mini: how much is judged"]


@needs_chromium
def test_captions_can_be_read(chrome, shown):
    chrome.get(shown[0].as_uri())
    colour = chrome.execute_script("""
      const canvas = new OffscreenCanvas(1, 1).getContext("2d");
      canvas.fillStyle = getComputedStyle(document.querySelector("figcaption")).color;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    """)
    assert max(colour[:3]) <= 0x76  # a contrast of 4.5 to white
    assert colour[3] == 255


@needs_chromium
def test_where_it_comes_from_stands_in_the_page(chrome, shown):
    chrome.get(shown[0].as_uri())
    text = chrome.find_element("id", "reproduce").text
    assert "python -m toolkit.search --topics infosearch-mini --output runs/infosearch-mini.bm25.trec" in text
    assert "python -m toolkit.report " in text
    assert "no score on it is comparable with a published one" in chrome.find_element("css selector", "[role=note]").text
    run = chrome.find_element("css selector", ".run")
    run.find_element("tag name", "summary").click()
    assert "sha256: a8df541797c2d1c1ec496e7e37f4525f6ab8a78ee41ba3addc87bb64a4573f4b" in run.text


@needs_chromium
@pytest.mark.parametrize("benchmark", MINIS)
def test_every_benchmark_that_is_shipped_has_a_usable_page(chrome, tmp_path, benchmark):
    paths = sorted(BASELINES.glob(f"{benchmark}.*.trec.gz"))[:2]
    (tmp_path / "page.html").write_text(
        to_html(report(collect(paths, [benchmark], measures=MINIS[benchmark]))), encoding="utf-8"
    )
    chrome.get((tmp_path / "page.html").as_uri())
    chrome.find_element("css selector", ".by-query summary").click()
    button = wait(chrome, lambda: chrome.find_elements("css selector", ".queries tbody button"))[0]
    query = button.text
    button.click()
    items = wait(chrome, lambda: chrome.find_elements("css selector", ".lists section:first-of-type ol li"))
    mode = next((each.text for each in chrome.find_elements("css selector", ".choices [aria-pressed=true]")), "")
    own = tandem_ir.load(benchmark)
    judged = {row.doc_id for row in rows_of(own) if row.query_id in (query, f"{query}-{mode}")}
    lines = [item.text.split() for item in items]
    assert judged
    assert {doc for doc, *rest in lines if "unjudged" in rest} == {doc for doc, *_ in lines} - judged
    options = chrome.find_elements("css selector", ".measure option")
    assert any(option.text.startswith("Judged@10") for option in options)
    items[0].find_element("tag name", "button").click()
    assert len(chrome.find_element("css selector", ".panel .text").text) > 50
    assert chrome.get_log("browser") == []
    scores = tandem_ir.evaluate(paths, benchmark=benchmark, measures=MINIS[benchmark])
    overall = [row for row in scores.rows if row.group in ("all", "average")]
    main = next(
        its
        for title, its in tables(chrome).items()
        if title in (benchmark, *(f"{benchmark}: average over {n} groups" for n in range(9)))
    )
    assert sorted(number for its in main.values() for _, number in its.values()) == sorted(row.value for row in overall)


def rows_of(own):
    """All judgments of a benchmark."""
    return [row for group in own.groups for mode in own.spec.modes or ("",) for row in own.qrels(group, mode)]


def hostile(folder):
    """A run whose tag, documents and record are hostile, with all that a benchmark of modes has in a page."""
    own = tandem_ir.load("infosearch-mini")
    tag = HOSTILE.replace(" ", "_")
    rows = {}
    for mode in own.spec.modes:
        docs = [tag, *(doc.doc_id for doc in own.docs("audience"))]
        rows |= {topic.query_id: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for topic in own.topics("audience", mode)}
    write_run(Run.from_dict(rows, tag=tag), folder / "hostile.trec")
    method = {"retrieval": [{"name": HOSTILE, "method": HOSTILE}]}
    executable = {"cmd": HOSTILE, "wall time": 1.0}
    write_record(folder / "hostile.trec", {"tag": HOSTILE, "method": method, "implementation": {"executable": executable}})
    return to_html(report(collect([folder / "hostile.trec"], ["infosearch-mini-audience"])))


@needs_chromium
def test_tags_ids_and_records_from_outside_stay_text(chrome, tmp_path):
    path = tmp_path / "hostile.html"
    text = hostile(tmp_path)
    path.write_text(text, encoding="utf-8")
    assert "<img/src" not in text
    assert "document.title='taken'</script>" not in text
    chrome.get(path.as_uri())
    chrome.find_element("css selector", ".by-query summary").click()
    wait(chrome, lambda: chrome.find_elements("css selector", ".queries tbody button"))[0].click()
    wait(chrome, lambda: chrome.find_elements("css selector", ".lists ol li"))
    assert chrome.find_elements("css selector", "figure svg")
    assert chrome.title != "taken"
    assert chrome.find_elements("css selector", "img, main script:not([type])") == []
    assert HOSTILE in chrome.find_element("id", "reproduce").text
    assert chrome.get_log("browser") == []
