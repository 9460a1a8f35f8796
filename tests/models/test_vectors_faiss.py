"""FAISS indexes: exact, in the one order of ties, the same bits however they are searched."""

import io
import json
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.columns import to_arrow
from toolkit.models.lucene.docids import DocIds
from toolkit.models.vectors.faiss_index import FaissIndex, fill_faiss, train_faiss, write_faiss

DIMENSION = 24


def unit_vectors(count, seed=0, dimension=DIMENSION):
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def build_faiss(arrays, factory="Flat", tuning="", **options):
    return fill_faiss(train_faiss(arrays, factory, tuning, **options), arrays, tuning)


def made(folder, vectors, factory="Flat", ids=None, **options):
    """An index in a folder, opened."""
    folder.mkdir(exist_ok=True)
    write_faiss(build_faiss([vectors], factory, **options), folder / "index")
    ids = ids or [f"d{number}" for number in range(len(vectors))]
    (folder / "docid").write_text("".join(f"{doc_id}\n" for doc_id in ids))
    return FaissIndex.open(folder)


def literal(vectors, query, hits):
    """Positions of the best, in double precision."""
    return np.argsort(-(vectors.astype(np.float64) @ query.astype(np.float64)), kind="stable")[:hits].tolist()


def names(index, positions):
    return [index.ids.take(to_arrow(np.ascontiguousarray(row))).to_pylist() for row in positions]


def test_a_flat_index_finds_the_nearest_with_their_inner_products(tmp_path):
    vectors, queries = unit_vectors(500), unit_vectors(7, seed=1)
    scores, positions = made(tmp_path, vectors).search(queries, 10)
    assert (scores.shape, scores.dtype, positions.dtype) == ((7, 10), np.float32, np.int64)
    assert positions.tolist() == [literal(vectors, query, 10) for query in queries]
    assert np.allclose(scores, np.take_along_axis(queries @ vectors.T, positions, axis=1), atol=1e-6)


def test_more_hits_than_documents_give_all_of_them(tmp_path):
    vectors = unit_vectors(5)
    scores, positions = made(tmp_path, vectors).search(vectors[:2], 1000)
    assert scores.shape == (2, 5)
    assert positions[:, 0].tolist() == [0, 1]
    assert sorted(positions[1].tolist()) == [0, 1, 2, 3, 4]


def test_no_queries_find_nothing(tmp_path):
    scores, positions = made(tmp_path, unit_vectors(5)).search(np.empty((0, DIMENSION), np.float32), 3)
    assert (scores.shape, positions.shape) == ((0, 3), (0, 3))


def test_equal_scores_come_by_id_descending_in_bytes(tmp_path):
    vectors = np.repeat(unit_vectors(2), [4, 1], axis=0)
    index = made(tmp_path, vectors, ids=["10", "9", "é", "Z", "far"])
    _, positions = index.search(vectors[:1], 5)
    assert names(index, positions) == [["é", "Z", "9", "10", "far"]]


@pytest.mark.parametrize("factory", ["Flat", "SQ8", "IVF1,Flat"])
def test_a_tie_across_the_cut_off_is_seen_whole(tmp_path, factory):
    # 700 equal documents stand behind 3 better ones; the two of them that are kept are those with the last ids
    vectors = np.repeat(np.eye(DIMENSION, dtype=np.float32)[:3], [3, 700, 100], axis=0)
    order = np.random.default_rng(5).permutation(len(vectors))
    index = made(tmp_path, vectors[order], factory, ids=[f"d{number:04d}" for number in order])
    query = np.zeros((1, DIMENSION), np.float32)
    query[0, :2] = (1.0, 0.5)
    scores, positions = index.search(query, 5)
    assert names(index, positions) == [["d0002", "d0001", "d0000", "d0702", "d0701"]]
    assert scores[0, 3] == scores[0, 4]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    vectors=arrays(np.int8, st.tuples(st.integers(1, 40), st.just(3)), elements=st.integers(-1, 1)),
    queries=arrays(np.int8, st.tuples(st.integers(0, 24), st.just(3)), elements=st.integers(-2, 2)),
    hits=st.integers(0, 60),
    seed=st.integers(0, 9),
)
def test_small_whole_numbers_come_as_sorting_all_of_them_says(tmp_path, vectors, queries, hits, seed):
    """Inner products of small whole numbers are exact: most are tied, many vectors are equal or zero."""
    ids = [f"d{number}" for number in np.random.default_rng(seed).permutation(len(vectors))]
    index = made(tmp_path, vectors.astype(np.float32), ids=ids)
    scores, positions = index.search(queries.astype(np.float32), hits)
    exact = queries.astype(int) @ vectors.astype(int).T
    ranked = [sorted(range(len(ids)), key=lambda place: (row[place], ids[place]), reverse=True)[:hits] for row in exact]
    assert positions.tolist() == ranked
    assert scores.tolist() == [row[places].tolist() for row, places in zip(exact, ranked, strict=True)]


def test_memory_is_bounded_where_everything_is_tied(tmp_path, monkeypatch):
    vectors, queries = np.round(unit_vectors(3000), 1), np.round(unit_vectors(30, seed=4), 1)
    queries[::3] = 0  # each document has the score 0: all of them are candidates
    index = made(tmp_path, vectors)
    expected, sizes, candidates = index.search(queries, 10), [], index._candidates
    monkeypatch.setattr(index, "_candidates", lambda some, count: sizes.append(len(some) * count) or candidates(some, count))
    monkeypatch.setattr("toolkit.models.vectors.faiss_index.CELLS", 7000)
    for ours, theirs in zip(index.search(queries, 10), expected, strict=True):
        assert np.array_equal(ours, theirs)
    assert max(sizes) <= 7000


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_query_that_is_no_vector_is_refused_and_does_not_find_nothing(tmp_path, number):
    queries = unit_vectors(3)
    queries[1, 5] = number
    with pytest.raises(ToolkitError, match="not finite"):
        made(tmp_path, unit_vectors(9)).search(queries, 2)


def test_an_index_with_damaged_numbers_is_refused(tmp_path):
    made(tmp_path, unit_vectors(50))
    data = bytearray((tmp_path / "index").read_bytes())
    data[1000:1400] = b"\xff" * 400  # of the vectors: NaN
    (tmp_path / "index").write_bytes(data)
    with pytest.raises(ToolkitError, match="has a vector with numbers that are not finite"):
        FaissIndex.open(tmp_path).search(unit_vectors(1), 2)


def test_documents_of_one_vector_have_one_score_wherever_they_stand(tmp_path):
    vectors = np.concatenate([unit_vectors(997, seed=2, dimension=384), unit_vectors(1, dimension=384)] * 3)
    queries = unit_vectors(30, seed=3, dimension=384)
    index = made(tmp_path, vectors)
    scores, positions = index.search(queries, len(vectors))
    first = np.argsort(positions, axis=1)
    by_position = np.take_along_axis(scores, first, axis=1)
    assert np.array_equal(by_position[:, :998], by_position[:, 998:1996])
    assert np.array_equal(by_position[:, :998], by_position[:, 1996:])


def test_threads_and_the_other_queries_change_no_bit_of_a_flat_search(tmp_path):
    vectors, queries = unit_vectors(4000, dimension=384), unit_vectors(60, seed=1, dimension=384)
    vectors[2000:2100] = vectors[:100]
    index = made(tmp_path, vectors)
    scores, positions = index.search(queries, 100, threads=2)
    for size, threads in [(60, 1), (1, 1), (7, 2), (19, 2), (20, 1), (33, 4), (60, 10**12)]:
        parts = [index.search(queries[start : start + size], 100, threads) for start in range(0, 60, size)]
        assert np.array_equal(np.concatenate([part[0] for part in parts]), scores), (size, threads)
        assert np.array_equal(np.concatenate([part[1] for part in parts]), positions), (size, threads)


def test_fewer_hits_are_the_beginning_of_more(tmp_path):
    index, queries = made(tmp_path, np.round(unit_vectors(3000), 1)), np.round(unit_vectors(40, seed=4), 1)
    scores, positions = index.search(queries, 500)
    for hits in (1, 10, 99):
        assert np.array_equal(index.search(queries, hits)[1], positions[:, :hits])
        assert np.array_equal(index.search(queries, hits)[0], scores[:, :hits])


def test_vectors_of_any_length_are_compared_by_inner_product(tmp_path):
    vectors = unit_vectors(3000) * np.random.default_rng(1).uniform(0.01, 500, (3000, 1)).astype(np.float32)
    queries = unit_vectors(25, seed=1) * 1000
    _, positions = made(tmp_path, vectors).search(queries, 20)
    assert positions.tolist() == [literal(vectors, query, 20) for query in queries]


@pytest.mark.parametrize(
    ("factory", "tuning", "shared"),
    [
        ("HNSW32", "efSearch=200", 0.95),
        ("IVF16,Flat", "nprobe=8", 0.85),
        ("IVF16,Flat", "nprobe=16", 1.0),
        ("SQ8", "", 0.9),
        ("PCA16,Flat", "", 0.2),
        ("IVF8,PQ12x4", "nprobe=8", 0.2),
        ("SQ8,RFlat", "", 0.8),
    ],
)
def test_factory_strings_build_what_they_say(tmp_path, factory, tuning, shared):
    vectors, queries = unit_vectors(2000), unit_vectors(20, seed=1)
    index = made(tmp_path, vectors, factory, tuning=tuning)
    assert len(index) == 2000
    assert index.dimension == DIMENSION
    scores, positions = index.search(queries, 10, threads=2)
    assert np.all(np.diff(scores, axis=1) <= 0)
    found = [len(set(row) & set(literal(vectors, query, 10))) for row, query in zip(positions.tolist(), queries, strict=True)]
    assert np.mean(found) / 10 >= shared


def test_models_keep_their_threads_while_faiss_has_its_own(tmp_path):
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)  # torch's too
    try:
        index = made(tmp_path, unit_vectors(20), threads=1)
        index.search(unit_vectors(2, seed=1), 5, threads=2)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_an_index_that_is_trained_and_built_with_one_thread_comes_out_the_same(tmp_path):
    vectors = unit_vectors(1000)
    for name in ("a", "b"):
        made(tmp_path / name, vectors, "IVF8,SQ8")
    assert (tmp_path / "a" / "index").read_bytes() == (tmp_path / "b" / "index").read_bytes()


def test_training_takes_a_seeded_choice_of_many_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.models.vectors.faiss_index.SAMPLE", 300)
    vectors = unit_vectors(1000)
    whole = build_faiss([vectors], "IVF2,Flat")
    parts = build_faiss([vectors[:1], vectors[1:700], vectors[700:]], "IVF2,Flat")
    other = build_faiss([vectors], "IVF2,Flat", seed=7)
    centres = [index.quantizer.reconstruct_n(0, 2).tolist() for index in (whole, parts, other)]
    assert centres[0] == centres[1] != centres[2]


def test_lists_that_are_not_looked_at_leave_a_row_short(tmp_path):
    vectors = np.repeat(np.eye(DIMENSION, dtype=np.float32)[:4], 50, axis=0)
    scores, positions = made(tmp_path, vectors, "IVF4,Flat").search(vectors[:1], 60)
    assert sorted(positions[0, :50].tolist()) == list(range(50))
    assert positions[0, 50:].tolist() == [-1] * 10
    assert np.all(scores[0, 50:] == -np.inf)


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF4,SQ8"])
def test_a_mapped_index_finds_the_same(tmp_path, factory):
    index, queries = made(tmp_path, unit_vectors(600), factory), unit_vectors(9, seed=1)
    mapped = FaissIndex.open(tmp_path, mmap=True)
    for ours, theirs in zip(mapped.search(queries, 50), index.search(queries, 50), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_large_index_is_mapped_of_itself(tmp_path, monkeypatch):
    made(tmp_path, unit_vectors(600))
    flags, read = [], faiss.read_index
    monkeypatch.setattr(faiss, "read_index", lambda path, flag: flags.append(flag) or read(path, flag))
    FaissIndex.open(tmp_path)
    monkeypatch.setattr("toolkit.models.vectors.faiss_index.MAPPED", 1000)
    FaissIndex.open(tmp_path)
    assert flags == [0, faiss.IO_FLAG_MMAP_IFC]


def test_an_index_of_distances_is_asked_with_one_more_dimension(tmp_path):
    # inner product by L2, as Sphere and DPR's HNSW have it: another dimension fills all documents up to one length
    vectors, query = unit_vectors(300) * np.linspace(0.1, 2, 300, dtype=np.float32)[:, None], unit_vectors(1, seed=1)
    fill = np.sqrt(np.maximum(0, 4.0 - (vectors**2).sum(axis=1, keepdims=True)))
    index = faiss.IndexFlatL2(DIMENSION + 1)
    index.add(np.hstack([vectors, fill]).astype(np.float32))
    faiss.write_index(index, str(tmp_path / "index.faiss"))
    np.save(tmp_path / "ids.npy", np.arange(300))
    opened = FaissIndex.open(tmp_path)
    scores, positions = opened.search(query, 10)
    assert positions[0].tolist() == literal(vectors, query[0], 10)
    assert np.all(scores < 0)


def test_an_index_of_distances_between_unit_vectors_is_searched_as_it_is(tmp_path):
    vectors, query = unit_vectors(300), unit_vectors(1, seed=1)
    index = faiss.IndexFlatL2(DIMENSION)
    index.add(vectors)
    faiss.write_index(index, str(tmp_path / "index"))
    (tmp_path / "docid").write_text("".join(f"{number}\n" for number in range(300)))
    scores, positions = FaissIndex.open(tmp_path).search(query, 10)
    assert positions[0].tolist() == literal(vectors, query[0], 10)
    assert np.allclose(scores[0], 2 * (vectors @ query[0])[positions[0]] - 2, atol=1e-5)


def test_a_full_disk_is_an_error_of_the_system():
    with pytest.raises(OSError, match="No space left on device"):
        write_faiss(build_faiss([unit_vectors(5000)]), Path("/dev/full"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docid", b"a\n7\nc#1\n"),
        ("docid", b"a\r\n7\r\nc#1"),
        ("ids.txt", b"a\n7\nc#1"),
        ("ids.jsonl", b'"a"\n7\n{"id": "c#1", "url": "x"}\n'),
        ("ids.jsonl", '"a"\r\n7\r\n{"id": "c#1", "title": "one\u2028two\x85three"}'.encode()),
    ],
)
def test_ids_are_read_from_what_lies_beside_an_index(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    ids = DocIds(tmp_path)
    assert len(ids) == 3
    assert ids.take(to_arrow(np.array([2, 0, 1, 0]))).to_pylist() == ["c#1", "a", "7", "a"]


@pytest.mark.parametrize("array", [np.array(["a", "b"]), np.array([0, 12], np.int32)])
def test_ids_of_numpy_are_texts_or_whole_numbers(tmp_path, array):
    np.save(tmp_path / "ids.npy", array)
    assert DocIds(tmp_path).take(to_arrow(np.array([1]))).to_pylist() == [str(array[1])]


def test_a_pickled_array_is_never_opened(tmp_path):
    np.save(tmp_path / "ids.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(ToolkitError, match="not readable as document ids"):
        DocIds(tmp_path)
    (tmp_path / "ids.npy").unlink()
    with pytest.raises(ToolkitError, match="no file of document ids"):
        DocIds(tmp_path)


@pytest.mark.parametrize("line", ["true", "1.5", "{}", "[", "null", '{"id": [1]}'])
def test_other_json_is_no_id(tmp_path, line):
    (tmp_path / "ids.jsonl").write_text(f"{json.dumps('a')}\n{line}\n")
    with pytest.raises(ToolkitError, match=r"ids\.jsonl is not readable as document ids"):
        DocIds(tmp_path)


def zipped():
    file = io.BytesIO()
    np.savez(file, ids=np.arange(3))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"PK\3\4", zipped(), b"\x93NUMPY\1\0", b"not an array"])
def test_a_file_that_is_no_array_holds_no_ids(tmp_path, content):
    (tmp_path / "ids.npy").write_bytes(content)
    with pytest.raises(ToolkitError, match=r"ids\.npy is not readable as document ids"):
        DocIds(tmp_path)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"hello" * 99])
def test_a_damaged_file_is_one_error(tmp_path, damage, mmap):
    made(tmp_path, unit_vectors(50))
    (tmp_path / "index").write_bytes(damage((tmp_path / "index").read_bytes()))
    with pytest.raises(ToolkitError, match="is no FAISS index, or damaged") as refused:
        FaissIndex.open(tmp_path, mmap=mmap)
    assert "\n" not in refused.value.message
    assert ".cpp" not in refused.value.message


def test_a_folder_without_an_index_is_one_error(tmp_path):
    with pytest.raises(ToolkitError, match="holds no FAISS index"):
        FaissIndex.open(tmp_path)


def test_ids_and_vectors_of_different_number_are_refused(tmp_path):
    made(tmp_path, unit_vectors(3))
    (tmp_path / "docid").write_text("a\nb\n")
    with pytest.raises(ToolkitError, match=r"has 3 vectors, .*docid 2 ids"):
        FaissIndex.open(tmp_path)


def test_queries_of_another_dimension_are_refused(tmp_path):
    with pytest.raises(ToolkitError, match="vectors of dimension 24, the queries have 12"):
        made(tmp_path, unit_vectors(3)).search(np.zeros((1, 12), np.float32), 1)


def test_numbers_of_its_own_that_are_no_positions_are_refused(tmp_path):
    index = faiss.IndexIDMap(faiss.IndexFlatIP(DIMENSION))
    index.add_with_ids(unit_vectors(3), np.array([5, 70, 9]))
    faiss.write_index(index, str(tmp_path / "index"))
    (tmp_path / "docid").write_text("a\nb\nc\n")
    with pytest.raises(ToolkitError, match="has a number 70 but 3 documents"):
        FaissIndex.open(tmp_path).search(unit_vectors(1), 3)


@pytest.mark.parametrize(
    ("factory", "tuning", "message"),
    [
        ("Fat", "", "no FAISS index 'Fat' for vectors of dimension 24"),
        ("PQ7", "", "PQ7"),
        ("IVF64,Flat", "", "cannot build a FAISS index 'IVF64,Flat' of 10 vectors"),
        ("Flat", "nprobe=3", "'Flat' cannot be tuned by 'nprobe=3'"),
        ("IVF2,Flat", "nprobe", "cannot be tuned by 'nprobe'"),
        ("IVF2,Flat", "nprobe=0", "FAISS index cannot be searched with tuning 'nprobe=0'"),
        # FAISS itself ends with a signal here
        ("Flat," * 20_000, "", "no name of a FAISS index"),
        ("HNSW0", "", "a number in it is too small"),
        ("IVF2_HNSW00,Flat", "", "a number in it is too small"),
        ("HNSW1,Flat", "", "a number in it is too small"),
        ("PQ4x0", "", "a number in it is too small"),
        ("Flat\ud800", "", "no name of a FAISS index"),
        ("Flat", "nprobe=3\n", "no name of a FAISS index"),
    ],
)
def test_what_faiss_refuses_is_one_line(factory, tuning, message):
    with pytest.raises(ToolkitError) as refused:
        build_faiss([unit_vectors(10)], factory, tuning)
    assert message in refused.value.message
    assert len(refused.value.message) < 400
    assert "\n" not in refused.value.message
