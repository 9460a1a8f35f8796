"""A report as a static site: its names, its folder, its links, and its pages in real Chromium."""

import functools
import hashlib
import http.server
import re
import shlex
import shutil
import threading
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from chromium import needs_chromium, wait
from command import tandem
from hypothesis import given
from hypothesis import strategies as st

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.files.formats import read_run, write_run
from toolkit.files.provenance import file_digest
from toolkit.reporting.site.contents import file_names, safe_names
from toolkit.reporting.site.site_folder import MANIFEST, check_folder, write_folder
from toolkit.reporting.site.site_pages import differing

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
HOSTILE = "<img/src=x/onerror=\"document.title='taken'\"></script><script>document.title='taken'</script>"
BENCHMARKS = ["infosearch-mini-audience", "berds-mini"]


def part_of_run(source, target, tag=None, **settings):
    """The audience queries of a baseline as a run of its own, with its record; `settings` are of the system in the record."""
    run = read_run(BASELINES / source)
    kept = [query_id for query_id in run.query_ids if query_id.startswith("audience")]
    write_run(replace(run.select(kept), tag=tag or run.tag), target)
    record = yaml.safe_load((BASELINES / f"{source}.yaml").read_text(encoding="utf-8"))
    record["method"]["retrieval"][0] |= settings
    record["data"]["run"] = {"file": Path(target).name, "sha256": file_digest(Path(target))}
    Path(f"{target}.yaml").write_text(yaml.safe_dump(record, sort_keys=False), encoding="utf-8")
    return str(target)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of two benchmarks: two versions of one, hostile and colliding names, one without a record."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "Other Files").mkdir()
    bm25, minilm = "infosearch-mini.bm25.v2.trec.gz", "infosearch-mini.all-minilm-l6-v2.v2.trec.gz"
    made = [
        part_of_run(bm25, folder / "a.bm25.v2.trec"),
        part_of_run(minilm, folder / "a.bm25.v10.trec", tag="bm25", name="bm25", method="bm25", k1=1.2),
        part_of_run("infosearch-mini.bm25+rules.v2.trec.gz", folder / "rules.trec.gz"),
        part_of_run(minilm, folder / "Other Files" / "Rules.trec.gz", name=HOSTILE, tag="hostile"),
        part_of_run(minilm, folder / "Other Files" / "a.bm25.v2.trec", name="\u0628\u0648\u0645\u06cc/BM25", tag="persian"),
        part_of_run(minilm, folder / "con.trec", name="CON", tag="con"),
        part_of_run(minilm, folder / "zero.trec", name="Bm25", tag="upper"),
    ]
    Path(made[-1] + ".yaml").unlink()  # nobody says how it was made
    return [*made, str(BASELINES / "berds-mini.bm25.v2.trec.gz")]


@pytest.fixture(scope="module")
def site(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "public"
    options = ("--benchmark", *BENCHMARKS, "--pair", "bm25", "bm25+rules")
    done = tandem("report", *runs, *options, "--site", folder, check=True)
    assert re.search(r"written: .*public \(\d+ files: \d+ new or changed, 0 removed\)", done.stderr)
    return folder


class Page(HTMLParser):
    """What a page has: addresses, ids, and its text."""

    def __init__(self, path):
        super().__init__()
        self.addresses, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data):
        self.text += f"{data} "


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@given(st.lists(st.text(max_size=80), max_size=6))
def test_names_of_any_letters_are_safe_and_different(names):
    safe = safe_names(names)
    assert list(safe) == list(dict.fromkeys(names))
    assert len({each.casefold() for each in safe.values()}) == len(safe)
    for each in safe.values():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+_-]{0,80}", each)
        assert each.partition(".")[0] not in ("con", "nul", "aux", "prn", "com1", "lpt1")


def test_a_safe_name_stays_and_no_other_name_becomes_it():
    assert safe_names(["bm25+rules", "all-minilm-l6-v2"]) == {name: name for name in ("bm25+rules", "all-minilm-l6-v2")}
    (upper,) = safe_names(["BM25"]).values()
    assert upper.startswith("bm25-")
    # who is called as another name is written does not take its place
    assert len(set(safe_names(["BM25", upper, "bm25"]).values())) == 3
    assert safe_names(["a/b", "x"])["a/b"] == safe_names(["y", "a/b"])["a/b"]


def test_every_link_leads_to_a_file_of_the_site(site):
    found = content(site)
    linked = set()
    for path in site.rglob("*.html"):
        for address in Page(path).addresses:
            if address.startswith("#"):
                continue
            assert not re.match(r"[a-z]+:|/", address), f"{path}: {address} is not relative"
            target = (path.parent / unquote(address.partition("#")[0])).resolve()
            assert target.is_file(), f"{path}: {address}"
            linked.add(str(target.relative_to(site.resolve())))
    # and to every file some link leads, but to the manifest, which the page of runs names
    assert set(found) - linked == {MANIFEST}


def test_names_of_files_are_lower_case_ascii_and_runs_of_one_name_stay_apart(site, runs):
    for name in content(site):
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+_/-]*", name)
    digests = {hashlib.sha256(Path(run).read_bytes()).hexdigest() for run in runs}
    copies = [path for path in (site / "runs").rglob("*") if path.suffix != ".yaml" and path.is_file()]
    assert {hashlib.sha256(path.read_bytes()).hexdigest() for path in copies} == digests
    assert len([path for path in copies if path.name == "a.bm25.v2.trec"]) == 2  # of two systems
    text = Page(site / "runs.html").text
    assert all(digest in text for digest in digests)
    # a run without a record has none here
    assert [path.name for path in copies if not Path(f"{path}.yaml").is_file()] == ["zero.trec"]


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("x.html", "x-html.trec"),
        ("x.html.trec", "x-html.trec"),
        ("x.svg.gz", "x-svg.gz"),
        ("x.php", "x-php.trec"),
        ("x.xhtml", "x-xhtml.trec"),
        ("x.xht.zst", "x-xht.zst"),
        ("x.hta", "x-hta.trec"),
        ("bm25.k1-1.2.trec.gz", "bm25.k1-1.2.trec.gz"),
        ("bm25.v2.json", "bm25.v2.json"),
        ("bm25", "bm25.trec"),
    ],
)
def test_no_run_is_published_under_a_name_that_is_run(tmp_path, name, published):
    assert file_names([tmp_path / name]) == [published]
    [other] = file_names([tmp_path / name.upper()])
    assert not re.search(r"[.](html|svg|php)([.]|$)", other)


def test_the_manifest_is_what_sha256sum_checks(site):
    lines = [line.split("  ") for line in (site / MANIFEST).read_text().splitlines()]
    found = {name: hashlib.sha256(data).hexdigest() for name, data in content(site).items() if name != MANIFEST}
    assert {name: digest for digest, name in lines} == found


def test_the_index_has_the_last_version_and_the_numbers_of_evaluate(site, runs):
    text = " ".join(Page(site / "index.html").text.split())
    assert "6 systems on 2 benchmarks" in text
    scores = tandem_ir.evaluate([runs[1]], benchmark=BENCHMARKS[0], measures=["WISE@20"])
    (wise,) = [row.value for row in scores.rows if row.measure == "WISE@20"]
    row = re.search(r" bm25 sparse (\S+) \S+ to \S+ (\S+) ", text)
    assert row[2].replace("\u2212", "-") == f"{wise:.3f}"


def test_the_page_of_a_system_has_its_versions_and_what_changed(site):
    text = " ".join(Page(site / "systems" / "bm25.html").text.split())
    assert "v2 \u2192 v10" in text
    assert "method.retrieval.bm25.k1 0.9 1.2" in text
    assert "data.run" not in text.split("Records")[0]
    for benchmark in BENCHMARKS:
        assert benchmark in text


def test_what_records_say_differently_is_found_by_name():
    before = {"libraries": ["x==1", "y==2"], "steps": [{"name": "bm25", "k1": 0.9}], "data": {"run": {"lines": 1}}}
    after = {"libraries": ["y==3", "x==1"], "steps": [{"name": "bm25", "k1": 0.9, "b": 0.4}], "data": {"run": {"lines": 2}}}
    assert list(differing([before], [after])) == [("libraries.y", "2", "3"), ("steps.bm25.b", "", "0.4")]
    assert list(differing([], [])) == []


def test_the_site_makes_itself_again_byte_for_byte(site, tmp_path):
    before = content(site)
    command = re.search(r"tandem report runs/.*--site \.", Page(site / "runs.html").text)[0]
    shutil.copytree(site, tmp_path / "copy")
    done = tandem(*shlex.split(command)[1:], cwd=tmp_path / "copy", check=True)
    after = content(tmp_path / "copy")
    assert [name for name in before | after if before.get(name) != after.get(name)] == []
    assert ": 0 new or changed, 0 removed" in done.stderr


def test_what_is_gone_from_the_runs_goes_and_what_is_not_of_the_site_stays(site, runs, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(site, folder)
    (folder / "CNAME").write_text("results.example")
    (folder / "systems" / "own.html").write_text("of the group")
    changed = next((folder / "runs").rglob("rules.trec.gz.yaml"))
    changed.write_text("edited")
    done = tandem("report", runs[-1], "--benchmark", "berds-mini", "--site", folder, check=True)
    assert f"warning: {changed} is no longer of the site, but was changed since" in done.stderr
    left = set(content(folder))
    assert {"CNAME", "systems/own.html", str(changed.relative_to(folder))} <= left
    assert [name for name in left if name.startswith("benchmarks/")] == ["benchmarks/berds-mini.html"]
    assert not (folder / "pairs").exists()
    listed = {line.split("  ")[1] for line in (folder / MANIFEST).read_text().splitlines()}
    assert listed == left - {"CNAME", "systems/own.html", str(changed.relative_to(folder)), MANIFEST}


def test_a_folder_that_is_no_site_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    done = tandem("report", "no such run", "--benchmark", "infosearch-mini", "--site", tmp_path)
    message = f"error: {tmp_path} is not empty and is no site (it has thesis.tex, and no {MANIFEST})"
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, message)
    assert content(tmp_path) == {"thesis.tex": b"mine"}


def test_options_that_a_site_has_not(tmp_path):
    for options in (["--output", "x.html"], ["--format", "csv"], ["--plots", "figures"]):
        done = tandem("report", "run", "--site", tmp_path / "site", *options)
        assert done.returncode == 2
        assert "--site writes a folder of pages" in done.stderr
    assert "--pair is of a site" in tandem("report", "run", "--pair", "a", "b").stderr
    assert not (tmp_path / "site").exists()


def test_a_pair_that_no_benchmark_has_and_a_run_in_memory_are_refused(runs, tmp_path):
    with pytest.raises(ToolkitError, match="no benchmark has both a run bm25 and another nobody"):
        tandem_ir.report_site(runs[-1:], "berds-mini", output=tmp_path / "site", pairs=[("bm25", "nobody")])
    with pytest.raises(ToolkitError, match="is no file, and a site has the files of its runs"):
        tandem_ir.report_site([read_run(runs[-1])], "berds-mini", output=tmp_path / "site")
    assert not (tmp_path / "site").exists()


FILES = {"index.html": "a", "runs/x.trec": "b"}


def test_an_interrupted_update_is_completed(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    write_folder(folder, FILES)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write_folder(folder, {"index.html": "new", "systems/y.html": "c"})
    assert {"index.html", "runs/x.trec"} <= set(content(folder))
    written = write_folder(folder, {"index.html": "new", "systems/y.html": "c"})
    assert (written.files, written.changed, written.removed) == (2, 2, 1)
    assert set(content(folder)) == {"index.html", "systems/y.html", MANIFEST}
    assert not (folder / "runs").exists()


def test_nothing_outside_and_nothing_of_others_is_replaced(tmp_path):
    folder, outside = tmp_path / "site", tmp_path / "outside"
    outside.mkdir()
    write_folder(folder, {"index.html": "a"})
    (folder / "about.html").write_text("mine")
    with pytest.raises(ToolkitError, match=r"files that are not of the site where its own belong: about\.html"):
        write_folder(folder, {"index.html": "b", "about.html": "c"})
    (folder / "runs").symlink_to(outside)
    with pytest.raises(ToolkitError, match=r"where its own belong: runs/x\.trec"):
        write_folder(folder, FILES)
    assert (folder / "index.html").read_text() == "a"
    assert list(outside.iterdir()) == []
    for line in (f"{'0' * 64}  ../outside/x", f"{'0' * 64}  /etc/passwd", "no digest"):
        (folder / MANIFEST).write_text(line + "\n")
        with pytest.raises(ToolkitError, match="line 1: not a line of a site's manifest"):
            check_folder(folder)


@pytest.fixture(scope="module")
def server(site):
    """The site on a server of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 64  # a browser asks for all files of a page at once, and the machine may be busy

    with Server(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@needs_chromium
@pytest.mark.parametrize("place", ["file", "server"])
def test_no_page_has_errors_and_names_stay_text(chrome, site, request, place):
    base = site.as_uri() if place == "file" else request.getfixturevalue("server")
    for path in sorted(site.rglob("*.html")):
        chrome.get(f"{base}/{path.relative_to(site)}")
        messages = [each["message"] for each in chrome.get_log("browser")]
        assert [each for each in messages if "favicon" not in each] == [], path
        assert chrome.title != "taken"
        assert chrome.execute_script("return document.querySelectorAll('img').length") == 0
    chrome.get(f"{base}/index.html")
    wait(chrome, lambda: chrome.execute_script("return typeof DataTable") == "function")
    chrome.get(f"{base}/benchmarks/{BENCHMARKS[0]}.html")
    wait(chrome, lambda: chrome.execute_script("return typeof vegaEmbed") == "function")


@needs_chromium
def test_pages_are_as_wide_as_the_window(chrome, site):
    try:
        for width in (390, 768, 1280):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            for page in ("index.html", "runs.html", "minis.html", "systems/bm25.html"):
                chrome.get((site / page).as_uri())
                assert chrome.execute_script("return document.documentElement.scrollWidth") <= width, (page, width)
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs_chromium
def test_the_index_is_searched_and_sorted(chrome, site):
    chrome.get((site / "index.html").as_uri())
    lefts = "return ['h1', '#matrix'].map((name) => document.querySelector(name).getBoundingClientRect().left)"
    assert len(set(chrome.execute_script(lefts))) == 1

    def names():
        return [each.text for each in chrome.find_elements("css selector", "#matrix tbody th a")]

    assert len(names()) == 6
    chrome.find_elements("css selector", "#matrix thead th.number")[0].click()

    def in_order():
        values = [cell.text.split()[0] for cell in chrome.find_elements("css selector", "#matrix tbody td:nth-of-type(1)")]
        return values == sorted((one for one in values if one != "-"), reverse=True) + [one for one in values if one == "-"]

    wait(chrome, in_order)  # the rows move after the click
    chrome.find_element("css selector", ".dt-search input").send_keys("rules")
    assert names() == ["bm25+rules"]
