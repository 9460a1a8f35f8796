import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.construction.documents.anomalies import Anomalies, anomaly, is_similarity, without_documents
from toolkit.construction.steps import Item
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run

OUTSIDE = "outside the first 50 in 50% of the runs or more"


def lists(*ranks, score=0.9):
    """A run each: the rank of document d, None where the run has it not."""
    return [{} if rank is None else {"d": (rank, score)} for rank in ranks]


@pytest.mark.parametrize(
    ("ranks", "why"),
    [
        ([1] * 7 + [51] * 5, ""),  # 5 of 12 do not find it
        ([1] * 6 + [51] * 6, OUTSIDE),  # 6 of 12 are half
        ([1] * 6 + [None] * 6, OUTSIDE),
        ([50] * 12, ""),
        ([51] * 12, OUTSIDE),
        ([1] * 6 + [51] * 7, OUTSIDE),  # 7 of 13
        ([1] * 7 + [51] * 6, ""),  # 6 of 13 are fewer than half
    ],
)
def test_half_of_the_runs_have_to_find_it_among_the_first_50(ranks, why):
    assert anomaly("d", lists(*ranks), []) == why


def test_the_mean_similarity_has_to_reach_a_half():
    # 0.4 and 0.6 have the mean 0.5; 0.4, 0.6 and 0.4 have 0.467
    runs = [*lists(1, score=0.4), *lists(2, score=0.6)]
    assert anomaly("d", runs, runs) == ""
    runs += lists(3, score=0.4)
    assert anomaly("d", runs, runs) == "mean similarity below 0.5"
    assert anomaly("d", runs, []) == ""  # the scores of BM25 are no similarities
    assert anomaly("d", runs, runs, score=0.4) == ""


def test_a_run_that_has_not_found_it_has_no_say_in_the_mean():
    runs = [*lists(1, 1, score=0.6), *lists(None)]
    assert anomaly("d", runs, runs) == ""


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(0, 19))
def test_a_better_rank_makes_no_anomaly(ranks, place):
    better = [1 if number == place else rank for number, rank in enumerate(ranks)]
    if not anomaly("d", lists(*ranks), []):
        assert not anomaly("d", lists(*better), [])


def test_similarities_are_scores_from_minus_1_to_1():
    assert is_similarity(Run.from_dict({"q": {"a": 1.0, "b": -0.2}}))
    assert not is_similarity(Run.from_dict({"q": {"a": 12.5, "b": 0.2}}))
    assert not is_similarity(Run.from_dict({}))


def item(name, gold, *breaking):
    documents = {
        "gold": [{"id": gold, "text": gold}],
        "instruction_negatives": [{"id": each, "text": each} for each in breaking],
    }
    fields = {"core": "c", "query": "q", "group": "tone", "condition": gold, "instruction": "I", "reversed": "R"}
    return Item(name, {**fields, **documents, "hard_negatives": []})


def test_an_anomaly_is_no_instruction_negative_either():
    items = [item("q1", "a", "b", "c"), item("q2", "b", "a", "c"), item("q3", "c", "b")]
    done = list(without_documents(items, {"b": "unfound"}))
    assert [each.rejected for each in done] == ["", "gold document unfound", "no instruction negative is left"]
    assert [document["id"] for document in done[0].fields["instruction_negatives"]] == ["c"]


def test_fewer_runs_than_asked_for_are_refused():
    with pytest.raises(ToolkitError, match="1 systems and runs, and at least 12"):
        Anomalies(systems=("bm25",))
    assert Anomalies(systems=("bm25",), least=1).least == 1


class Folder:
    """What the step needs of `Tools`."""

    def __init__(self, folder):
        self.folder, self.systems = folder, ()


def test_runs_are_read_from_files_over_the_draft(tmp_path):
    items = [item("tone-1", "a", "b"), item("tone-2", "b", "a")]
    runs = []
    for number in range(3):
        (tmp_path / f"{number}.trec").write_text(
            "tone-1-ori Q0 a 1 9.5 x\ntone-1-ori Q0 b 2 9.0 x\n" + "tone-2-ori Q0 a 1 8.0 x\n" * (number < 2)
        )
        runs.append(f"{number}.trec")
    # b is in no list of tone-2, and a of tone-1 in all
    done = list(Anomalies(people=False, systems=(), runs=tuple(runs), least=3).run(items, Folder(tmp_path)))
    assert [each.rejected for each in done] == ["no instruction negative is left", f"gold document {OUTSIDE}"]
    assert {json.loads(line)["id"] for line in (tmp_path / "draft" / "corpus.tone.jsonl").read_text().splitlines()} == {
        "a",
        "b",
    }


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ToolkitError, match=r"no run .*gone\.trec") as error:
        list(Anomalies(systems=(), runs=("gone.trec",), least=1).run([item("tone-1", "a", "b")], Folder(tmp_path)))
    assert "draft/ori" in error.value.hint


def test_a_system_that_is_not_there_is_answered_with_what_can_be_done(tmp_path, monkeypatch):
    def missing(*names, **how):
        raise ToolkitError("e5 is not on this machine", "unset HF_HUB_OFFLINE", status=1)

    monkeypatch.setattr("toolkit.jobs.search_job", missing)
    with pytest.raises(ToolkitError, match="anomalies: e5 is not on this machine") as error:
        list(Anomalies(systems=("e5-large-v2",), least=1).run([item("tone-1", "a", "b")], Folder(tmp_path)))
    assert error.value.hint == "unset HF_HUB_OFFLINE; or name other systems, with `least`, or `anomalies: false` in build.yaml"
    assert error.value.status == 1


@pytest.mark.lucene
def test_systems_search_the_draft(tmp_path):
    fields = {"core": "c", "group": "tone", "instruction": "I.", "reversed": "R.", "hard_negatives": []}
    kettle, tea = {"id": "k", "text": "descale a kettle with vinegar"}, {"id": "t", "text": "nothing of it"}
    found = Item(
        "tone-1", {**fields, "query": "descale a kettle", "condition": "x", "gold": [kettle], "instruction_negatives": [tea]}
    )
    lost = Item(
        "tone-2", {**fields, "query": "descale a kettle", "condition": "y", "gold": [tea], "instruction_negatives": [kettle]}
    )
    done = list(Anomalies(people=False, systems=("bm25",), least=1).run([found, lost], Folder(tmp_path)))
    assert [each.rejected for each in done] == ["no instruction negative is left", f"gold document {OUTSIDE}"]
