"""Fewer digits, other ties, shorter lists: which values change, by hand and on a registered run."""

import json

import pytest
from command import ROOT, tandem
from hypothesis import given
from hypothesis import strategies as st

import tandem_ir
from toolkit.core.runs import Run
from toolkit.studies.measure_cards.sensitivity import rounded, ties_reversed

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
    done = tandem("measures", "sensitivity", "run.trec", "--qrels", "qrels.txt", *MODES, *more, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {(row["measure"], row["mode"], row["change"]): row for row in json.loads(done.stdout)["rows"]}


def test_one_of_two_decisions_of_sicr_is_lost_with_three_digits(files):
    found = table(files, "-m", "SICR", "WISE")["SICR", "paired", "3 digits"]
    assert (found["before"], found["after"], found["changed"], found["queries"]) == (1.0, 0.5, 0.5, 2)


def test_ranks_stay_where_no_scores_become_equal_within_a_list(files):
    assert table(files, "-m", "SICR", "WISE")["WISE", "paired", "3 digits"]["changed"] == 0


def test_enough_digits_change_nothing(files):
    assert table(files, "-m", "SICR", "--digits", "4")["SICR", "paired", "4 digits"]["changed"] == 0


def test_a_shorter_list_loses_what_is_below_its_end(files):
    # a is 2nd in the base lists
    found = table(files, "-m", "nDCG@10", "--depths", "2", "1")
    assert found["nDCG@10", "ori", "depth 1"]["changed"] == 1
    assert found["nDCG@10", "ori", "depth 2"]["changed"] == 0


def test_a_rounded_run_has_the_same_documents():
    run = Run.from_dict({"q": {"a": 0.12345, "b": -0.0004}})
    assert rounded(run, 3).scores.tolist() == [0.123, 0.0]
    assert rounded(run, 3).query_ids == run.query_ids


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8))
def test_ties_reversed_turn_each_group_of_equal_scores_round_and_nothing_else(scores):
    run = Run.from_dict({query: {f"d{place}": score for place, score in enumerate(scores)} for query in ("q", "p")})
    before, after = (dict(each.rankings()) for each in (run, ties_reversed(run)))
    for query, ranked in before.items():
        assert [doc.score for doc in after[query]] == [doc.score for doc in ranked]
        for score in set(scores):
            one, other = ([doc.doc_id for doc in docs if doc.score == score] for docs in (ranked, after[query]))
            assert other == one[::-1]


def test_the_values_before_are_those_of_evaluate():
    run = ROOT / "runs" / "baselines" / "infosearch-mini.bm25.v2.trec.gz"
    shown = tandem("measures", "sensitivity", run, "--benchmark", "infosearch-mini", "-m", "WISE", "--format", "json").stdout
    evaluated = tandem("evaluate", run, "--benchmark", "infosearch-mini", "-m", "WISE", "--format", "json").stdout
    rows = json.loads(shown)["rows"]
    (average,) = [each["value"] for each in json.loads(evaluated)["rows"] if each["group"] == "average"]
    assert {row["before"] for row in rows} == {average}
    assert {row["change"] for row in rows} == {"3 digits", "ties reversed", "depth 100", "depth 20", "depth 10"}


def test_python_has_the_same_table(files):
    modes = {"ori": "base", "ins": "instructed", "rev": "reversed"}
    given = {"qrels": [str(files / "qrels.txt")], "modes": modes, "measures": ["SICR"], "depths": []}
    row, ties = tandem_ir.measure_sensitivity([str(files / "run.trec")], **given).to_frame().to_dict("records")
    assert (row["before"], row["after"], row["changed"], ties["changed"]) == (1.0, 0.5, 0.5, 0.0)
