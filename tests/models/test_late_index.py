"""MaxSim over token vectors on disk: the scores are those of the definition, whatever the blocks, batches and threads."""

import math

import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.models.vectors import late
from toolkit.models.vectors.centroids import Centroids, write_centroids
from toolkit.models.vectors.late import LateIndex, LateWriter, maxsim


def unit(rng, count, width=24):
    vectors = rng.normal(size=(count, width))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def texts(rng, count, longest=30, width=24):
    return [unit(rng, rng.integers(1, longest), width) for _ in range(count)]


def written(folder, documents, ids=None):
    folder.mkdir()
    writer = LateWriter(folder)
    ids = ids or [f"d{number}" for number in range(len(documents))]
    for start in range(0, len(ids), 7):
        writer.add(ids[start : start + 7], documents[start : start + 7])
    writer.close()
    return LateIndex(folder)


def literal(query, document):
    """The sum of the largest products, each product and sum exact."""
    query, document = (vectors.astype(np.float16).astype(float).tolist() for vectors in (query, document))
    best = [max(math.fsum(a * b for a, b in zip(mine, its, strict=True)) for its in document) for mine in query]
    return np.float32(math.fsum(best))


def answers(index, queries, **options):
    return [list(zip(index.names(f.documents), f.scores.tolist(), strict=True)) for f in index.search(queries, **options)]


def test_scores_are_the_definitions_to_the_last_bit():
    rng = np.random.default_rng(1)
    query, documents = unit(rng, 5), texts(rng, 20)
    assert maxsim(query, documents).tolist() == [literal(query, document) for document in documents]


def test_a_worked_example():
    # the first vector of the query meets (1, 0) with 1.0, the second (0.5, 0.25) with 0.25
    query = np.array([[1, 0], [0, 1]])
    assert maxsim(query, [np.array([[1, 0], [0.5, 0.25]]), np.array([[-1, -0.5]])]).tolist() == [1.25, -1.5]


def test_no_documents_give_no_scores():
    assert maxsim(np.ones((1, 2)), []).tolist() == []


def test_a_search_finds_what_scoring_every_document_finds(tmp_path):
    rng = np.random.default_rng(2)
    documents, queries = texts(rng, 300), texts(rng, 9)
    index = written(tmp_path / "index", documents)
    for query, found in zip(queries, answers(index, queries, hits=25), strict=True):
        scores = {f"d{number}": float(score) for number, score in enumerate(maxsim(query, documents))}
        assert found == sorted(scores.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:25]


@pytest.mark.parametrize(("block", "width"), [(1, 1), (50, 13), (10_000, 10_000)])
def test_blocks_batches_and_threads_change_nothing(tmp_path, monkeypatch, block, width):
    rng = np.random.default_rng(3)
    documents, queries = texts(rng, 200), texts(rng, 6)
    index = written(tmp_path / "index", documents)
    expected = answers(index, queries, hits=40)
    monkeypatch.setattr(late, "BLOCK", block)
    monkeypatch.setattr(late, "WIDTH", width)
    for threads in (1, 3):
        assert answers(index, queries, hits=40, threads=threads) == expected
    assert answers(index, queries[4:5], hits=40) == expected[4:5]


def test_equal_scores_rank_by_document_id_descending_at_the_cut_too(tmp_path):
    rng = np.random.default_rng(4)
    same, other = unit(rng, 3), unit(rng, 3)
    index = written(tmp_path / "index", [same, -other, same, same, other], ["b", "x", "a", "c", "z"])
    assert [doc_id for doc_id, _ in answers(index, [same], hits=2)[0]] == ["c", "b"]
    assert [doc_id for doc_id, _ in answers(index, [same], hits=9)[0]][:3] == ["c", "b", "a"]


def test_vectors_of_any_length_are_scored(tmp_path):
    rng = np.random.default_rng(5)
    documents = [vectors * rng.uniform(0.1, 30) for vectors in texts(rng, 100)]
    query = unit(rng, 6) * 20
    found = answers(written(tmp_path / "index", documents), [query], hits=10)[0]
    scores = {f"d{number}": float(score) for number, score in enumerate(maxsim(query, documents))}
    assert found == sorted(scores.items(), key=lambda pair: -pair[1])[:10]


def test_vectors_of_another_width_are_an_error(tmp_path):
    index = written(tmp_path / "index", texts(np.random.default_rng(6), 3))
    with pytest.raises(ToolkitError, match="holds vectors of 24 numbers, the query's have 8"):
        index.search([np.ones((2, 8))], hits=1)


def test_a_folder_without_vectors_is_an_error(tmp_path):
    with pytest.raises(ToolkitError, match="is no index of token vectors"):
        LateIndex(tmp_path)


def clustered(rng, count, topics):
    """Documents whose vectors lie around a few of many points, as those of real texts do."""
    width = topics.shape[1]
    return [topics[rng.choice(len(topics), rng.integers(5, 20))] + rng.normal(0, 0.03, (1, width)) for _ in range(count)]


def test_pruning_scores_exactly_and_finds_most_of_the_best(tmp_path):
    rng = np.random.default_rng(7)
    topics = unit(rng, 200)
    documents, queries = clustered(rng, 1000, topics), clustered(rng, 10, topics)
    index = written(tmp_path / "index", documents)
    write_centroids(index, 200)
    exact = [dict(found) for found in answers(index, queries, hits=1000)]
    best = answers(index, queries, hits=10)
    pruned = answers(index, queries, hits=10, centroids=Centroids(index.folder, 8))
    assert all(exact[number][doc_id] == score for number, found in enumerate(pruned) for doc_id, score in found)
    kept = sum(len({doc_id for doc_id, _ in a} & {doc_id for doc_id, _ in b}) for a, b in zip(best, pruned, strict=True))
    assert kept >= 90  # of 100
    assert max(len(Centroids(index.folder, 8).documents(query, 10)) for query in queries) == 80


def test_looking_into_every_cell_is_the_exact_search(tmp_path):
    rng = np.random.default_rng(8)
    index = written(tmp_path / "index", texts(rng, 60))
    write_centroids(index, 16)
    queries = texts(rng, 3)
    assert answers(index, queries, hits=20, centroids=Centroids(index.folder, 16)) == answers(index, queries, hits=20)
