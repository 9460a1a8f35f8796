"""Does the instruction matter: queries whose labels or whose score are the same without it are listed, and no others."""

import pytest
from planted_folders import a_run, planted

from toolkit.construction.checks.benchmark_check import LABELS, SCORE, Ignored, unchanged_labels, unchanged_scores
from toolkit.construction.checks.judged_texts import judged_texts
from toolkit.evaluation.scores.evaluation import prepare


def effects_of_run(folder, run):
    return list(unchanged_scores(prepare(str(run), str(folder), None, None, "tandem")))


def test_a_query_that_keeps_its_labels_is_listed(tmp_path):
    folder = planted(tmp_path / "mine", cores=4)
    qrels = folder / "qrels.pos.txt"
    qrels.write_text(qrels.read_text().replace("q2 0 d2-2 0", "q2 0 d2-2 1").replace("q2 0 d2-3 0", "q2 0 d2-3 1"))
    [group] = judged_texts(str(folder))
    effect = unchanged_labels(group)
    assert effect == ("all", LABELS, "", 4, (Ignored("all", "q2-pos", LABELS),))


def test_another_degree_is_another_label(tmp_path):
    folder = planted(tmp_path / "mine", cores=1)
    (folder / "qrels.base.txt").write_text("q0 0 d0-0 2\nq0 0 d0-1 1\n")
    (folder / "qrels.pos.txt").write_text("q0 0 d0-0 1\nq0 0 d0-1 1\n")
    [group] = judged_texts(str(folder))
    assert unchanged_labels(group).ignored == ()


@pytest.mark.parametrize(("name", "queries"), [("infosearch-mini-audience", 24), ("mfollowir-mini-fas", 8)])
def test_instructions_of_the_minis_matter(name, queries):
    [group] = judged_texts(name)
    effect = unchanged_labels(group)
    assert effect.ignored == ()
    assert effect.queries == len(group.instructed)
    assert effect.queries > queries / 2


def test_without_a_base_mode_instructions_of_a_core_query_are_compared(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "benchmark.yaml").write_text("name: mine\n")
    (folder / "corpus.jsonl").write_text("".join(f'{{"id": "d{n}", "text": "x"}}\n' for n in range(3)))
    rows = [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"), ("c1", "c")]
    line = '{{"id": "{}", "core": "{}", "query": "{}", "instruction": "i {}"}}\n'
    (folder / "topics.jsonl").write_text("".join(line.format(query, core, core, query) for query, core in rows))
    (folder / "qrels.txt").write_text("a1 0 d0 1\na2 0 d1 1\nb1 0 d2 1\nb2 0 d2 1\nc1 0 d0 1\n")
    [group] = judged_texts(str(folder))
    effect = unchanged_labels(group)
    # c has one instruction, with which nothing can be compared
    assert (effect.queries, [row.query_id for row in effect.ignored]) == (4, ["b1", "b2"])


def test_a_run_that_ranks_as_without_the_instruction_is_listed(tmp_path):
    folder = planted(tmp_path / "mine", cores=4)
    [effect] = effects_of_run(folder, a_run(folder, "bm25", cores=4))
    assert (effect.what, effect.run, effect.queries) == (SCORE, "bm25", 4)
    assert [row.query_id for row in effect.ignored] == [f"q{core}-pos" for core in range(4)]


def test_a_query_that_the_instruction_reorders_is_not(tmp_path):
    folder = planted(tmp_path / "mine", cores=4)
    run = a_run(folder, "bm25", cores=4)
    # gold documents of q1 fall behind the negatives: another score
    moved = {f"q1-pos Q0 d1-{n} {n + 1} {4 - n}": f"q1-pos Q0 d1-{n} {n + 1} {n}" for n in range(4)}
    text = run.read_text()
    for before, after in moved.items():
        text = text.replace(before, after)
    run.write_text(text)
    [effect] = effects_of_run(folder, run)
    assert [row.query_id for row in effect.ignored] == ["q0-pos", "q2-pos", "q3-pos"]


def test_another_order_with_the_same_score_is_listed(tmp_path):
    """Two gold documents that change places give the same nDCG: the label does not tell that the instruction was read."""
    folder = planted(tmp_path / "mine", cores=1)
    run = a_run(folder, "bm25", cores=1)
    text = run.read_text().replace("q0-pos Q0 d0-0 1 4", "q0-pos Q0 d0-0 2 2.5")
    run.write_text(text)
    [effect] = effects_of_run(folder, run)
    assert [row.query_id for row in effect.ignored] == ["q0-pos"]


def test_without_a_base_mode_no_ranking_can_be_compared(tmp_path):
    run = tmp_path / "run.trec"
    [group] = judged_texts("instructir-mini")
    query = group.instructed[0].query_id
    run.write_text(f"{query} Q0 passage-001 1 1 bm25\n")
    assert list(unchanged_scores(prepare(str(run), "instructir-mini", None, None, "tandem"))) == []
