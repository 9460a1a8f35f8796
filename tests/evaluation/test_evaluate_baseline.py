"""Runs compared with one of them: the numbers of diff, markers and intervals in every format, and what is refused."""

import csv
import io
import json
import re

import numpy as np
import pytest
from command import tandem

import tandem_ir
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import Change, Score, Scores
from toolkit.core.tables.aligned_table import TableStyle, to_text
from toolkit.evaluation.scores.score_output import render
from toolkit.evaluation.scores.score_table import lay_out
from toolkit.files.formats import write_run
from toolkit.reporting.diff.compare_runs import diff

QUERIES = [f"q{number}" for number in range(40)]
QRELS = Qrels.from_rows([Qrel(query_id, "gold", 1) for query_id in QUERIES], "qrels.txt")


def run(tag, ranks):
    """One relevant document a query, at these ranks of ten."""
    rows = {}
    for query_id, rank in zip(QUERIES, ranks, strict=True):
        docs = [f"d{number}" for number in range(9)]
        docs.insert(rank - 1, "gold")
        rows[query_id] = {doc_id: 1 / place for place, doc_id in enumerate(docs, 1)}
    return Run.from_dict(rows, tag=tag)


BASE = run("base", [3] * 40)
BETTER = run("better", [1] * 30 + [3] * 10)
ALIKE = run("alike", [2, 4] * 20)


@pytest.fixture(scope="module")
def scores():
    return tandem_ir.evaluate([BASE, BETTER, ALIKE], qrels=QRELS, measures=["RR", "R@5"], baseline="base")


def test_changes_are_those_of_diff(scores):
    pairs = diff([BASE, ALIKE, BETTER], qrels=QRELS, measures=["RR", "R@5"])
    wanted = {(pair.b, row.group, row.mode, row.measure): row for pair in pairs for row in pair.comparison.changes}
    assert {place: repr(change) for place, change in scores.changes.items()} == {
        place: repr(change) for place, change in wanted.items()
    }  # as text: the effect size of no difference is NaN


def test_what_has_no_value_is_not_called_untested():
    qrels = Qrels.from_rows([Qrel(f"q-{mode}", "g", 1) for mode in ("ori", "ins")])
    first, second = (
        Run.from_dict({"q-ori": docs, "q-ins": docs}, tag=tag) for tag, docs in (("a", {"g": 1.0}), ("b", {"x": 1.0}))
    )
    made = tandem_ir.evaluate([first, second], qrels=qrels, measures=["WISE", "RR"], baseline="a")
    assert not any("no mean over queries" in note for note in made.notes)


def test_the_baseline_itself_has_no_mark_and_neither_has_a_query():
    scores = tandem_ir.evaluate([BASE, BETTER], qrels=QRELS, measures=["RR"], baseline="base", by_query=True)
    marked = [row for row in scores.rows if scores.change(row)]
    assert [(row.run, row.measure, row.query_id) for row in marked] == [("better", "RR", "")]


def test_the_table_marks_what_is_more_than_chance(scores):
    # base 1/3 in every query; better 1 in 30 of 40: + 0.5; alike 1/2 and 1/4 in turn: + 0.0417
    table, _ = render(scores, "table").split("\n\n")
    rows = [re.split(" {2,}", line.strip()) for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == ["base", "alike", *DIFFERENCE, "better", *DIFFERENCE]  # the baseline first
    assert rows[0] == ["base", "0.3333", "1.0000"]
    assert rows[6] == ["better", "0.8333*", "1.0000"]
    assert rows[7] == ["difference", "+0.5000", "+0.0000"]
    low, high, p = (row[1] for row in rows[8:])
    assert re.fullmatch(r"\+0\.4\d{3}", low)
    assert re.fullmatch(r"\+0\.5\d{3}", high)
    assert p == "<0.0001"
    assert rows[1][1] in ("0.3750", "0.3750*")


def test_differences_within_groups_are_left_out_on_a_terminal():
    changes = {(run, group, "", "RR"): change for run, group, change in [("b", "g", CHANGE), ("b", "average", CHANGE)]}
    rows = [Score(run, group, "", "RR", 0.5, 1) for run in "ab" for group in ("g", "average")]
    made = lay_out(Scores(tuple(rows), (), changes))
    assert len(made.rows) == 4 + 2 * 4
    shown = to_text([made], TableStyle(width=80)).splitlines()
    assert sum("difference " in line for line in shown) == 1
    assert shown[-1] == "left out here: differences within groups; --all shows all"


DIFFERENCE = ["difference", "95 % from", "95 % to", "p"]
CHANGE = Change("g", "", "RR", 0.0, 0.5, 0.5, 1.0, 9, 9, 0.25, 0.75, 0.01, 0.02, 1.0, "tested", 9, 0, 0)


def test_the_notes_say_which_test_over_what(scores):
    assert scores.notes[-2:] == (
        "*: p < 0.05 after Holm's correction over 2 runs x 1 number (RR, all)",
        "difference: from base; p and 95 % from, to: of each number by itself, uncorrected: Student's t over core queries",
    )


def test_fewer_than_six_core_queries_that_differ_are_not_tested():
    five = run("five", [1] * 5 + [3] * 35)
    scores = tandem_ir.evaluate([BASE, five], qrels=QRELS, measures=["RR"], baseline="base")
    (change,) = scores.changes.values()
    assert (change.state, change.up, change.same) == ("too few differ", 5, 35)
    assert [str(value) for value in (change.p, change.low, change.high, change.holm)] == ["nan"] * 4
    assert "not tested, as fewer than six core queries differ: all RR (5 of 40 core queries differ)" in scores.notes
    assert not change.mark


def test_only_primary_numbers_are_marked(scores):
    assert {place: bool(change.mark) for place, change in scores.changes.items()} == {
        ("better", "all", "", "RR"): True,
        ("better", "all", "", "R@5"): False,
        ("alike", "all", "", "RR"): True,
        ("alike", "all", "", "R@5"): False,
    }
    both = [BASE, run("late", [9] * 20 + [3] * 20)]
    how = {"qrels": QRELS, "measures": ["RR", "R@5"], "baseline": "base"}
    by_default, named = tandem_ir.evaluate(both, **how), tandem_ir.evaluate(both, **how, primary=["R@5"])
    assert [change.mark for change in by_default.changes.values()] == ["*", ""]
    assert [change.mark for change in named.changes.values()] == ["", "*"]
    assert [change.p for change in by_default.changes.values()] == [change.p for change in named.changes.values()]


def test_the_p_of_a_number_does_not_depend_on_what_else_is_asked_for(scores):
    alone = tandem_ir.evaluate([BASE, BETTER], qrels=QRELS, measures=["RR"], baseline="base")
    place = ("better", "all", "", "RR")
    assert (alone.changes[place].p, alone.changes[place].low) == (scores.changes[place].p, scores.changes[place].low)


def test_wilcoxon_has_no_interval_and_is_called_what_it_is():
    from toolkit.evaluation.comparison.comparison import Baseline, Testing

    baseline = Baseline("base", Testing("wilcoxon"))
    scores = tandem_ir.evaluate([BASE, ALIKE], qrels=QRELS, measures=["RR"], baseline=baseline)
    (change,) = scores.changes.values()
    assert change.p == change.p
    assert str(change.low) == "nan"
    assert "not of the mean that is printed" in scores.notes[-1]


def test_latex_raises_the_marker_and_has_the_differences_below(scores):
    lines = render(scores, "latex").splitlines()
    at = lines.index(r"better & 0.8333$^{*}$ & 1.0000 \\")
    assert lines[at + 1] == r"\quad difference & $+$0.5000 & $+$0.0000 \\"
    assert r"base & 0.3333 & 1.0000 \\" in lines


def test_json_and_csv_have_the_numbers_behind_the_marks(scores):
    rows = json.loads(render(scores, "json"))["rows"]
    found = {(row["run"], row["measure"]): row for row in rows}
    change = scores.changes["better", "all", "", "RR"]
    names = ("difference", "low", "high", "p", "holm")
    assert [found["better", "RR"][name] for name in names] == [getattr(change, name) for name in names]
    assert [found["base", "RR"][name] for name in names] == [None] * 5
    table = list(csv.DictReader(io.StringIO(render(scores, "csv"))))
    assert [row["holm"] == "" for row in table] == [row["holm"] is None for row in rows]
    assert float(next(row for row in table if (row["run"], row["measure"]) == ("better", "RR"))["low"]) == change.low


def test_without_a_baseline_no_column_is_added():
    plain = tandem_ir.evaluate([BASE, BETTER], qrels=QRELS, measures=["RR"])
    assert render(plain, "csv").splitlines()[0] == "run,group,mode,measure,value,queries"
    assert "difference" not in render(plain, "table")


def test_a_groups_own_score_and_the_average_of_scores_are_tested_too(monkeypatch):
    from dataclasses import replace

    from toolkit.evaluation.scores import evaluation
    from toolkit.evaluation.scores.judgments import Judgments, Part

    groups = {"one": ("RR",), "two": ("R@2",)}
    parts = tuple(Part(group, replace(QRELS, source=group), measures=its) for group, its in groups.items())
    parts = (parts[0], replace(parts[1], qrels=Qrels.from_rows([Qrel(f"two-{query_id}", "gold", 1) for query_id in QUERIES])))
    runs = []
    for each in (BASE, BETTER):
        rows = each.to_dict()
        runs.append(Run.from_dict({**rows, **{f"two-{query_id}": its for query_id, its in rows.items()}}, tag=each.tag))
    prepared = evaluation.Evaluation(tuple(runs), Judgments("x", Modes(), parts, ("nDCG@10",)))
    from toolkit.evaluation.comparison.comparison import Baseline

    scores = prepared.scores(None, baseline=Baseline("base"))
    changes = {(row.group, row.measure): scores.change(row) for row in scores.rows if row.run == "better"}
    assert changes["one", "Score"] == changes["one", "RR"]
    assert changes["two", "Score"] == changes["two", "R@2"]
    average = changes["average", "Score"]
    values = {(row.run, row.group): row.value for row in scores.rows if row.measure == "Score"}
    assert (average.a, average.b) == pytest.approx((values["base", "average"], values["better", "average"]))
    assert average.difference == pytest.approx((0.5 + 0.75) / 2)  # RR rises by 0.5, R@2 in 30 of 40


def test_kinds_of_questions_are_tested_like_groups():
    benchmark = tandem_ir.load("berds-mini")
    group = benchmark.spec.groups[-1]["name"]
    query_ids = [topic.query_id for topic in benchmark.topics(group)]
    doc_ids = [doc.doc_id for doc in benchmark.docs(group)]
    generator = np.random.default_rng(0)
    runs = []
    for tag in ("base", "other"):
        chosen = {query_id: generator.permutation(doc_ids)[:20] for query_id in query_ids}
        rows = {query_id: {doc_id: 1 / rank for rank, doc_id in enumerate(its, 1)} for query_id, its in chosen.items()}
        runs.append(Run.from_dict(rows, tag=tag))
    name = group if group.startswith("berds") else f"berds-mini-{group}"
    scores = tandem_ir.evaluate(runs, benchmark=name.replace("/", "-"), baseline="base", by_type=True)
    of_types = [row for row in scores.rows if row.run == "other" and row.group.startswith("type ")]
    assert of_types
    for row in of_types:
        base = next(its for its in scores.rows if its[:4] == ("base", *row[1:4]))
        assert scores.change(row).difference == pytest.approx(row.value - base.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for each in (BASE, BETTER):
        write_run(each, folder / f"{each.tag}.trec")
    (folder / "qrels.txt").write_text("".join(f"{query_id} 0 gold 1\n" for query_id in QUERIES))
    return folder


def command(folder, *words):
    return tandem("evaluate", "base.trec", "better.trec", "--qrels", "qrels.txt", "-m", "RR", *words, cwd=folder)


@pytest.mark.parametrize("name", ["base", "base.trec"])
def test_the_command_takes_a_tag_or_a_file(files, name):
    done = command(files, "--baseline", name, "--test", "randomisation", "--samples", "100")
    assert done.returncode == 0, done.stderr
    assert "0.8333*" in done.stdout
    assert "difference: from base; " in done.stdout
    assert "randomisation of the signs of core queries" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--baseline", "nobody"], "error: no run is called nobody"),
        (["--baseline", "base", "--format", "trec"], "error: trec_eval's lines have no place for markers"),
        (["--baseline", "base", "--explain", "q1"], "error: --baseline marks the table of scores"),
        (["--baseline", "base", "--test", "randomisation", "--samples", "0"], "error: samples is 0"),
        (["--baseline", "base", "--samples", "9"], "error: --test t draws nothing"),
        (["--baseline", "base", "--primary", "AP"], "error: --primary AP is not compared"),
    ],
)
def test_what_cannot_be_held_against_a_baseline_is_refused(files, words, message):
    done = command(files, *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == message


def test_several_baselines_have_a_table_each_and_are_corrected_together(files):
    write_run(ALIKE, files / "alike.trec")
    words = ("--run", "alike.trec", "--baseline", "base", "--baseline", "better")
    done = command(files, *words)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split("against better")
    assert first.startswith("against base")
    names = [line.split()[0] for line in second.splitlines() if line.startswith(("base", "better", "alike"))]
    assert names == ["better", "alike", "base"]  # the baseline first
    assert done.stdout.count("over 3 runs x 1 number") == 1  # base and better are one pair; equal notes stand once
    tables = json.loads(command(files, *words, "--format", "json").stdout)["tables"]
    assert [table["title"] for table in tables] == ["against base", "against better"]
