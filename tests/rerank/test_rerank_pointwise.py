"""What reranking does with a model's scores: order, tail, ties, what is scored once, what is kept, what is refused."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
import tiny
from toolkit.rerank.kept import KeptScores, identity, place_beside

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.rerank import rerank
from toolkit.rerank.candidates import count_tied
from toolkit.rerank.pointwise import Part, below, rerank_parts

pytestmark = pytest.mark.unit

TEXTS = {
    name: Doc(name, "", text) for name, text in {"a": "one", "b": "two two", "c": "three", "d": "four", "e": "five"}.items()
}
TOPICS = [Topic("q1", "red", query="red"), Topic("q2", "blue", query="blue")]
RUN = Run.from_dict({"q1": {"a": 9, "b": 8, "c": 7, "d": 6, "e": 5}, "q2": {"e": 2, "a": 1}}, source="first")


class Told:
    """A reranker that gives documents the scores it is told, in batches of two, and counts what it was asked."""

    cut = 0

    def __init__(self, scores, batch=2, fails_after=None):
        self.spec = tiny.tiny_spec("", "cross-encoder", name="told", templates={"query": "{query}!"})
        self.facts = {"precision": "fp16"}
        self.asked, self.batch, self.fails_after = [], batch, fails_after
        self.scores = {TEXTS[name].text: score for name, score in scores.items()}

    def batches(self, pairs, done=()):
        for start in range(0, len(pairs), self.batch):
            positions = list(range(start, min(start + self.batch, len(pairs))))
            if not set(positions) <= set(done):
                if self.fails_after == len(self.asked):
                    raise RuntimeError("killed")
                self.asked += [(pairs[place][0].whole, pairs[place][1].whole) for place in positions]
                yield positions, np.array([self.scores[pairs[place][1].whole] for place in positions])


SCORES = {"a": 0.5, "b": 2.5, "c": 1.5, "d": -1.0, "e": 0.25}


def test_the_best_documents_come_in_the_order_of_the_models_scores():
    run = rerank(RUN, TOPICS, TEXTS, Told(SCORES), depth=5)
    assert run.to_dict() == {"q1": {"b": 2.5, "c": 1.5, "a": 0.5, "e": 0.25, "d": -1.0}, "q2": {"a": 0.5, "e": 0.25}}
    assert [doc.doc_id for doc in next(run.rankings())[1]] == ["b", "c", "a", "e", "d"]
    assert run.tag == "told"


def test_what_is_below_the_depth_keeps_its_order_behind():
    run = rerank(RUN, TOPICS, TEXTS, Told(SCORES), depth=2)
    assert run.to_dict()["q1"] == {"b": 2.5, "a": 0.5, "c": -0.5, "d": -1.5, "e": -2.5}


def test_the_tail_is_left_out_where_that_is_asked_for():
    assert rerank(RUN, TOPICS, TEXTS, Told(SCORES), depth=2, tail="drop").to_dict()["q1"] == {"b": 2.5, "a": 0.5}


def test_ranks_for_scores():
    run = rerank(RUN, TOPICS, TEXTS, Told(SCORES), depth=2, scores="rank")
    assert run.to_dict()["q1"] == {"b": 1, "a": 1 / 2, "c": 1 / 3, "d": 1 / 4, "e": 1 / 5}


def test_the_candidates_scores_go_by_the_new_ranks():
    run = rerank(RUN, TOPICS, TEXTS, Told(SCORES), depth=2, scores="candidates")
    assert run.to_dict()["q1"] == {"b": 9, "a": 8, "c": 7, "d": 6, "e": 5}


def test_equal_scores_come_by_document_id_descending_whatever_scores_are_written():
    tied = Told({**SCORES, "a": 1.0, "b": 1.0 + 1e-9, "c": 1.0})  # one 32-bit float
    for scores in ("own", "rank", "candidates"):
        ranking = next(rerank(RUN, TOPICS, TEXTS, tied, depth=3, scores=scores).rankings())[1]
        assert [doc.doc_id for doc in ranking] == ["c", "b", "a", "d", "e"]


def test_the_candidates_scores_are_taken_as_they_are_and_their_ties_counted():
    run = Run.from_dict({"q1": {"a": 3.0, "b": 2.0, "c": 2.0 + 1e-9, "d": 1.0, "e": 1.0}, "q2": {"a": 1.0, "b": 0.5}})
    done = rerank(run, TOPICS, TEXTS, Told(SCORES), scores="candidates")
    # the model's order is b c a e d; the run has 3, 2 + 1e-9, 2, 1, 1 (its c comes before its b, as 32-bit floats tie)
    assert done.to_dict()["q1"] == {"b": 3.0, "c": 2.0 + 1e-9, "a": 2.0, "e": 1.0, "d": 1.0}
    assert [count_tied(done, depth) for depth in (2, 3, 5)] == [0, 1, 2]


@pytest.mark.parametrize("lowest", [0.0, -3.25, 1e-30, -2.0e7, 4.0e9])
def test_tail_scores_are_strictly_below_as_32_bit_floats(lowest):
    scores = np.array([lowest, *below(lowest, 900)], np.float32)
    assert (np.diff(scores) < 0).all()


def test_pairs_of_equal_texts_are_scored_once():
    modes = [Topic("q1-ori", "red", query="red", mode="ori"), Topic("q2-ori", "red", query="red", mode="ori")]
    same = {**TEXTS, "e": Doc("e", "", "one")}  # the text of a
    run = Run.from_dict({"q1-ori": {"a": 2, "b": 1}, "q2-ori": {"a": 1, "e": 3}})
    model = Told({"a": 0.5, "b": 2.5})
    done = rerank(run, modes, same, model)
    assert model.asked == [("red!", "one"), ("red!", "two two")]
    assert done.to_dict() == {"q1-ori": {"b": 2.5, "a": 0.5}, "q2-ori": {"e": 0.5, "a": 0.5}}


def test_pairs_of_equal_texts_in_several_parts_are_scored_once_under_their_own_ids():
    """Dimensions of a benchmark share queries, and ids stand for other documents in each."""
    parts = [
        Part(Run.from_dict({"q1": {"a": 2, "b": 1}}, source="s"), TOPICS, TEXTS, "here"),
        Part(Run.from_dict({"q2": {"a": 2, "x": 1}}), [Topic("q2", "red")], {"a": TEXTS["c"], "x": TEXTS["a"]}, "there"),
    ]
    model = Told(SCORES)
    runs = rerank_parts(parts, model, depth=5, tail="keep", scores="own")
    assert model.asked == [("red!", "one"), ("red!", "two two"), ("red!", "three")]
    assert [run.to_dict() for run in runs] == [{"q1": {"b": 2.5, "a": 0.5}}, {"q2": {"a": 1.5, "x": 0.5}}]
    with pytest.raises(ToolkitError, match=r"no text for 1 of 2 documents \(x\) in there"):
        rerank_parts([parts[0], parts[1]._replace(texts=TEXTS)], model, depth=5, tail="keep", scores="own")


def test_the_order_of_lines_in_the_run_changes_nothing():
    rows = list(zip(RUN.to_frame()["query_id"], RUN.to_frame()["doc_id"], RUN.scores, strict=True))
    turned = Run.from_rows(rows[::-1])
    first, second = (rerank(run, TOPICS, TEXTS, Told(SCORES), depth=2).to_dict() for run in (RUN, turned))
    assert first == second


def test_an_interrupted_reranking_goes_on_where_it_was(tmp_path):
    whole = rerank(RUN, TOPICS, TEXTS, Told(SCORES))
    store = KeptScores(tmp_path / "kept", "model")
    with pytest.raises(RuntimeError):
        rerank(RUN, TOPICS, TEXTS, Told(SCORES, fails_after=4), kept=store)
    store.close()
    again = Told(SCORES)
    resumed = rerank(RUN, TOPICS, TEXTS, again, kept=KeptScores(tmp_path / "kept", "model"))
    assert again.asked == [("red!", "five"), ("blue!", "five"), ("blue!", "one")]  # four of seven pairs were kept
    assert resumed.to_dict() == whole.to_dict()


def test_scores_of_another_model_are_not_taken(tmp_path, capsys):
    KeptScores(tmp_path / "kept", "one").add([b"pair"], np.array([1.0]))
    assert KeptScores(tmp_path / "kept", "one").known([b"other", b"pair"]) == {1: 1.0}
    assert KeptScores(tmp_path / "kept", "another").known([b"pair"]) == {}
    assert capsys.readouterr().err == f"note: the scores kept in {tmp_path}/kept were made otherwise; they are made anew\n"


def test_a_place_where_no_scores_can_be_kept_is_refused(tmp_path):
    (tmp_path / "text").write_text("something else, and long enough to be looked at" * 3)
    (tmp_path / "folder").mkdir()
    for name in ("text", "folder"):
        with pytest.raises(ToolkitError, match="the scores kept there cannot be opened"):
            KeptScores(tmp_path / name, "one")
        assert (tmp_path / name).exists()


def test_scores_that_cannot_be_written_are_a_failure_in_one_line(tmp_path):
    store = KeptScores(tmp_path / "kept", "one")
    with sqlite3.connect(tmp_path / "kept") as other:
        other.execute("drop table scores")
    with pytest.raises(ToolkitError, match="the scores kept there cannot be written") as caught:
        store.add([b"pair"], np.array([1.0]))
    assert caught.value.status == 1


@pytest.mark.parametrize("change", ["weights", "precision", "prompt", "length", "template"])
def test_whatever_else_makes_a_score_is_part_of_its_makers_identity(tmp_path, change):
    """A file of the checkpoint (in a folder of its own too), how it is run, what is sent."""
    (tmp_path / "2_Dense").mkdir()
    (tmp_path / "2_Dense" / "model.safetensors").write_bytes(b"one")

    def its(**changed):
        model = Told(SCORES)
        model.facts = {name: changed.get(name, "x") for name in ("precision", "prompt", "length")}
        model.spec = tiny.tiny_spec(tmp_path, "cross-encoder", templates={"query": changed.get("template", "{query}")})
        return identity(model)

    before = its()
    assert its() == before
    if change == "weights":
        (tmp_path / "2_Dense" / "model.safetensors").write_bytes(b"three")
        assert its() != before
    else:
        assert its(**{change: "other"}) != before


def test_scores_are_kept_beside_files_alone(tmp_path):
    assert place_beside(tmp_path / "a.trec") == tmp_path / ".a.trec.scores"
    assert [place_beside(place) for place in (None, Path("-"), Path("/dev/null"))] == [None] * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"tail": "cut"}, "tail is 'cut'"),
        ({"scores": "mine"}, "scores is 'mine'"),
        ({"topics": TOPICS[:1]}, r"first: 1 of 2 queries are not among the topics \(q2\)"),
        ({"topics": [*TOPICS, Topic("q2", "green")]}, "query id 'q2' comes twice in the topics"),
        (
            {"texts": {"a": TEXTS["a"]}, "place": "c.jsonl"},
            r"no text for 4 of 5 documents \(b, c, d, \.\.\. \(4 in all\)\) in c.jsonl",
        ),
        ({"run": Run.from_rows([("q1", "a", 2.0), ("q1", "a", 1.0)])}, "query q1 has document a more than once"),
    ],
)
def test_what_is_missing_or_without_meaning_is_refused_before_the_model_is_asked(change, message):
    model = Told(SCORES)
    given = {"run": RUN, "topics": TOPICS, "texts": TEXTS, **change}
    with pytest.raises(ToolkitError, match=message):
        rerank(given.pop("run"), given.pop("topics"), given.pop("texts"), model, **given)
    assert model.asked == []


def test_a_score_that_is_no_number_is_a_failure():
    with pytest.raises(ToolkitError, match=r"told gave a pair no finite score, in fp16 \(query: 'red!'\)") as caught:
        rerank(RUN, TOPICS, TEXTS, Told({**SCORES, "c": float("nan")}))
    assert caught.value.status == 1
