"""The page of a report in real Chromium: its numbers, what clicks do, and that what comes from outside stays text."""

import json
from pathlib import Path

import pytest
from chromium import needs_chromium, wait
from command import tandem

import tandem_ir
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import shown_measure
from toolkit.files.formats import write_run
from toolkit.files.provenance import read_record, write_record
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report, to_html
from toolkit.reporting.tables.text_table import BEST

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
# the table of infosearch-mini is read whole in other tests
MINIS = {"infosearch-mini": ["nDCG@10", "WISE"], "instructir-mini": None, "mfollowir-mini": None, "berds-mini": None}
HOSTILE = "<img/src=x/onerror=\"document.title='taken'\"></script><script>document.title='taken'</script>&amp;$x^"


@pytest.fixture(scope="module")
def shown(chrome, tmp_path_factory):
    """The page of three registered runs, and what `evaluate --format json` says of them."""
    folder = tmp_path_factory.mktemp("page")
    names = ("bm25", "bm25+rules", "all-minilm-l6-v2")
    paths = [str(BASELINES / f"infosearch-mini.{name}.v2.trec.gz") for name in names]
    words = [*paths, "--benchmark", "infosearch-mini", "--output"]
    tandem("report", *words, folder / "page.html", check=True)
    scores = folder / "scores.json"
    tandem("evaluate", *words, scores, "--format", "json", "--by-query", check=True)
    return folder / "page.html", json.loads(scores.read_text(encoding="utf-8"))["rows"]


def errors(chrome):
    """What the console has beside warnings: Vega-Lite warns of scales that it joins."""
    return [entry for entry in chrome.get_log("browser") if entry["level"] != "WARNING"]


def tables(chrome):
    """Title of each table of systems -> row -> heading -> (text without signs, number); words are left out."""
    return chrome.execute_script("""
      return Object.fromEntries([...document.querySelectorAll(".scores")].map((table) => [
        table.querySelector("caption strong").textContent,
        Object.fromEntries([...table.querySelectorAll("tbody tr")].map((row) => [
          row.cells[0].textContent,
          Object.fromEntries([...row.cells].flatMap((cell, place) => cell.dataset.order === undefined ? [] : [[
            table.tHead.rows[0].cells[place].dataset.label,
            [cell.firstChild.textContent, cell.dataset.order === "" ? null : Number(cell.dataset.order)]]]))]))]));
    """)


def shown_number(row):
    """As a page prints it."""
    return f"{row['value']:z.{1 if row['measure'] == 'GoldRank' else 3}f}".replace("-", "\u2212")


@needs_chromium
def test_the_numbers_of_the_page_are_those_of_evaluate(chrome, shown):
    path, rows = shown
    chrome.get(path.as_uri())
    assert errors(chrome) == []
    found = tables(chrome)
    wanted = {}  # group -> run -> column
    for row in rows:
        if not row["query_id"]:
            column = " ".join([shown_measure(row["measure"]), *([row["mode"]] if row["mode"] != "paired" else [])])
            wanted.setdefault(row["group"], {}).setdefault(row["run"], {})[column] = [shown_number(row), row["value"]]
    assert found["infosearch-mini: all measures"] == wanted["average"]
    main = ["nDCG@10 ori", "nDCG@10 ins", "WISE@20", "SICR", "Robustness@10 ins"]
    for group, title in {
        "average": "average over 6 groups",
        **{group: group for group in wanted if group != "average"},
    }.items():
        for run, numbers in found[f"infosearch-mini: {title}"].items():
            change = numbers.pop("nDCG@10 ins \u2212 ori")
            rank = numbers.pop("rank", None)
            assert numbers == {column: wanted[group][run][column] for column in main}
            assert change[1] == pytest.approx(numbers["nDCG@10 ins"][1] - numbers["nDCG@10 ori"][1])
            assert (rank is None) == (group != "average")


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
    count = len({row["query_id"] for row in rows if row["query_id"] and row["measure"] == "WISE@20"})
    assert count > 90

    def all_are_shown():
        chrome.execute_script("const more = document.querySelector('.by-query .more'); if (!more.hidden) more.click();")
        return len(chrome.find_elements("css selector", ".queries > tbody > tr")) == count

    wait(chrome, all_are_shown)
    found = chrome.execute_script("""
      return Object.fromEntries([...document.querySelectorAll(".queries > tbody > tr")].map(
        (row) => [row.dataset.query, [...row.cells].slice(1, -1).map((cell) => Number(cell.firstChild.textContent))]));
    """)
    wanted = {}
    for row in rows:
        if row["query_id"] and row["measure"] == "WISE@20":
            wanted.setdefault(row["query_id"], []).append((row["run"], row["value"]))
    heads = [head.text for head in chrome.find_elements("css selector", ".queries > thead button")][1:-1]
    assert len(found) == count
    for query_id, its in wanted.items():
        assert found[query_id] == pytest.approx([dict(its)[run] for run in heads], abs=0.00056)


def main_table(chrome):
    """The main table, once it sorts."""
    return wait(chrome, lambda: chrome.find_elements("css selector", ".table.main .dt-container table.scores"))[0]


def systems(table):
    return [
        row.find_element("tag name", "th").text for row in table.find_elements("css selector", "tbody tr") if row.is_displayed()
    ]


@needs_chromium
def test_a_click_on_a_heading_sorts_over_kinds_and_words_filter_systems(chrome, shown):
    chrome.get(shown[0].as_uri())
    table = main_table(chrome)
    assert systems(table) == ["bm25+rules", "all-minilm-l6-v2", "bm25"]  # by WISE
    head = table.find_element("css selector", "th[data-label='nDCG@10 ins']")
    head.click()
    assert wait(chrome, lambda: systems(table) == ["all-minilm-l6-v2", "bm25+rules", "bm25"])  # best first
    head.find_element("css selector", ".dt-column-order").send_keys("\n")  # the same by the keyboard, the other way round
    assert wait(chrome, lambda: systems(table) == ["bm25", "bm25+rules", "all-minilm-l6-v2"])
    assert head.get_attribute("aria-sort") == "ascending"
    chrome.execute_script("const fold = document.querySelector('details.measures'); fold.open = true; fold.scrollIntoView()")
    every = wait(chrome, lambda: chrome.find_elements("css selector", ".measures .dt-container table.scores"))[0]
    head = every.find_element("css selector", "th[data-label='GoldRank ori']")
    head.click()
    assert wait(chrome, lambda: head.get_attribute("aria-sort") == "ascending")
    # the smallest mean rank is the best, and comes first: 7.5 of BM25 with and without rules, 9.7
    assert systems(every)[2] == "all-minilm-l6-v2"


@needs_chromium
def test_words_filter_systems_and_columns_can_be_chosen(chrome, shown):
    chrome.get(shown[0].as_uri())
    table = main_table(chrome)
    chrome.execute_script("DataTable.tables({api: true}).search('bi-encoder').draw()")
    assert systems(table) == ["all-minilm-l6-v2"]
    chrome.execute_script("DataTable.tables({api: true}).search('').draw()")
    chrome.find_element("css selector", ".table.main .buttons-colvis").click()
    choice = wait(chrome, lambda: chrome.find_elements("css selector", ".dt-button-collection .buttons-columnVisibility"))
    assert [each.text.strip() for each in choice][:3] == ["kind", "rank", "nDCG@10 ori"]
    choice[0].click()
    assert wait(chrome, lambda: "kind" not in [head.text for head in table.find_elements("css selector", "thead th")])


@needs_chromium
def test_what_a_column_is_opens_by_a_touch_and_does_not_sort(chrome, shown):
    chrome.get(shown[0].as_uri())
    table = main_table(chrome)
    button = table.find_element("css selector", "th[data-label='WISE@20'] button.about")
    button.click()
    about = chrome.find_element("id", button.get_attribute("popovertarget"))
    assert about.is_displayed()
    assert "Weighted Instruction Sensitivity Evaluation" in about.text
    assert not table.find_elements("css selector", "th[aria-sort]")
    without = chrome.execute_script("""
      const about = (head) => document.getElementById(head.querySelector(".about")?.getAttribute("popovertarget"));
      const heads = [...document.querySelectorAll(".table:is(.main, .groups, .measures) th.number")];
      return heads.filter((head) => !about(head)).map((head) => head.textContent);
    """)
    assert without == []


@needs_chromium
def test_the_baseline_can_be_changed_in_every_table(chrome, shown):
    chrome.get(shown[0].as_uri())
    table = main_table(chrome)

    def signs(run):
        cells = table.find_elements("css selector", f"tr[data-run='{run}'] td[data-signs] sup")
        return {cell.text for cell in cells} - {""}

    assert signs("bm25") == set()
    assert signs("bm25+rules") == {"\u2020"}
    chrome.execute_script("""
      document.addEventListener("baseline", ({detail}) => { window.heard = detail; });
      const select = document.querySelector("select.baseline");
      select.value = "bm25+rules";
      select.dispatchEvent(new Event("change"));
    """)
    assert chrome.execute_script("return window.heard") == "bm25+rules"
    assert signs("bm25+rules") == set()
    assert "\u2021" in signs("bm25")
    assert "worse than bm25+rules" in chrome.find_element("css selector", ".legend").text


@needs_chromium
def test_a_chosen_run_is_chosen_in_tables_and_figures(chrome, shown):
    chrome.get(shown[0].as_uri())
    button = main_table(chrome).find_element("css selector", "tr[data-run='bm25'] button.run")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert chrome.execute_script("return [...figures.chosen]") == ["bm25"]
    rows = "return [...document.querySelectorAll('.scores tr.chosen')].map((row) => row.dataset.run)"
    assert set(chrome.execute_script(rows)) == {"bm25"}
    chrome.execute_script("chooseRun('bm25')")  # as a click in a figure does
    assert chrome.execute_script(rows) == []


@needs_chromium
def test_tables_are_copied_as_csv_and_latex(chrome, shown):
    chrome.get(shown[0].as_uri())
    main_table(chrome)
    found = chrome.execute_script("""
      const table = document.querySelector(".table.main");
      const api = new DataTable(table.querySelector("table.scores"));
      const csv = buttonsOf(api.table().node())[2];
      const exported = api.buttons.exportData(csv.exportOptions);
      return unpacked(table.querySelector(".latex")).then((latex) => [exported, latex]);
    """)
    exported, latex = found
    assert exported["header"][:4] == ["system", "kind", "rank", "nDCG@10 ori"]
    assert [row[0].strip() for row in exported["body"]] == ["bm25+rules", "all-minilm-l6-v2", "bm25"]
    numbers = {row["run"]: repr(row["value"]) for row in shown[1] if (row["group"], row["measure"]) == ("average", "WISE@20")}
    assert {row[0]: row[exported["header"].index("WISE@20")] for row in exported["body"]} == numbers
    assert "\\begin{tabular}" in latex


@needs_chromium
def test_what_the_browser_forbids_to_copy_is_copied_another_way(chrome, shown):
    chrome.get(shown[0].as_uri())
    main_table(chrome)
    chrome.execute_script("""
      window.failed = [];
      window.addEventListener("unhandledrejection", (event) => failed.push(event.reason.message));
      navigator.clipboard.writeText = async () => { throw new DOMException("Write permission denied."); };
      window.taken = [];
      document.execCommand = () => { taken.push(document.activeElement.value); return true; };
      [...document.querySelectorAll(".table.main button")].find((each) => each.textContent === "LaTeX").click();
      take(document.querySelector("figure button[data-format=csv][data-way=copy]"));
    """)
    taken = wait(chrome, lambda: (found := chrome.execute_script("return taken")) and len(found) == 2 and found)
    assert sorted("\\begin{tabular}" in each for each in taken) == [False, True]
    assert chrome.execute_script("return failed") == []


@needs_chromium
def test_a_spreadsheet_takes_no_text_of_a_page_for_a_formula(chrome, shown):
    chrome.get(shown[0].as_uri())
    main_table(chrome)
    texts = ["=1+1", "+a", "-x", "@a", "\tb", "-0.5", "+2", "", "plain", None, -2]
    guarded = ["'=1+1", "'+a", "'-x", "'@a", "'\tb", "-0.5", "+2", "", "plain", "", "-2"]
    assert chrome.execute_script("return arguments[0].map(inSpreadsheet)", texts) == guarded
    assert chrome.execute_script("return csvOf([arguments[0]])", ['=A1,"x"', "-1"]) == '"\'=A1,""x""",-1\n'
    exported = chrome.execute_script("""
      const api = new DataTable(document.querySelector(".table.main table.scores"));
      api.row(0).node().cells[0].textContent = "=HYPERLINK(1)";
      const [csv] = buttonsOf(api.table().node()).filter(({extend}) => extend === "csvHtml5");
      return api.buttons.exportData(csv.exportOptions).body.flat();
    """)
    assert "'=HYPERLINK(1)" in exported
    assert any(text.startswith("-0.") for text in exported)  # a number stays one


@needs_chromium
def test_a_table_is_read_without_scripts(chrome, shown, tmp_path):
    path = tmp_path / "plain.html"
    text = shown[0].read_text(encoding="utf-8")
    path.write_text(text.replace("script-src 'unsafe-inline'", "script-src 'none'"), encoding="utf-8")
    chrome.get(path.as_uri())
    table = chrome.find_element("css selector", ".table.main table.scores")
    assert systems(table) == ["bm25+rules", "all-minilm-l6-v2", "bm25"]
    assert not chrome.find_elements("css selector", ".dt-container")
    assert not chrome.find_element("css selector", ".compare").is_displayed()
    chrome.get_log("browser")


@needs_chromium
def test_the_main_table_begins_on_the_first_screen_and_fits_it(chrome, shown):
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        chrome.get(shown[0].as_uri())
        table = main_table(chrome)
        first = table.find_elements("css selector", "tbody tr")[0]
        box = chrome.execute_script("return arguments[0].getBoundingClientRect().toJSON()", first)
        assert box["bottom"] < 800
        widths = chrome.execute_script(
            "const box = arguments[0].closest('.dt-layout-table'); return [box.scrollWidth, box.clientWidth]", table
        )
        assert widths[0] <= widths[1]
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= 1280
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs_chromium
def test_marks_are_seen_without_colours_and_heard(chrome, tmp_path):
    lists = {"a": [2] * 12, "b": [0] * 12}  # scores of the relevant document; the other one has 1
    runs = [
        Run.from_dict({f"q{place}": {"good": score, "bad": 1} for place, score in enumerate(scores)}, tag=tag)
        for tag, scores in lists.items()
    ]
    qrels = Qrels.from_rows([Qrel(f"q{place}", "good", 1) for place in range(12)])
    path = tmp_path / "marks.html"
    path.write_text(to_html(report(collect(runs, qrels=qrels, measures=["RR"]))), encoding="utf-8")
    chrome.get(path.as_uri())
    best = chrome.find_element("css selector", f"td.{BEST}")
    assert int(best.value_of_css_property("font-weight")) >= 700
    assert (best.text, best.get_attribute("title")) == ("1.000", "the best")
    assert chrome.find_element("css selector", "tr[data-run='b'] sup").text == "\u2021"  # worse than a, the baseline


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
def test_print_unfolds_all_but_queries_and_records(chrome, shown):
    chrome.get(shown[0].as_uri())
    chrome.execute_script("dispatchEvent(new Event('beforeprint'))")
    folded = chrome.find_elements("css selector", "details:not([open])")
    assert {each.get_attribute("class") for each in folded} == {"by-query", "run"}


@needs_chromium
def test_that_a_mini_is_one_is_said_once(chrome, shown):
    chrome.get(shown[0].as_uri())
    text = chrome.execute_script("""
      const copy = document.body.cloneNode(true);
      copy.querySelectorAll("script").forEach((each) => each.remove());  // LaTeX that is copied says it itself
      return copy.textContent;
    """)
    assert text.count("no score on it is comparable with a published one") == 1


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
    record = read_record(BASELINES / "infosearch-mini.bm25.v2.trec.gz")
    command = record["implementation"]["executable"]["cmd"]
    assert command.startswith("tandem search --topics infosearch-mini --output ")
    assert command in text
    assert "python -m toolkit.report " in text
    assert (
        "no score on it is comparable with a published one" in chrome.find_element("css selector", ".headline .distrust").text
    )
    run = chrome.find_element("css selector", "details.run")
    run.find_element("tag name", "summary").click()
    assert f"sha256: {record['data']['run']['sha256']}" in run.text


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
    assert errors(chrome) == []
    scores = tandem_ir.evaluate(paths, benchmark=benchmark, measures=MINIS[benchmark])
    overall = [row for row in scores.rows if row.group in ("all", "average")]
    every = tables(chrome)[f"{benchmark}: all measures"]
    assert sorted(number for its in every.values() for _, number in its.values()) == sorted(row.value for row in overall)


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
    assert errors(chrome) == []
