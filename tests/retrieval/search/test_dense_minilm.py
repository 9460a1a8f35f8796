"""The embedded model over real passages, from the texts to the figures of its reference run."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from toolkit.files.formats import read_qrels, read_run, read_topics
from toolkit.files.texts.documents import corpus_from_files
from toolkit.models import choose_system
from toolkit.models.encoders import load_encoder
from toolkit.retrieval.encode import encode_corpus
from toolkit.retrieval.index import build_dense_index, verify_index
from toolkit.retrieval.search.neural_engine import search_dense

SHARED = Path(__file__).resolve().parents[4] / "shared"
SEEDS, GOLDEN = SHARED / "data" / "msmarco-seeds", SHARED / "golden" / "systems" / "msmarco-seeds.minilm.top5.trec"

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.skipif(not GOLDEN.exists(), reason="needs the shared data")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    spec = choose_system("all-minilm-l6-v2")
    encoder = load_encoder(spec, device="cpu")
    encode_corpus(corpus_from_files(SEEDS / "corpus.jsonl"), encoder, spec, folder / "vectors")
    build_dense_index(folder / "vectors", folder / "index")
    assert verify_index(folder / "index") == []
    return search_dense(read_topics(SEEDS / "topics.tsv"), folder / "index", spec, encoder, hits=10)


def test_reciprocal_rank_and_ndcg_are_those_of_the_reference(run):
    # each query has one relevant passage: its nDCG is 1 / log2(rank + 1)
    relevant = {qrel.query_id: qrel.doc_id for qrel in read_qrels(SEEDS / "qrels.txt")}
    ranks = [list(docs).index(relevant[query]) + 1 for query, docs in run.to_dict().items() if relevant[query] in docs]
    assert len(relevant) == len(run.query_ids) == 1743
    assert sum(1 / rank for rank in ranks) / 1743 == pytest.approx(0.9862, abs=0.0005)
    assert sum(1 / np.log2(rank + 1) for rank in ranks) / 1743 == pytest.approx(0.9891, abs=0.0005)


def test_the_top_documents_are_those_of_the_reference(run):
    found, reference = run.to_dict(), read_run(GOLDEN).to_dict()
    assert set(found) == set(reference)
    differ = defaultdict(list)
    for query, docs in reference.items():
        best = list(found[query])[:5]
        if best != list(docs):  # in another order only where the reference's scores are a rounding apart
            differ[query] = [abs(found[query].get(doc_id, -1) - score) for doc_id, score in docs.items()]
        assert best[0] == next(iter(docs))
    assert all(max(errors) < 1e-5 for errors in differ.values())
    assert len(differ) <= 5
