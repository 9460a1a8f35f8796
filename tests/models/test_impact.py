"""A score is the dot product of whole-numbered weights, and runs are those of Anserini's SimpleImpactSearcher."""

import numpy as np
import pytest

from toolkit.core.documents import Doc
from toolkit.core.topics import Topic
from toolkit.models.lucene.anserini_index import indexing
from toolkit.models.lucene.jvm import java_class
from toolkit.models.lucene.stored_texts import StoredTexts
from toolkit.models.vectors.impact import ImpactSearcher, json_line, quantise, repeated

pytestmark = pytest.mark.lucene

# as in the vocabularies of BERT and ModernBERT: pieces, signs, other scripts, what Lucene's query syntax knows
TERMS = ["cat", "dog", "##s", "[CLS]", "[SEP]", ".", '"', "Ġhouse", "猫", "дом", "a:b", "AND", "+", "(", "CAT", "the"]


def vectors(rng, count):
    """Weights of some of the terms; some documents are the same."""
    drawn = ((rng.choice(TERMS, 6, False).tolist(), rng.integers(1, 120, 6).tolist()) for _ in range(count))
    rows = [dict(zip(terms, counts, strict=True)) for terms, counts in drawn]
    return rows + rows[: count // 4]


@pytest.fixture(scope="module")
def weights():
    return {f"d{number}": row for number, row in enumerate(vectors(np.random.default_rng(1), 200))}


@pytest.fixture(scope="module")
def queries():
    return {f"q{number}": row for number, row in enumerate(vectors(np.random.default_rng(2), 12))}


@pytest.fixture(scope="module")
def index(weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("impact") / "index"
    folder.mkdir()
    with indexing(folder, threads=2, impact=True) as indexer:
        lines = [json_line(Doc(doc_id, "A title", f"text of {doc_id}"), row) for doc_id, row in weights.items()]
        indexer.add_lines(b"".join(lines), len(lines))
    return folder


def search(index, queries, **options):
    return ImpactSearcher(index).search([Topic(name, repeated(row)) for name, row in queries.items()], **options)


def dot(query, document):
    return sum(weight * document.get(term, 0) for term, weight in query.items())


def test_weights_are_quantised_as_pyserini_does():
    # 5 -> 256; 0.0097 * 51.2 = 0.497, which is nothing
    assert quantise({"a": 5.0, "b": 1.0, "c": 0.0097, "d": 0.0, "e": 2.5}) == {"a": 256, "b": 51, "e": 128}
    assert quantise({"a": 5.0, "b": 1.0}, 100) == {"a": 100, "b": 20}


def test_scores_are_dot_products(index, weights, queries):
    run = search(index, queries, threads=2).to_dict()
    for name, query in queries.items():
        expected = {doc_id: dot(query, row) for doc_id, row in weights.items() if dot(query, row)}
        assert run[name].keys() == expected.keys()
        # equal scores are made strict by steps of a millionth, which 32 bits may not show
        assert list(run[name].values()) == pytest.approx(sorted(expected.values(), reverse=True), abs=0.01)
        assert run[name] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("hits", [7, 1000])
def test_runs_are_those_of_simple_impact_searcher(index, queries, hits):
    theirs = java_class("io.anserini.search.SimpleImpactSearcher")(str(index))
    integer = java_class("java.lang.Integer")
    run = search(index, queries, hits=hits)
    ours = {name: [(doc.doc_id, doc.score) for doc in ranking] for name, ranking in run.rankings("file")}
    assert len(ours) == len(queries)
    for name, query in queries.items():
        given = java_class("java.util.HashMap")()
        for term, weight in query.items():
            given.put(term, integer(weight))
        assert ours[name] == [(doc.docid, doc.score) for doc in theirs.search(given, hits)]


def test_the_number_of_threads_changes_nothing(index, queries):
    runs = [search(index, queries, threads=threads) for threads in (1, 3)]
    assert runs[0].to_dict() == runs[1].to_dict()


def test_terms_that_no_document_has_find_nothing(index):
    assert len(search(index, {"q": {"nowhere": 9}, "q2": {}})) == 0


def test_texts_can_be_read_back(index, weights):
    assert sorted(StoredTexts(index)) == sorted(Doc(doc_id, "A title", f"text of {doc_id}") for doc_id in weights)
