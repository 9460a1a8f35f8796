"""Learned sparse retrieval from documents to a run."""

import pytest
import yaml
from tiny import TEXTS, tiny_bert, tiny_spec

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.files.texts.documents import corpus_from_docs
from toolkit.models.encoders import load_encoder
from toolkit.models.vectors.impact import quantise
from toolkit.retrieval.index.encoded_index import build_impact_index
from toolkit.retrieval.search.neural_engine import search_impact

pytestmark = pytest.mark.model

DOCS = [Doc(f"d{number}", "", text) for number, text in enumerate(TEXTS)]
TOPICS = [Topic("q1", "a cat in the house"), Topic("q2", "long river"), Topic("q3", "a cat in the house")]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tiny_bert(tmp_path_factory.mktemp("checkpoint") / "tiny", "BertForMaskedLM")
    return tiny_spec(folder, "impact", parameters={"quantization": 100, "query_length": 20, "passage_length": 30})


@pytest.fixture(scope="module")
def encoder(spec):
    return load_encoder(spec, device="cpu")


@pytest.fixture(scope="module")
def index(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "index"
    counts = build_impact_index(corpus_from_docs("small", [*DOCS, Doc("none", "", " ")]), encoder, folder, command="by hand")
    assert (counts.documents, counts.empty) == (5, 1)
    return folder


def test_scores_are_dot_products_of_the_quantised_weights(spec, encoder, index):
    run = search_impact(TOPICS, index, spec, encoder)
    documents = encoder.encode([doc_input(spec.templates, doc) for doc in DOCS], "passage")
    queries = encoder.encode([topic_input(spec.templates, topic) for topic in TOPICS], "query")
    assert run.tag == "tiny"
    for topic, query in zip(TOPICS, queries, strict=True):
        asked = quantise(query, 100)
        expected = {
            doc.doc_id: sum(count * quantise(weights, 100).get(term, 0) for term, count in asked.items())
            for doc, weights in zip(DOCS, documents, strict=True)
        }
        assert run.to_dict()[topic.query_id] == pytest.approx(expected, abs=0.01)
        assert min(expected.values()) > 1000


def test_only_so_many_hits_under_the_tag(spec, encoder, index):
    run = search_impact(TOPICS, index, spec, encoder, hits=2, threads=2, tag="mine")
    assert (run.tag, run.lengths.tolist()) == ("mine", [2, 2, 2])


def test_metadata_say_what_the_index_was_made_of(index):
    metadata = yaml.safe_load((index / "tandem.yaml").read_text(encoding="utf-8"))
    assert (metadata["kind"], metadata["system"], metadata["documents"], metadata["empty"]) == ("impact", "tiny", 5, 1)
    assert metadata["corpus"]["name"] == "small"
    assert metadata["statistics"]["documents"] == 5
    assert metadata["cut"] == 1


def test_another_system_is_refused_and_an_index_made_elsewhere_is_not(spec, encoder, index, tmp_path, capsys):
    with pytest.raises(ToolkitError, match="was made with system tiny, not other"):
        search_impact(TOPICS, index, tiny_spec(spec.checkpoint, "impact", name="other"), encoder)
    for file in index.iterdir():
        if file.name != "tandem.yaml":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert search_impact(TOPICS, tmp_path, spec, encoder).to_dict() == search_impact(TOPICS, index, spec, encoder).to_dict()
    assert "does not say what made it" in capsys.readouterr().err


def test_a_folder_without_an_index_is_an_error(spec, encoder, tmp_path):
    with pytest.raises(ToolkitError, match="is no Lucene index"):
        search_impact(TOPICS, tmp_path, spec, encoder)


def test_a_corpus_without_documents_leaves_nothing(encoder, tmp_path):
    with pytest.raises(ToolkitError, match="small has no documents to index"):
        build_impact_index(corpus_from_docs("small", [Doc("a", "", " ")]), encoder, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_candidates_have_the_scores_of_the_whole_search(spec, encoder, index):
    candidates = {"q1": ["d3", "d1"], "q2": ["d0", "d2", "d4"], "q3": ["d2"]}
    run = search_impact(TOPICS, index, spec, encoder, candidates=candidates)
    whole = search_impact(TOPICS, index, spec, encoder)
    assert run.to_dict() == {
        query: {doc: score for doc, score in docs.items() if doc in candidates[query]}
        for query, docs in whole.to_dict().items()
    }
