"""Runs: the one place where documents are ranked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.modes import guess_group
from toolkit.core.qrels import Qrel, Qrels, join_qrels
from toolkit.core.runs import Run, ScoredDoc, join_runs
from toolkit.files.runs.conversion import as_run

RUN = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.floats(-4, 4, width=32)), max_size=60).map(
    lambda rows: [ScoredDoc(q, f"d{d}", s) for (q, d), s in {(q, d): s for q, d, s in rows}.items()]
)


def ranked(run, ties="trec"):
    return {query_id: [doc.doc_id for doc in ranking] for query_id, ranking in run.rankings(ties)}


def test_equal_scores_rank_by_doc_id_descending():
    assert ranked(Run.from_dict({"q": {"a": 1.0, "c": 1.0, "b": 1.0, "top": 2.0}})) == {"q": ["top", "c", "b", "a"]}


def test_scores_equal_in_32_bits_are_ties():
    # 0.1 and 0.1 + 1e-9 are one 32-bit float, so the id decides, as in trec_eval
    run = Run.from_dict({"q": {"a": 0.1 + 1e-9, "b": 0.1}})
    assert ranked(run) == {"q": ["b", "a"]}
    assert ranked(run, "file") == {"q": ["a", "b"]}


def test_ties_by_file_keep_the_order_of_the_file():
    run = Run.from_rows([ScoredDoc("q", "a", 1), ScoredDoc("q", "z", 1), ScoredDoc("q", "m", 2)])
    assert ranked(run, "file") == {"q": ["m", "a", "z"]}


def test_ids_are_compared_as_bytes():
    # U+E000 sorts before U+10000 in UTF-8 bytes, but after it in UTF-16
    run = Run.from_dict({"q": {"\ue000": 1.0, "\U00010000": 1.0, "é": 1.0, "z": 1.0}})
    assert ranked(run) == {"q": ["\U00010000", "\ue000", "é", "z"]}


@given(RUN, st.randoms())
def test_the_order_of_lines_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert ranked(Run.from_rows(rows)) == ranked(Run.from_rows(shuffled))


def test_lines_of_one_score_in_a_query_are_tied():
    run = Run.from_rows([ScoredDoc("q", "a", 1), ScoredDoc("q", "b", 2), ScoredDoc("q", "c", 1), ScoredDoc("r", "d", 1)])
    assert run.tied.tolist() == [False, True, True, False]
    assert Run.from_rows([]).tied.tolist() == []


@given(RUN)
def test_order_is_the_literal_sort(rows):
    expected = {}
    for row in sorted(rows, key=lambda row: (row.score, row.doc_id), reverse=True):
        expected.setdefault(row.query_id, []).append(row.doc_id)
    assert ranked(Run.from_rows(rows)) == expected


@given(RUN)
def test_frames_and_dicts_hold_the_same_run(rows):
    run = Run.from_rows(rows)
    assert as_run(run.to_frame()).to_dict() == run.to_dict() == Run.from_dict(run.to_dict()).to_dict()


@given(RUN, RUN)
def test_joined_runs_are_what_cat_makes_of_their_files(one, two):
    ins = [row._replace(query_id=f"{row.query_id}-ins") for row in two]
    joined = join_runs([Run.from_rows(one), Run.from_rows(ins)])
    assert joined.to_dict() == Run.from_rows(one + ins).to_dict()


def test_select_keeps_the_lines_of_some_queries():
    run = Run.from_dict({"a": {"x": 1.0}, "b": {"y": 2.0, "z": 1.0}, "c": {"x": 3.0}})
    assert run.select(["c", "b", "absent"]).to_dict() == {"b": {"y": 2.0, "z": 1.0}, "c": {"x": 3.0}}


def test_an_empty_run_is_a_run():
    assert len(Run.from_dict({})) == 0
    assert ranked(Run.from_dict({})) == {}


@pytest.mark.parametrize(
    ("base", "group"),
    [("core07-2", "core07"), ("123_4", "123"), ("25_5.4", "25_5"), ("a-b-10", "a-b"), ("plain", "plain"), ("-1", "-1")],
)
def test_a_group_is_guessed_from_the_last_number(base, group):
    assert guess_group(base) == group


def test_qrels_keep_lines_subtopics_and_text_ids():
    rows = [Qrel("007", "01", 1, "2"), Qrel("7", "01", 0, "1"), Qrel("007", "1", -1, "2")]
    assert list(Qrels.from_rows(rows)) == rows
    assert list(join_qrels([Qrels.from_rows(rows[:1]), Qrels.from_rows(rows[1:])])) == rows
    assert Qrels.from_rows(rows).to_frame().to_dict("records") == [row._asdict() for row in rows]


def test_the_head_of_a_run_is_its_best_documents_in_the_order_of_the_file():
    run = Run.from_columns(["a", "b", "a", "a"], ["x", "z", "y", "w"], [1.0, 5.0, 3.0, 2.0])
    head = run.head(2)
    assert list(zip(head.queries.tolist(), head.scores.tolist(), strict=True)) == [(1, 5.0), (0, 3.0), (0, 2.0)]
    assert run.head(0).to_dict() == {"a": {}, "b": {}}
    assert run.head(3).to_dict() == run.to_dict()
