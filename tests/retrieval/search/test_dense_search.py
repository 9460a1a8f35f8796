"""Dense retrieval from topics and an index to a run, with an encoder that can be worked out by hand."""

import shutil
from dataclasses import replace

import faiss
import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.topics import Topic
from toolkit.files.formats.indexes import system_facts
from toolkit.files.formats.vectors import VectorStore
from toolkit.models.vectors.faiss_index import FaissIndex
from toolkit.retrieval.index import build_dense_index
from toolkit.retrieval.search.neural_engine import search_dense

WORDS = ("red", "green", "apple", "pear")
DOCS = {"a": "red apple", "b": "green apple", "c": "green pear", "d": "red red pear", "e": "red apple"}
SPEC = SystemSpec(
    "words", "counts them", "dense", parameters={"similarity": "dot"}, templates={"query": "{instruction} {query}"}
)


class Counting:
    """A vector has the number of times each word comes; three words are the limit."""

    dimension, similarity, origin = 4, "dot", {"commits": {"org/words": "a" * 40}}

    def __init__(self):
        self.truncated, self.lost, self.asked = {"query": 5, "passage": 0}, 2, []

    def encode(self, inputs, side):
        texts = [each.whole.split() for each in inputs]
        if side == "query":
            self.asked.append([" ".join(text) for text in texts])
            self.truncated["query"] += sum(len(text) > 3 for text in texts)
            self.lost += sum(len(text) > 5 for text in texts)
        return np.array([[text.count(word) for word in WORDS] for text in texts], np.float32).reshape(-1, 4)


def build(folder, docs, **facts):
    vectors = np.array([[text.split().count(word) for word in WORDS] for text in docs.values()], np.float32)
    store = VectorStore(folder / "vectors", {**system_facts(SPEC), "side": "passage", "precision": "fp32", "dimension": 4})
    store.add(list(docs), vectors, "0" * 64)
    store.finish({"corpus": {"name": "fruit"}, **facts})
    build_dense_index(folder / "vectors", folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build(tmp_path_factory.mktemp("fruit"), DOCS)


def run_of(topics, index, **options):
    return search_dense(topics, index, SPEC, Counting(), **options)


def test_documents_come_by_inner_product_and_ties_by_id_descending(index):
    run = run_of([Topic("q1", "red apple"), Topic("q2", "pear")], index)
    assert run.tag == "words"
    assert [(query, list(docs.items())) for query, docs in run.to_dict().items()] == [
        ("q1", [("e", 2.0), ("d", 2.0), ("a", 2.0), ("b", 1.0), ("c", 0.0)]),
        ("q2", [("d", 1.0), ("c", 1.0), ("e", 0.0), ("b", 0.0), ("a", 0.0)]),
    ]


def test_a_tie_at_the_cut_off_keeps_the_last_ids(index):
    run = run_of([Topic("q1", "red apple")], index, hits=2, tag="mine")
    assert run.to_dict() == {"q1": {"e": 2.0, "d": 2.0}}
    assert run.tag == "mine"


def test_the_instruction_goes_where_the_template_has_it(index):
    topic = Topic("q1", "pear red green", query="pear", instruction="red green")
    assert run_of([topic], index, hits=1).to_dict() == {"q1": {"d": 3.0}}


def test_equal_inputs_are_encoded_and_searched_once_and_stay_apart_in_the_run(index):
    encoder = Counting()
    topics = [Topic("q1", "pear"), Topic("q2", "red"), Topic("q3", "pear")]
    run = search_dense(topics, index, SPEC, encoder, hits=2)
    assert encoder.asked == [["pear", "red"]]
    assert run.query_ids == ("q1", "q2", "q3")
    assert run.to_dict()["q3"] == run.to_dict()["q1"] == {"d": 1.0, "c": 1.0}


def test_cut_and_lost_queries_of_this_search_are_said(index, capsys):
    run_of([Topic("q1", "red " * 6), Topic("q2", "red " * 4), Topic("q3", "red")], index)
    assert capsys.readouterr().err.splitlines() == [
        "note: 2 of 3 different queries are longer than the model's limit and were truncated",
        "note: 1 of 3 different queries have a core query that is fully truncated",
    ]
    run_of([Topic("q1", "red")], index)
    assert capsys.readouterr().err == ""


def test_passages_of_one_document_count_with_the_best(tmp_path, capsys):
    index = build(tmp_path, {"a#0": "red apple", "a#1": "green", "b#0": "red"})
    (index / "docid").write_text("a\na\nb\n")
    run = run_of([Topic("q1", "red apple"), Topic("q2", "green")], index)
    assert run.to_dict() == {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 0.0}}
    assert "has several passages of some documents; the best one of each counts" in capsys.readouterr().err


def test_a_query_that_finds_nothing_has_no_lines_and_is_said(index, capsys, monkeypatch):
    class Approximate(FaissIndex):
        """Finds only what shares a word with the query, as an index that looks into few lists may."""

        def search(self, queries, hits, threads=1):
            scores, positions = super().search(queries, hits, threads)
            return scores, np.where(scores > 0, positions, -1)

    monkeypatch.setattr("toolkit.models.vectors.faiss_index.FaissIndex", Approximate)
    run = run_of([Topic("q1", "plum"), Topic("q2", "pear")], index)
    assert run.to_dict() == {"q2": {"d": 1.0, "c": 1.0}}
    assert run.query_ids == ("q2",)
    assert (
        capsys.readouterr().err == f"note: nothing was found in {index} for 1 of 2 topics (q1); they have no lines in the run\n"
    )


@pytest.mark.parametrize(
    ("topics", "options", "message"),
    [
        ([], {}, "there are no topics to search for"),
        ([Topic("q1", "red"), Topic("q1", "pear")], {}, "query id 'q1' comes twice"),
        ([Topic("q1", "red")], {"hits": 0}, "hits is 0"),
        ([Topic("q1", "red")], {"threads": 0}, "threads is 0"),
    ],
)
def test_topics_and_numbers_without_meaning_are_refused(index, topics, options, message):
    with pytest.raises(ToolkitError, match=message):
        run_of(topics, index, **options)


def test_another_system_is_refused_before_anything_is_encoded(index):
    encoder = Counting()
    with pytest.raises(ToolkitError, match="was made with system words, not sentences"):
        search_dense([Topic("q1", "red")], index, replace(SPEC, name="sentences"), encoder)
    assert encoder.asked == []


def test_another_commit_of_the_same_checkpoint_is_refused(tmp_path):
    index = build(tmp_path, DOCS, commits={"org/words": "b" * 40})
    with pytest.raises(ToolkitError, match=f"was made with org/words at {'b' * 12}, not {'a' * 12}"):
        run_of([Topic("q1", "red")], index)


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(ToolkitError, match="holds no FAISS index"):
        run_of([Topic("q1", "red")], tmp_path)


def test_an_index_made_elsewhere_is_held_against_the_dimension(index, tmp_path):
    copy = shutil.copytree(index, tmp_path / "copy")
    (copy / "tandem.yaml").unlink()
    assert run_of([Topic("q1", "pear")], copy, hits=1).to_dict() == {"q1": {"d": 1.0}}
    (tmp_path / "wide").mkdir()
    faiss.write_index(faiss.IndexFlatIP(6), str(tmp_path / "wide" / "index"))
    (tmp_path / "wide" / "docid").touch()
    with pytest.raises(ToolkitError, match="has vectors of dimension 6, the queries have 4"):
        run_of([Topic("q1", "pear")], tmp_path / "wide")


def test_candidates_have_the_scores_and_the_order_of_the_whole_search(index, capsys):
    topics = [Topic("q1", "red apple"), Topic("q2", "pear"), Topic("q3", "red apple")]
    candidates = {"q1": ["a", "c", "e"], "q2": ["b"], "q3": ["d", "nowhere", "d"]}
    run = run_of(topics, index, candidates=candidates)
    assert [(query, list(docs.items())) for query, docs in run.to_dict().items()] == [
        ("q1", [("e", 2.0), ("a", 2.0), ("c", 0.0)]),
        ("q2", [("b", 0.0)]),
        ("q3", [("d", 2.0)]),
    ]
    assert capsys.readouterr().err == f"note: {index} lacks 1 of 7 candidates\n"
    assert run_of(topics, index, candidates=candidates, hits=1).to_dict() == {
        query: dict(list(docs.items())[:1]) for query, docs in run.to_dict().items()
    }


def test_scores_of_candidates_are_those_of_the_whole_search_to_the_last_bit(tmp_path):
    generator = np.random.default_rng(5)
    vectors, queries = generator.standard_normal((400, 48), np.float32), generator.standard_normal((7, 48), np.float32)
    flat = faiss.IndexFlatIP(48)
    flat.add(vectors)
    faiss.write_index(flat, str(tmp_path / "index"))
    (tmp_path / "docid").write_text("".join(f"d{number}\n" for number in range(400)))
    opened = FaissIndex.open(tmp_path)
    scores, positions = opened.search(queries, 400)
    wanted = [generator.choice(400, size, replace=False) for size in (1, 50, 400, 0, 7, 8, 9)]
    found, places = opened.score(queries, wanted)
    for row, its in enumerate(wanted):
        own = np.isin(positions[row], its)
        assert places[row, : len(its)].tolist() == positions[row, own].tolist()
        assert found[row, : len(its)].tolist() == scores[row, own].tolist()
        assert (places[row, len(its) :] == -1).all()


def test_an_index_that_is_not_flat_cannot_score_single_documents(tmp_path):
    build(tmp_path, DOCS)
    approximate = faiss.index_factory(4, "HNSW8", faiss.METRIC_INNER_PRODUCT)
    approximate.add(np.eye(4, dtype=np.float32))
    (tmp_path / "docid").write_text("a\nb\nc\nd\n")
    faiss.write_index(approximate, str(tmp_path / "index.faiss"))
    with pytest.raises(ToolkitError, match="is not flat: single documents cannot be scored exactly"):
        FaissIndex.open(tmp_path).score(np.ones((1, 4), np.float32), [np.array([0])])
