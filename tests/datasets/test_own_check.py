"""What is wrong with a folder: every defect a line with its place, all of a folder together; and warnings."""

import json
import math
import random

import pytest
from command import tandem
from hypothesis import given
from hypothesis import strategies as st
from own_folders import BAD, bad, good

from toolkit.datasets.own.own_check import check_folder, random_order, smallest_difference


def check(folder, *options):
    return tandem("benchmarks", "check", folder.name, *options, cwd=folder.parent)


def warnings(folder):
    return [line for line in check(folder).stdout.splitlines() if line.startswith("warning: ")]


def test_there_are_defects_of_every_kind():
    assert len(BAD) >= 50


@pytest.mark.parametrize("fixture", BAD, ids=lambda path: path.stem)
def test_every_defect_is_one_line_with_its_place(fixture, tmp_path):
    problems = bad(fixture, tmp_path / fixture.stem)
    ended = check(tmp_path / fixture.stem)
    expected = [
        line.replace("FOLDER", fixture.stem) if line.startswith("FOLDER") else f"{fixture.stem}/{line}" for line in problems
    ]
    assert ended.stdout.splitlines() == expected
    assert ended.returncode == 1
    assert f"{len(problems)} problem" in ended.stderr


def test_a_defect_has_a_line_number_unless_a_file_is_missing_or_called_wrongly(tmp_path):
    of_whole_files = ("missing", "of-no", "beside", "twice", "two-files", "as-csv")
    for fixture in BAD:
        problems = bad(fixture, tmp_path / fixture.stem)
        if not any(word in fixture.stem for word in of_whole_files):
            assert all(", line " in problem.partition(": ")[0] for problem in problems), fixture.stem


def test_a_folder_with_problems_is_refused_with_all_of_them_before_anything_is_searched(tmp_path):
    fixture = next(path for path in BAD if path.stem == "everything-at-once")
    problems = bad(fixture, tmp_path / "mine")
    ended = tandem("evaluate", "run.trec", "--benchmark", "mine", cwd=tmp_path)
    assert ended.returncode == 2
    # the documents are read when they are searched
    assert [line.strip() for line in ended.stderr.splitlines()[1:-1]] == [
        f"mine/{problem}" for problem in problems if not problem.startswith(("corpus", "qrels"))
    ]


def test_candidates_that_are_all_relevant_are_warned_of(tmp_path):
    folder = good(tmp_path / "mine")
    for mode, docs in (
        ("base", ("d1", "d2")),
        ("pos", ("d1", "d2")),
        ("neg", ("d1", "d2", "d3")),
    ):  # d2 falls in pos, d1 in neg
        lines = (f"q1 Q0 {doc} {rank} {-rank} r\n" for rank, doc in enumerate(docs, 1))
        (folder / f"candidates.{mode}.trec").write_text("".join(lines))
    warned = [str(remark) for remark in check_folder(folder).remarks if "candidates" in remark.what]
    assert len(warned) == 1
    assert "group all: a random order of the candidates scores as an ideal one, of 1 of 6 queries (q1-base)" in warned[0]
    lines = [f"q1 Q0 d{number} {number + 1} {-number} r\n" for number in range(200)]
    qrels = [f"q1 0 d{number} 1\n" for number in range(199)]  # one of 200 is not relevant: 0.995
    corpus = [json.dumps({"id": f"d{number}", "text": f"text {number}"}) + "\n" for number in range(200)]
    for name, rows in (("candidates.base.trec", lines), ("qrels.base.txt", qrels), ("corpus.jsonl", corpus)):
        (folder / name).write_text("".join(rows))
    assert not [remark for remark in check_folder(folder).remarks if "candidates" in remark.what]
    (folder / "qrels.base.txt").write_text("".join([*qrels, "q1 0 d199 1\n"]))
    assert [remark for remark in check_folder(folder).remarks if "candidates" in remark.what]


@given(st.lists(st.integers(-1, 3), max_size=30), st.integers(1, 20))
def test_a_random_order_scores_as_an_ideal_one_where_all_gain_the_same(labels, k):
    gains = [max(label, 0) for label in labels]
    score = random_order(labels, k)
    assert 0 <= score <= 1 + 1e-9
    assert (score == pytest.approx(1)) == (len(set(gains)) == 1 and gains[0] > 0)
    orders = [random.Random(seed).sample(gains, len(gains)) for seed in range(200)] if 0 < score < 1 else []
    found = [sum(gain / math.log2(rank + 1) for rank, gain in enumerate(order[:k], 1)) for order in orders]
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(sorted(gains, reverse=True)[:k], 1))
    if orders:
        assert sum(found) / len(found) / best == pytest.approx(score, abs=0.2)


def test_a_sound_folder_says_its_sizes_and_no_warnings(tmp_path):
    ended = check(good(tmp_path / "mine"), "--smallest", "1")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert (
        ended.stderr == "mine: 1 group, 3 modes, 1 core query, 2 queries, 3 documents, 9 judgments: no problems, no warnings\n"
    )


def test_no_folder_and_no_declaration_are_unreadable(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, what in (("empty", "empty has no benchmark.yaml"), ("nowhere", "no folder nowhere")):
        ended = tandem("benchmarks", "check", name, cwd=tmp_path)
        assert (ended.returncode, ended.stderr.splitlines()[0]) == (2, f"error: {what}")


def test_a_core_query_without_gold_document_is_a_warning(tmp_path):
    folder = good(tmp_path / "mine")
    (folder / "qrels.pos.txt").write_text("q1 0 d3 1\nq2 0 d2 1\n")
    expected = "mine/topics.jsonl, line 1: core query q1 has no gold document (relevant in base and instructed mode); label one"
    assert f"warning: {expected}" in warnings(folder)


def test_an_instruction_that_changes_no_label_is_a_warning(tmp_path):
    folder = good(tmp_path / "mine")
    (folder / "qrels.neg.txt").write_text("q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\n")
    line = "warning: mine/topics.jsonl, line 1: the instruction of query q1 in mode neg changes no label"
    assert any(each.startswith(line) for each in warnings(folder))


def test_gold_documents_that_are_longer_than_the_others_are_warnings(tmp_path):
    folder = good(tmp_path / "mine")
    docs = [{"id": f"d{n}", "text": "word " * (30 if n <= 6 else 5 + n % 3)} for n in range(1, 31)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    for mode in ("base", "pos", "neg"):
        (folder / f"qrels.{mode}.txt").write_text("".join(f"q1 0 d{n} 1\nq2 0 d{n} 1\n" for n in range(1, 7)))
    assert any(
        "gold documents are longer than the others (area under the curve of length 1.00)" in line for line in warnings(folder)
    )


def test_a_group_says_how_many_core_queries_the_smallest_difference_takes(tmp_path):
    folder = good(tmp_path / "mine")
    assert warnings(folder) == [
        "warning: mine: group all has 1 core query: a difference below 0.84 is hardly seen; 0.1 takes 71"
    ]
    assert smallest_difference(71) <= 0.1 < smallest_difference(70)


def test_queries_without_judgments_and_measures_without_their_mode_are_warnings(tmp_path):
    folder = good(tmp_path / "mine")
    (folder / "qrels.neg.txt").unlink()
    (folder / "benchmark.yaml").write_text("name: mine\nmodes: {base: base, pos: instructed}\nmeasures: [WISE@20]\n")
    (folder / "topics.jsonl").write_text('{"id": "q1", "query": "x", "instructions": {"pos": "y"}}\n' * 1)
    (folder / "qrels.base.txt").write_text("q1 0 d1 1\n")
    (folder / "qrels.pos.txt").write_text("# none\nq1 0 d2 1\n")
    assert any("benchmark.yaml, line 3: WISE@20 needs a reversed mode" in line for line in warnings(folder))


def test_a_folder_that_was_mended_is_read_again(tmp_path):
    folder = good(tmp_path / "mine")
    assert check_folder(folder).problems == []
    (folder / "topics.jsonl").write_text('{"id": "q1"}\n')
    assert len(check_folder(folder).problems) > 0


@pytest.mark.parametrize("form", ['{{"id": "{id}", "text": "a"}}\n', '{{"id": "{id}", "contents": "a"}}\n'])
def test_an_id_that_no_index_takes_is_a_problem_with_the_limit(tmp_path, form):
    folder = good(tmp_path / "mine")
    lines = (folder / "corpus.jsonl").read_text()
    (folder / "corpus.jsonl").write_text(lines + form.format(id="é" * 16_383))
    assert check_folder(folder).problems == []
    (folder / "corpus.jsonl").write_text(lines + form.format(id="é" * 16_384))
    [problem] = check_folder(folder).problems
    assert str(problem).partition("corpus.jsonl, ")[2].startswith("line 4: the id éééé")
    assert "has 32,768 bytes: an index takes 32,766" in problem.what
    assert len(problem.what) < 120


def test_core_queries_of_several_texts_are_one_warning(tmp_path):
    (tmp_path / "benchmark.yaml").write_text("name: mine\n")
    (tmp_path / "corpus.jsonl").write_text('{"id": "d1", "text": "x"}\n')
    rows = [("q1", "a", "c1"), ("q2", "b", "c1"), ("q3", "c", "c1"), ("q4", "d", "c2"), ("q5", "d", "c2")]

    def said():
        topics = ({"id": query_id, "query": text, "core": core} for query_id, text, core in rows)
        (tmp_path / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in topics))
        (tmp_path / "qrels.txt").write_text("".join(f"{query_id} 0 d1 1\n" for query_id, *_ in rows))
        return [line.partition("/")[2] for line in warnings(tmp_path) if "texts" in line]

    assert said() == ["topics.jsonl, line 2: core query c1 has 3 texts; is it one need?"]
    rows[4] = ("q5", "e", "c2")
    assert said() == ["topics.jsonl, line 2: 2 core queries have several texts (c1: 3); is it one need?"]
