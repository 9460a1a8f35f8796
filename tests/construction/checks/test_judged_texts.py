"""A benchmark as its checks see it: gold documents, instruction negatives, unrelated documents, and their core queries."""

from planted_folders import planted

from toolkit.construction.checks.judged_texts import MOST, Item, judged_texts, sampled


def test_gold_is_relevant_with_and_without_the_instruction(tmp_path):
    folder = planted(tmp_path / "mine", cores=2)
    with (folder / "qrels.pos.txt").open("a") as out:
        out.write("q0 0 d1-0 1\n")  # relevant with the instruction alone: neither gold of q0 nor a negative
    [group] = judged_texts(str(folder))
    assert group.gold == {"d0-0": "q0", "d0-1": "q0", "d1-0": "q1", "d1-1": "q1"}
    assert set(group.against_negatives()) == {
        Item(f"d{core}-{number}", f"q{core}", "", number < 2) for core in range(2) for number in range(4)
    }


def test_documents_of_no_query_are_unrelated_and_each_its_own_cluster(tmp_path):
    folder = planted(tmp_path / "mine", cores=2, unrelated=3)
    with (folder / "qrels.base.txt").open("a") as out:
        out.write("q1 0 u1 0\n")  # judged for a core query, and so of it
    [group] = judged_texts(str(folder))
    others = {item.doc_id: item.core for item in group.against_unrelated() if not item.positive}
    assert others == {"u0": "\tu0", "u1": "q1", "u2": "\tu2"}


def test_judged_documents_that_are_not_in_the_corpus_are_passed_over(tmp_path):
    folder = planted(tmp_path / "mine", cores=2)
    path = folder / "corpus.jsonl"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"d0-0"' not in line))
    [group] = judged_texts(str(folder))
    assert "d0-0" not in {item.doc_id for item in group.against_negatives()}
    assert len(group.against_negatives()) == 7


def test_of_many_documents_so_many_are_compared_whatever_their_order():
    names = [f"d{number}" for number in range(MOST + 100)]
    chosen = sampled(names, MOST, key=str)
    assert len(chosen) == MOST
    assert sampled(names[::-1], MOST, key=str) == chosen
    assert sampled(names[:5], MOST, key=str) == names[:5]


def test_groups_that_share_documents_read_them_once(tmp_path):
    groups = list(judged_texts(str(planted(tmp_path / "mine", groups=3))))
    assert groups[0].docs is groups[2].docs
