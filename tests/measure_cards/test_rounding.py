"""Scores with fewer digits: which values change, by hand and on a registered run."""

import json

import pytest
from command import ROOT, tandem

import tandem_ir
from toolkit.core.runs import Run
from toolkit.measure_cards.rounding import rounded

QRELS = "q-ori 0 a 1\nq-ins 0 a 1\nq-rev 0 b 1\np-ori 0 a 1\np-ins 0 a 1\np-rev 0 b 1\n"
MODES = ("--modes", "ori=base", "ins=instructed", "rev=reversed")
# q: a is 2nd, 1st, 3rd by scores 0.5, 0.5004, 0.4; with three digits the first two are equal, and SICR wants a greater one.
# p: the same, by scores that are far apart
Q = {"ori": {"b": 0.6, "a": 0.5, "c": 0.3}, "ins": {"a": 0.5004, "b": 0.4, "c": 0.3}, "rev": {"b": 0.6, "c": 0.5, "a": 0.4}}
P = {"ori": {"b": 0.6, "a": 0.5, "c": 0.3}, "ins": {"a": 0.7, "b": 0.4, "c": 0.3}, "rev": {"b": 0.6, "c": 0.5, "a": 0.4}}


@pytest.fixture
def files(tmp_path):
    lines = [
        f"{query}-{mode} Q0 {doc} {rank} {score} mine"
        for query, lists in (("q", Q), ("p", P))
        for mode, docs in lists.items()
        for rank, (doc, score) in enumerate(docs.items(), 1)
    ]
    (tmp_path / "run.trec").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def table(folder, *more):
    done = tandem("measures", "rounding", "run.trec", "--qrels", "qrels.txt", *MODES, *more, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {row["measure"]: row for row in json.loads(done.stdout)["rows"]}


def test_one_of_two_decisions_of_sicr_is_lost_with_three_digits(files):
    found = table(files, "-m", "SICR", "WISE")["SICR"]
    assert (found["value"], found["rounded"], found["changed"], found["queries"]) == (1.0, 0.5, 0.5, 2)


def test_ranks_stay_where_no_scores_become_equal_within_a_list(files):
    assert table(files, "-m", "SICR", "WISE")["WISE"]["changed"] == 0


def test_enough_digits_change_nothing(files):
    assert table(files, "-m", "SICR", "--digits", "4")["SICR"]["changed"] == 0


def test_a_rounded_run_has_the_same_documents():
    run = Run.from_dict({"q": {"a": 0.12345, "b": -0.0004}})
    assert rounded(run, 3).scores.tolist() == [0.123, 0.0]
    assert rounded(run, 3).query_ids == run.query_ids


def test_the_values_without_rounding_are_those_of_evaluate():
    run = ROOT / "runs" / "baselines" / "infosearch-mini.bm25.v1.trec.gz"
    shown = tandem("measures", "rounding", run, "--benchmark", "infosearch-mini", "-m", "WISE", "--format", "json").stdout
    evaluated = tandem("evaluate", run, "--benchmark", "infosearch-mini", "-m", "WISE", "--format", "json").stdout
    (row,) = json.loads(shown)["rows"]
    assert row["value"] in [each["value"] for each in json.loads(evaluated)["rows"] if each["group"] == "average"]
    assert row["queries"] == 96


def test_python_has_the_same_table(files):
    modes = {"ori": "base", "ins": "instructed", "rev": "reversed"}
    given = {"qrels": [str(files / "qrels.txt")], "modes": modes, "measures": ["SICR"]}
    (row,) = tandem_ir.measure_rounding([str(files / "run.trec")], **given).to_dict("records")
    assert (row["value"], row["rounded"], row["changed"]) == (1.0, 0.5, 0.5)
