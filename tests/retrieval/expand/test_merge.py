"""Round robin against the golden values and by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.formats import read_run, write_run
from toolkit.retrieval.merge_lists import merge, merge_lists, merged_run, question_lists

GOLDEN = Path(__file__).parents[2] / "golden" / "round-robin"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())


def test_golden_values_of_the_paper():
    assert merge(read_run(GOLDEN / "lists.trec"), 10) == EXPECTED["paper"]


def test_golden_values_of_the_release():
    found = {}
    for question, lists in question_lists(read_run(GOLDEN / "lists.trec")).items():
        try:
            found[question] = merge_lists(lists, 10, duplicates=True)
        except ToolkitError:
            found[question] = None
    assert found == EXPECTED["release"]


def test_a_number_that_no_list_has_is_refused():
    for number in ("10001", "20000000000"):
        with pytest.raises(ToolkitError, match=f"query id 'q.{number}' names no list of a question"):
            merge(Run.from_dict({"q.1": {"a": 1.0}, f"q.{number}": {"b": 1.0}}))


def test_the_release_names_every_question_that_it_cannot_merge():
    with pytest.raises(ToolkitError, match="the lists of 2 of 9 questions cannot be merged") as error:
        merge(read_run(GOLDEN / "lists.trec"), 10, duplicates=True)
    assert [problem.partition(":")[0] for problem in error.value.problems] == ["R8", "R9"]


def test_a_list_whose_document_is_there_loses_its_turn():
    assert merge_lists(["abc", "acd", "x"], 5) == ["a", "x", "b", "c", "d"]
    assert merge_lists(["abc", "acd", "xyz"], 5, duplicates=True) == ["a", "a", "x", "b", "c"]


def test_the_release_reads_no_deeper_than_the_first_list():
    with pytest.raises(ToolkitError, match="the first list has 1 documents, which gives 2 of 4"):
        merge_lists(["a", "bcd"], 4, duplicates=True)
    with pytest.raises(ToolkitError, match="list 2 has 1 documents, and round 2 is needed"):
        merge_lists(["abc", "d"], 4, duplicates=True)


def test_lists_are_in_the_order_of_their_numbers_not_of_the_file():
    run = Run.from_dict({"q.10": {"j": 1.0}, "q.2": {"b": 1.0}, "q.1": {"a": 1.0}, "r.s.1": {"c": 1.0}})
    assert merge(run) == {"q": ["a", "b", "j"], "r.s": ["c"]}


def test_a_list_that_is_not_there_is_empty_and_said(capsys):
    run = Run.from_dict({"q.1": {"a": 1.0}, "q.3": {"c": 1.0}}, tag="bm25")
    assert merge(run) == {"q": ["a", "c"]}
    assert capsys.readouterr().err == "note: bm25 lacks lists of 1 of 1 questions (q): taken as empty\n"
    with pytest.raises(ToolkitError, match="cannot be merged"):
        merge(run, 3, duplicates=True)


@pytest.mark.parametrize("query_id", ["q", "q.", "q.0", "q.x", ".1"])
def test_an_id_that_names_no_list_is_refused(query_id):
    with pytest.raises(ToolkitError, match="names no list of a question"):
        merge(Run.from_dict({query_id: {"a": 1.0}}))


def test_merged_run_keeps_the_order_in_a_file(tmp_path):
    write_run(merged_run({"q": ["b", "a", "c"]}, tag="x"), tmp_path / "run.trec")
    (ranking,) = [docs for _, docs in read_run(tmp_path / "run.trec").rankings()]
    assert [doc.doc_id for doc in ranking] == ["b", "a", "c"]


@given(st.lists(st.lists(st.integers(0, 9), unique=True), min_size=1, max_size=5), st.integers(1, 12))
def test_the_paper_is_the_sequence_of_ranks_without_doubled_documents(lists, depth):
    lists = [[str(number) for number in one] for one in lists]
    sequence = [one[rank] for rank in range(10) for one in lists if rank < len(one)]
    assert merge_lists(lists, depth) == list(dict.fromkeys(sequence))[:depth]
