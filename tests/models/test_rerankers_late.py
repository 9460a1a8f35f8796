"""Late interaction as a reranker: MaxSim of the vectors that the encoder gives, each text encoded once."""

import numpy as np
import pytest
import tiny

from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder
from toolkit.models.rerankers import load_reranker

pytestmark = pytest.mark.model

QUERIES = [Input("", text) for text in ("a cat", "find the long river of the bird and the house")]
DOCUMENTS = [Input("", text) for text in tiny.TEXTS]
PAIRS = [(query, document) for document in DOCUMENTS for query in QUERIES]


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return tiny.tiny_spec(tiny.tiny_colbert(tmp_path_factory.mktemp("late") / "colbert"), "multivector")


def test_a_pair_is_the_sum_of_each_query_tokens_best_match(spec):
    encoder = load_encoder(spec, device="cpu")
    queries, documents = encoder.encode(QUERIES, "query"), encoder.encode(DOCUMENTS, "passage")
    half = [[vectors.astype(np.float16).astype(np.float64) for vectors in side] for side in (queries, documents)]
    expected = [sum(max(token @ other for other in document) for token in query) for document in half[1] for query in half[0]]
    reranker = load_reranker(spec, device="cpu")
    scores = reranker.score(PAIRS)
    assert reranker.facts == {**encoder.origin, "device": "cpu", "precision": "fp32"}
    assert scores.dtype == np.float64
    assert np.abs(scores - expected).max() < 1e-5
    assert np.ptp(expected) > 0.1


def test_every_text_is_encoded_once_and_known_chunks_not_at_all(spec, monkeypatch):
    monkeypatch.setattr("toolkit.models.rerankers.late.ENCODED", 4)
    reranker = load_reranker(spec, device="cpu")
    seen = []
    encode = reranker._encoder.encode
    monkeypatch.setattr(reranker._encoder, "encode", lambda texts, side: seen.append((side, len(texts))) or encode(texts, side))
    batches = list(reranker.batches(PAIRS[:8], done=[0, 1, 2, 3]))
    assert [positions for positions, _ in batches] == [[4, 5, 6, 7]]
    assert seen == [("query", 2), ("passage", 2)]


def test_tokens_are_those_of_the_query_then_those_of_the_document(spec):
    encoder, reranker = load_encoder(spec, device="cpu"), load_reranker(spec, device="cpu")
    query, document = PAIRS[0]
    assert reranker.tokens((query, document)) == encoder.token_ids(query, "query") + encoder.token_ids(document, "passage")
