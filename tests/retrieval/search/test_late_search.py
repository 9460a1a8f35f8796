"""Late interaction from documents to a run."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from tiny import TEXTS, tiny_colbert, tiny_spec

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input, doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.files.formats.indexes import verify_files
from toolkit.files.texts.documents import corpus_from_docs
from toolkit.models.encoders import load_encoder
from toolkit.models.vectors.late import maxsim
from toolkit.retrieval.index.encoded_index import build_late_index
from toolkit.retrieval.search.neural_engine import search_late

pytestmark = pytest.mark.model

TITLES = ["", "cat", "", "", "dog"]
DOCS = [Doc(f"d{number}", TITLES[number], text) for number, text in enumerate(TEXTS)]
TOPICS = [
    Topic("q1", "a cat in the house"),
    Topic("q2", "long river", query="long river", instruction="find a short passage"),
    Topic("q3", "a cat in the house"),
]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tiny_colbert(tmp_path_factory.mktemp("checkpoint") / "tiny")
    return tiny_spec(folder, "multivector", templates={"query": "{instruction} {query}", "plain": "{query}"})


@pytest.fixture(scope="module")
def encoder(spec):
    return load_encoder(spec, device="cpu")


@pytest.fixture(scope="module")
def index(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "index"
    counts = build_late_index(corpus_from_docs("small", [*DOCS, Doc("none", "", " ")]), encoder, folder, command="made by hand")
    assert (counts.documents, counts.empty) == (5, 1)
    return folder


def expected(spec, encoder, topic):
    query = encoder.encode([topic_input(spec.templates, topic)], "query")[0]
    scores = maxsim(query, encoder.encode([doc_input(spec.templates, doc) for doc in DOCS], "passage"))
    return {doc.doc_id: float(score) for doc, score in zip(DOCS, scores, strict=True)}


def test_a_run_has_the_scores_of_the_vectors(spec, encoder, index):
    run = search_late(TOPICS, index, spec, encoder)
    assert run.tag == "tiny"
    assert run.query_ids == ("q1", "q2", "q3")
    assert run.to_dict() == {topic.query_id: expected(spec, encoder, topic) for topic in TOPICS}


def test_the_best_come_first_and_only_so_many(spec, encoder, index):
    run = search_late(TOPICS, index, spec, encoder, hits=2, threads=2, tag="mine")
    whole = search_late(TOPICS, index, spec, encoder)
    assert run.tag == "mine"
    assert dict(run.rankings()) == {query_id: ranking[:2] for query_id, ranking in whole.rankings()}


def test_passages_that_the_limit_cuts_are_said(encoder, tmp_path, capsys):
    build_late_index(corpus_from_docs("small", DOCS), encoder, tmp_path / "index")
    note = "note: 2 of 5 passages are longer than the model's limit and were truncated"
    assert note in capsys.readouterr().err.splitlines()


def test_the_record_says_what_the_index_was_made_of(spec, index):
    record = yaml.safe_load((index / "tandem.yaml").read_text(encoding="utf-8"))
    assert (record["kind"], record["system"], record["documents"], record["empty"]) == ("multivector", "tiny", 5, 1)
    assert record["corpus"]["name"] == "small"
    assert record["implementation"]["command"] == "made by hand"
    assert record["cut"] == 2  # documents of more than 17 tokens
    assert (record["dimension"], record["centroids"]) == (16, 0)
    assert record["vectors"] == np.load(index / "offsets.npy")[-1]
    assert verify_files(index, record) == []


def test_a_run_over_centroids_scores_the_same(spec, encoder, tmp_path):
    build_late_index(corpus_from_docs("small", DOCS), encoder, tmp_path / "index", centroids=8)
    exact = search_late(TOPICS, tmp_path / "index", spec, encoder, probes=0)
    assert search_late(TOPICS, tmp_path / "index", spec, encoder).to_dict() == exact.to_dict()  # eight cells: all of them
    few = search_late(TOPICS, tmp_path / "index", spec, encoder, probes=1).to_dict()
    assert all(exact.to_dict()[query_id][doc_id] == score for query_id in few for doc_id, score in few[query_id].items())


def test_longer_queries_search_the_same_index(spec, index):
    longer = replace(spec, parameters={"query_length": 40}, recipe="instructed")
    wide = load_encoder(longer, device="cpu")
    run = search_late(TOPICS, index, longer, wide)
    assert wide.limits["query"] == 40
    assert run.to_dict() == {topic.query_id: pytest.approx(expected(longer, wide, topic), abs=1e-2) for topic in TOPICS}


def test_another_system_is_refused(spec, encoder, index):
    other = tiny_spec(spec.checkpoint, "multivector", name="other")
    with pytest.raises(ToolkitError, match="was made with system tiny, not other"):
        search_late(TOPICS, index, other, encoder)


def test_a_folder_without_an_index_is_an_error(spec, encoder, tmp_path):
    with pytest.raises(ToolkitError, match="is no index of token vectors"):
        search_late(TOPICS, tmp_path, spec, encoder)


def test_what_stops_leaves_nothing(spec, encoder, tmp_path):
    class Interrupted:
        def __init__(self):
            self.spec, self.truncated, self.origin, self.precision = spec, {"passage": 0}, {}, "fp32"

        def encode(self, inputs, side):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_late_index(corpus_from_docs("small", DOCS), Interrupted(), tmp_path / "index")
    with pytest.raises(ToolkitError, match="id 'd0' comes a second time"):
        build_late_index(corpus_from_docs("small", [*DOCS, DOCS[0]]), encoder, tmp_path / "index")
    with pytest.raises(ToolkitError, match="small has no documents to index"):
        build_late_index(corpus_from_docs("small", []), encoder, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_build_encodes_nothing_twice(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.retrieval.index.encoded_index.SHARD", 2)
    encode, calls = encoder.encode, []

    def interrupted(inputs, side):
        calls.append(len(inputs))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(inputs, side)

    monkeypatch.setattr(encoder, "encode", interrupted)
    for name in ("part", "part", "whole"):
        if len(calls) == 0:
            with pytest.raises(KeyboardInterrupt):
                build_late_index(corpus_from_docs("small", DOCS), encoder, tmp_path / name)
            assert not (tmp_path / name).exists()
        else:
            build_late_index(corpus_from_docs("small", DOCS), encoder, tmp_path / name)
    units = -(-len(DOCS) // 2)
    assert len(calls) == 3 + (units - 2) + units
    for name in ("docid", "vectors.f16", "offsets.npy"):
        assert (tmp_path / "part" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part", "whole"]


def test_another_folder_is_not_replaced(encoder, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(ToolkitError, match="exists and is no index"):
        build_late_index(corpus_from_docs("small", DOCS), encoder, tmp_path / "mine")


def test_candidates_are_scored_as_in_the_index(spec, encoder, index):
    run = search_late(TOPICS, index, spec, encoder).to_dict()
    query = encoder.encode([Input("", "a cat in the house")], "query")[0]
    [vectors] = encoder.encode([doc_input(spec.templates, DOCS[3])], "passage")
    # another batch: the last bits of a vector may differ
    assert maxsim(query, [vectors]).tolist() == [pytest.approx(run["q1"]["d3"], abs=1e-3)]


def test_queries_that_the_limit_cuts_are_said(spec, encoder, index, capsys):
    long = "find the long document of the river and the house"
    topics = [Topic("q1", f"{long} cat", "cat", long), Topic("q2", "cat"), Topic("q3", "dog " * 30)]
    search_late(topics, index, spec, encoder)
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "note: 2 of 3 different queries are longer than the model's limit and were truncated",
        "note: 1 of 3 different queries have a core query that is fully truncated",
    ]


@pytest.mark.parametrize("options", [{"hits": 0}, {"threads": 0}])
def test_a_search_for_nothing_is_refused(spec, encoder, index, options):
    with pytest.raises(ToolkitError, match="is 0"):
        search_late(TOPICS, index, spec, encoder, **options)


def test_no_topics_and_two_of_one_id_are_refused(spec, encoder, index):
    with pytest.raises(ToolkitError, match="there are no topics"):
        search_late([], index, spec, encoder)
    with pytest.raises(ToolkitError, match="query id 'q1' comes twice"):
        search_late([TOPICS[0], TOPICS[0]], index, spec, encoder)


def test_candidates_have_the_scores_and_the_order_of_the_whole_search(spec, encoder, index, capsys):
    candidates = {"q1": ["d3", "d1"], "q2": ["d0", "d2", "d4", "nowhere"], "q3": ["d2"]}
    run = search_late(TOPICS, index, spec, encoder, candidates=candidates)
    whole = search_late(TOPICS, index, spec, encoder)
    assert dict(run.rankings()) == {
        query: [doc for doc in ranking if doc.doc_id in candidates[query]] for query, ranking in whole.rankings()
    }
    assert f"note: {index} lacks 1 of 7 candidates" in capsys.readouterr().err
    few = search_late(TOPICS, index, spec, encoder, candidates=candidates, hits=1, threads=2)
    assert dict(few.rankings()) == {query: ranking[:1] for query, ranking in run.rankings()}
