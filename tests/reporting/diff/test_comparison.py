"""What changed between two runs: against values computed one by one, and the command as a user calls it."""

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from command import ROOT, process, tandem

import tandem_ir
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import to_text
from toolkit.evaluation.comparison.comparison import TESTS, Testing
from toolkit.files.formats import write_run
from toolkit.reporting.diff.compare_runs import diff
from toolkit.reporting.diff.diff_output import lay_out, summaries
from toolkit.reporting.diff.rankings import identical, likeness

MINI = "infosearch-mini-language"
MODES = ("ori", "ins", "rev")

BASELINES = ROOT / "runs" / "baselines"


def random_run(seed, tag, benchmark=MINI, depth=20):
    """Every query of a mini with some of its documents in a random order."""
    from toolkit.datasets import find, load

    selection = find(benchmark)
    own = load(selection.benchmark)
    generator = np.random.default_rng(seed)
    rows = {}
    for group, mode in itertools.product(selection.groups, selection.modes):
        doc_ids = [doc.doc_id for doc in own.docs(group)]
        for topic in own.topics(group, mode):
            chosen = generator.permutation(doc_ids)[:depth]
            rows[topic.query_id] = {doc_id: float(depth - rank) for rank, doc_id in enumerate(chosen)}
    return Run.from_dict(rows, tag=tag)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate("ab"):
        write_run(random_run(seed, name), folder / f"{name}.trec")
    return folder


def command(folder, *words):
    return tandem("diff", *words, cwd=folder)


def test_values_are_those_of_evaluate():
    a, b = random_run(1, "a", "infosearch-mini"), random_run(2, "b", "infosearch-mini")
    (pair,) = diff([a, b], benchmark="infosearch-mini", measures=["nDCG@10", "WISE"])
    first, second = (tandem_ir.evaluate(run, benchmark="infosearch-mini", measures=["nDCG@10", "WISE"]) for run in (a, b))
    assert {change.group for change in pair.comparison.changes} == {row.group for row in first.rows}
    for change in pair.comparison.changes:
        values = [scores.value(change.measure, mode=change.mode, group=change.group) for scores in (first, second)]
        assert [change.a, change.b] == pytest.approx(values, abs=1e-12)
        assert change.difference == pytest.approx(values[1] - values[0], abs=1e-12)
        if values[0]:
            assert change.relative == pytest.approx((values[1] - values[0]) / abs(values[0]))
        assert change.up + change.down + change.same == change.core_queries
        if change.state == "tested":
            assert change.low <= change.difference <= change.high
            assert (change.p < 0.05) == (change.low > 0 or change.high < 0)


def test_instructions_of_one_core_query_are_one_piece_of_evidence():
    # b is better in every query by the same: two core queries are no evidence, twenty of their own are
    rows = {f"q{core}-{number}": {"gold": 1.0, "other": 2.0} for core in range(2) for number in range(10)}
    better = {query_id: {"gold": 3.0, "other": 2.0} for query_id in rows}
    a, b = Run.from_dict(rows, tag="a"), Run.from_dict(better, tag="b")
    from toolkit.evaluation.comparison.comparison import compare
    from toolkit.evaluation.scores.judgments import Judgments, Part

    qrels = Qrels.from_rows([Qrel(query_id, "gold", 1) for query_id in rows])
    cores = {query_id: query_id.partition("-")[0] for query_id in rows}
    p = {}
    for known in (cores, None):
        found = compare(a, b, Judgments("x", Modes(), (Part("all", qrels, known),), ()), ["RR"])
        p[known is None] = found.changes[0].p
    assert str(p[False]) == "nan"
    assert p[True] < 0.001


def test_the_papers_tests_are_there_by_name():
    runs = [BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "all-minilm-l6-v2")]
    found = {test: diff(runs, measures=["pMRR"], testing=Testing(test))[0].comparison.changes[-1] for test in TESTS}
    assert len({change.p for change in found.values()}) == 3
    assert found["randomisation"].low == pytest.approx(found["t"].low, abs=0.003)
    assert str(found["wilcoxon"].low) == "nan"


def test_the_order_of_lines_and_the_tag_are_no_difference():
    run = random_run(1, "a")
    order = np.random.default_rng(0).permutation(len(run))
    doc_ids = np.array(run.doc_ids.to_pylist(), object)[run.docs]
    query_ids = np.array(run.query_ids, object)[run.queries]
    shuffled = Run.from_columns(query_ids[order], doc_ids[order], run.scores[order], tag="b")
    assert identical(run, shuffled)
    rescored = Run.from_columns(query_ids[order], doc_ids[order], run.scores[order] * 2, tag="b")
    assert not identical(run, rescored)
    assert all((row.overlap, row.tau) == (1, 1) and row.rbo == pytest.approx(1) for row in likeness(run, rescored))


def test_rankings_without_common_documents_are_as_unlike_as_can_be():
    a, b = Run.from_dict({"q": {"x": 2.0, "y": 1.0}}), Run.from_dict({"q": {"u": 2.0, "v": 1.0}, "r": {"u": 1.0}})
    (row,) = likeness(a, b)
    assert (row.overlap, row.rbo) == (0, 0)
    assert math.isnan(row.tau)


def test_exit_status_is_that_of_diff(files):

    different = command(files, "a.trec", "b.trec", "--benchmark", MINI)
    assert different.returncode == 1, different.stderr
    assert command(files, "a.trec", "b.trec", "--benchmark", MINI, "--exit-zero").returncode == 0
    missing = command(files, "a.trec", "nowhere.trec", "--benchmark", MINI)
    assert missing.returncode == 2
    assert missing.stderr.startswith("error: ")
    alone = command(files, "a.trec")
    assert alone.returncode == 2
    assert "nothing to compare it with" in alone.stderr


def test_identical_runs_say_so(files):
    (files / "copy.trec").write_bytes((files / "a.trec").read_bytes())
    done = command(files, "a.trec", "copy.trec", "--benchmark", MINI)
    assert (done.returncode, done.stdout) == (0, "a.trec -> copy.trec: identical\n")


def test_without_judgments_rankings_are_compared(files):
    done = command(files, "a.trec", "b.trec")
    assert done.returncode == 1
    assert "Kendall's tau" in done.stdout
    assert "nDCG" not in done.stdout


def test_per_cent_changes_are_shown_on_request(files):
    plain = command(files, "a.trec", "b.trec", "--benchmark", MINI, "-m", "nDCG@10").stdout
    relative = command(files, "a.trec", "b.trec", "--benchmark", MINI, "-m", "nDCG@10", "--relative").stdout
    assert "per cent" not in plain
    line = next(line for line in relative.splitlines() if line.startswith("nDCG@10"))
    mode, *shown = line.split()[1:6]
    runs = [files / "a.trec", files / "b.trec"]
    first, second = (tandem_ir.evaluate(run, benchmark=MINI, measures=["nDCG@10"]).value("nDCG@10", mode=mode) for run in runs)
    assert shown[0::3] == [f"{first:.3g}", f"{100 * (second / first - 1):+.1f}"]


def test_the_per_cent_of_a_rise_from_below_zero_are_positive(tmp_path):
    """One query, gold document g: R_ori, R_ins, R_rev are 2, 3, 1 in a, the worst, and 2, 4, 3 in b."""
    qrels = Qrels.from_rows([Qrel("q-ori", "g", 1), Qrel("q-ins", "g", 1), Qrel("q-rev", "g", 0), Qrel("q-ori", "h", 1)])
    ranked = {"a": ("xg", "xyg", "gx"), "b": ("xg", "xyzg", "xyg")}
    a, b = (
        Run.from_dict(
            {
                f"q-{mode}": {doc: -float(rank) for rank, doc in enumerate(docs)}
                for mode, docs in zip(MODES, lists, strict=True)
            },
            tag=tag,
        )
        for tag, lists in ranked.items()
    )
    (pair,) = diff([a, b], qrels=qrels, measures=["WISE"])
    (change,) = pair.comparison.changes
    # a: R_rev < R_ori < R_ins gives -1; b: (R_ori - R_ins) / R_ins = -0.5, a rise by half of the base's size
    assert (change.a, change.b, change.difference, change.relative) == (-1.0, -0.5, 0.5, 0.5)
    (back,) = diff([b, a], qrels=qrels, measures=["WISE"])[0].comparison.changes
    assert back.relative == -1.0
    assert "+50.0" in to_text(lay_out(pair, relative=True))


def test_json_and_csv_hold_every_number(files):
    made = json.loads(command(files, "a.trec", "b.trec", "--benchmark", MINI, "--format", "json").stdout)
    (pair,) = made["pairs"]
    assert (made["schema"], pair["identical"], pair["first"], pair["second"]) == (1, False, "a", "b")
    lines = command(files, "a.trec", "b.trec", "--benchmark", MINI, "--format", "csv").stdout.splitlines()
    assert len(lines) == 1 + len(pair["rows"])
    assert lines[0].startswith("first,second,group,mode,measure,a,b,difference")


def test_the_same_bytes_for_files_in_another_order_of_lines(files):
    lines = (files / "b.trec").read_text().splitlines(keepends=True)
    (files / "other").mkdir()
    (files / "other" / "b.trec").write_text("".join(reversed(lines)))
    words = ("--benchmark", MINI, "--format", "json")
    assert command(files, "a.trec", "b.trec", *words).stdout == command(files, "a.trec", "other/b.trec", *words).stdout


def test_a_moved_query_shows_its_documents(files):
    done = command(files, "a.trec", "b.trec", "--benchmark", MINI, "-m", "WISE", "--top", "1")
    text = done.stdout.partition("queries that moved most")[2]
    head, _, query, document, *_ = text.splitlines()[1:]
    assert head.split() == ["query", "measure,", "documents", "label", "first", "second"]
    assert "  WISE  " in query
    assert re.fullmatch(r"  (ori|ins|rev) +\S+ +[01] +(\d+|-) +(\d+|-)", document)


def test_three_runs_are_each_held_against_the_first(files):
    write_run(random_run(7, "c"), Path(files, "c.trec"))
    pairs = diff([files / "a.trec", files / "b.trec", files / "c.trec"], benchmark=MINI, measures=["nDCG@10"])
    assert [(pair.a, pair.b) for pair in pairs] == [("a", "b"), ("a", "c")]


def test_runs_of_different_depth_and_queries_are_told():
    a, b = random_run(1, "a"), random_run(2, "b", depth=10)
    lacking = b.select(b.query_ids[1:])
    notes = diff([a, lacking], benchmark=MINI, measures=["nDCG@10"])[0].notes
    text = "\n".join(notes)
    assert "lists differ in depth (a 20, b 10)" in text
    assert f"b lacks 1 query of a, whose rankings are not compared ({b.query_ids[0]})" in text
    count = len(a.query_ids)
    assert f"b: {count} queries judged, {count - 1} in the run, {count} scored, 1 absent" in text


def test_groups_that_a_run_lacks_are_named():
    a, b = (random_run(seed, tag, "infosearch-mini") for seed, tag in enumerate("ab"))
    b = b.select(query_id for query_id in b.query_ids if not query_id.startswith("audience"))
    how = {"benchmark": "infosearch-mini", "measures": ["nDCG@10"]}
    (pair,) = diff([a, b], **how)
    worst = {row.mode: row.b for row in pair.comparison.changes if row.group == "audience"}
    assert worst == {"ori": 0, "ins": 0, "rev": 0}
    (pair,) = diff([a, b], **how, missing="skip")
    assert "audience" not in {row.group for row in pair.comparison.changes}
    assert "not compared, as no query of theirs has a value in both runs: audience" in pair.notes


@pytest.mark.parametrize("depth", [1, 2, 10, 11, 100])
def test_equal_rankings_are_counted_whatever_their_scores(depth):
    # tau of ten documents in the same order is computed as 0.9999999999999998
    rows = {f"d{number}": float(depth - number) for number in range(depth)}
    (pair,) = diff(
        [Run.from_dict({"q": {doc: scale * score for doc, score in rows.items()}}, tag=str(scale)) for scale in (1, 2)]
    )
    assert [row["same ranking"] for row in summaries(pair)] == [1]


def test_published_ids_are_read(files):
    for name in "ab":
        words = ["convert", f"{name}.trec", "--to", "trec", "--ids", "published", "--mode", "ins", "--benchmark", MINI]
        words += ["--output", f"{name}.published"]
        tandem("runs", *words, cwd=files, check=True)
    words = ["--benchmark", f"{MINI}-ins", "-m", "nDCG@10", "--format", "csv"]
    theirs = command(files, "ins=a.published", "ins=b.published", "--ids", "published", *words)
    assert theirs.returncode == 1, theirs.stderr
    assert theirs.stdout == command(files, "a.trec", "b.trec", *words).stdout


def test_judgments_may_be_given_beside_a_benchmark(files):
    from toolkit.datasets import load

    own = load("berds-mini")
    group = own.spec.groups[0]["name"]
    query_ids = [topic.query_id for topic in own.topics(group)]
    doc_ids = [doc.doc_id for doc in own.docs(group)][:5]
    for name, step in (("up", 1), ("down", -1)):
        rows = {query_id: {doc_id: 1 / rank for rank, doc_id in enumerate(doc_ids[::step], 1)} for query_id in query_ids}
        write_run(Run.from_dict(rows, tag=name), files / f"{name}.trec")
    (files / "judged.txt").write_text("".join(f"{query_id} 1 {doc_ids[0]} 1\n" for query_id in query_ids))
    benchmark = group if group.startswith("berds") else f"berds-mini-{group}"
    words = ["up.trec", "down.trec", "--benchmark", benchmark, "--qrels", "judged.txt", "-m", "PerspectiveP@1"]
    done = command(files, *words, "--format", "json")
    assert done.returncode == 1, done.stderr
    (pair,) = json.loads(done.stdout)["pairs"]
    assert [(row["a"], row["b"]) for row in pair["rows"]] == [(1, 0)]
    assert "judged by judged.txt" in pair["notes"]


@pytest.mark.process
def test_one_run_may_come_from_standard_input(files):
    words = ["a.trec", "-", "--benchmark", MINI, "--format", "json"]
    piped = process("diff", *words, cwd=files, text=False, input=(files / "b.trec").read_bytes())
    assert piped.stdout.decode() == command(files, "a.trec", "b.trec", "--benchmark", MINI, "--format", "json").stdout
    twice = command(files, "-", "-", "--benchmark", MINI)
    assert (twice.returncode, twice.stderr.splitlines()[0]) == (2, "error: - is given twice")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--output", "--html"])
def test_a_full_disk_is_no_difference(files, option):
    done = command(files, "a.trec", "b.trec", "--benchmark", MINI, option, "/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("error: no space left on the disk")


@pytest.mark.parametrize(
    "words",
    [["--ids", "published"], ["--depth", "0"], ["--benchmark", "nothing"], ["--qrels", "nowhere.txt"], ["--html", "page.html"]],
)
def test_what_cannot_be_done_ends_with_2(files, words):
    done = command(files, "a.trec", "b.trec", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert not (files / "page.html").exists()
