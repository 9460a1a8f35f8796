"""What reranking does with a model's scores: order, tail, ties, what is scored once, what is cached, what is refused."""

import numpy as np
import pytest
import tiny

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets import TopicPart, TopicSet
from toolkit.files.store.keyed_cache import KeyedCache, key_of
from toolkit.retrieval.rerank import Rerank, rerank
from toolkit.retrieval.rerank.candidates import Part, count_tied
from toolkit.retrieval.rerank.pointwise import below, rerank_parts
from toolkit.retrieval.steps import Made, Results, Tools

TEXTS = {
    name: Doc(name, "", text) for name, text in {"a": "one", "b": "two two", "c": "three", "d": "four", "e": "five"}.items()
}
TOPICS = [Topic("q1", "red", query="red"), Topic("q2", "blue", query="blue")]
RUN = Run.from_dict({"q1": {"a": 9, "b": 8, "c": 7, "d": 6, "e": 5}, "q2": {"e": 2, "a": 1}}, source="first")


class Told:
    """A reranker that gives documents the scores it is told, in batches of two, and counts what it was asked."""

    truncated = 0

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


def test_an_interrupted_reranking_resumes_with_the_scores_cached(tmp_path, capsys):
    whole = rerank(RUN, TOPICS, TEXTS, Told(SCORES))
    with pytest.raises(RuntimeError):
        rerank(RUN, TOPICS, TEXTS, Told(SCORES, fails_after=4), cache=KeyedCache(tmp_path / "partial", "scores", "model"))
    again = Told(SCORES)
    resumed = rerank(RUN, TOPICS, TEXTS, again, cache=KeyedCache(tmp_path / "partial", "scores", "model"))
    assert again.asked == [("red!", "five"), ("blue!", "five"), ("blue!", "one")]  # four of seven pairs were cached
    assert resumed.to_dict() == whole.to_dict()
    assert "resuming: 4 of 7 scores are cached" in capsys.readouterr().err


@pytest.mark.parametrize("blob", [b"", b"123", np.float64(np.nan).tobytes(), np.zeros(2).tobytes()])
def test_scores_that_are_damaged_are_not_taken(tmp_path, blob):
    class Cache(KeyedCache):
        def put(self, entries):
            super().put(dict.fromkeys(entries, blob))

    with pytest.raises(RuntimeError):
        rerank(RUN, TOPICS, TEXTS, Told(SCORES, fails_after=4), cache=Cache(tmp_path / "partial", "scores", "model"))
    with pytest.raises(ToolkitError, match=r"partial: the cache is damaged \(an entry of \d+ bytes is none of the scores"):
        rerank(RUN, TOPICS, TEXTS, Told(SCORES), cache=KeyedCache(tmp_path / "partial", "scores", "model"))


def test_scores_of_another_model_are_not_taken(tmp_path):
    """Nor are those of the same one asked otherwise: see what the identity of a step's scores is."""
    whole = rerank(RUN, TOPICS, TEXTS, Told(SCORES), cache=KeyedCache(tmp_path / "partial", "scores", "one"))
    other = Told(dict.fromkeys(SCORES, 1.0))
    done = rerank(RUN, TOPICS, TEXTS, other, cache=KeyedCache(tmp_path / "partial", "scores", "another"))
    assert len(other.asked) == 7
    assert set(done.scores.tolist()) == {1.0} != set(whole.scores.tolist())


@pytest.mark.parametrize("change", ["weights", "precision", "prompt", "length", "template", "base", "commits"])
def test_whatever_else_makes_a_score_is_part_of_its_makers_identity(tmp_path, monkeypatch, change):
    """A file of the checkpoint (in a folder of its own too) or of its base, how it is run, what is sent."""
    for name in ("checkpoint", "base"):
        (tmp_path / name / "2_Dense").mkdir(parents=True)
        (tmp_path / name / "2_Dense" / "model.safetensors").write_bytes(b"one")

    def its(**changed):
        """The identity that a step names when it asks for its cache."""
        model, asked = Told(SCORES), []
        model.facts = {name: changed.get(name, "x") for name in ("precision", "prompt", "length", "commits")}
        template = {"query": changed.get("template", "{query}")}
        spec = tiny.tiny_spec(tmp_path / "checkpoint", "cross-encoder", templates=template, base=str(tmp_path / "base"))
        monkeypatch.setattr("toolkit.retrieval.rerank.rerank_step.load_reranker", lambda *given, **how: model)

        def remember(identity):
            asked.append(identity)
            return KeyedCache(tmp_path / "partial", "scores", identity)

        monkeypatch.setattr(Rerank, "_parts", lambda *given: [Part(RUN, TOPICS, TEXTS, "here")])
        topics = TopicSet("made-up", [TopicPart("all", TOPICS)], None)
        Rerank(spec).apply(Results(topics, topics, runs=(Made(RUN),)), Tools(remember))
        return asked

    before = its()
    assert len(before) == 1
    assert its() == before
    if change in ("weights", "base"):
        (tmp_path / {"weights": "checkpoint"}.get(change, change) / "2_Dense" / "model.safetensors").write_bytes(b"two")
        assert its() != before
    else:
        assert its(**{change: "{query}, other"}) != before


def test_a_pairs_key_tells_query_from_document():
    assert key_of((("", "ab"), ("", "c"))) != key_of((("", "a"), ("", "bc"))) != key_of((("a", ""), ("", "bc")))


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
