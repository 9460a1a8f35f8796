"""Folders of vectors: written shard by shard, and refused where something is missing or was changed."""

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.files.formats.vectors import VectorStore, open_vectors, read_vectors_record, verify_vectors

FACTS = {"system": "s", "side": "passage", "dimension": 2}
FIRST = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
SECOND = np.array([[7, 8]], np.float32)


@pytest.fixture
def folder(tmp_path):
    """Two shards, complete."""
    store = VectorStore(tmp_path / "v", FACTS)
    store.add(["a", "b", "ä"], FIRST, "0", cut=2)
    store.add(["007"], SECOND, "1")
    store.finish({"corpus": {"name": "c"}})
    return tmp_path / "v"


def test_what_was_written_is_read_back(folder):
    vectors = open_vectors(folder)
    assert vectors.ids == ["a", "b", "ä", "007"]
    assert [array.tolist() for array in vectors.arrays] == [FIRST.tolist(), SECOND.tolist()]
    assert all(isinstance(array, np.memmap) and not array.flags.writeable for array in vectors.arrays)
    assert vectors.array.tolist() == [*FIRST.tolist(), *SECOND.tolist()]
    assert (len(vectors), vectors.dimension, vectors.record["corpus"]) == (4, 2, {"name": "c"})
    assert (vectors.record["rows"], [shard["cut"] for shard in vectors.record["shards"]]) == (4, [2, 0])
    assert verify_vectors(folder) == []


def test_the_files_are_plain(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "ids-00000.txt",
        "ids-00001.txt",
        "tandem.yaml",
        "vectors-00000.npy",
        "vectors-00001.npy",
    ]
    assert (folder / "ids-00000.txt").read_bytes() == "a\nb\nä\n".encode()
    assert np.load(folder / "vectors-00001.npy").tolist() == [[7, 8]]


IDS = st.lists(st.text(st.characters(min_codepoint=33, exclude_categories=["Z", "C"]), min_size=1), unique=True, max_size=5)


@given(st.lists(IDS, max_size=3), st.randoms(use_true_random=False))
def test_any_ids_and_numbers_come_back(tmp_path_factory, shards, random):
    folder = tmp_path_factory.mktemp("any")
    store = VectorStore(folder, FACTS)
    written = []
    for ids in shards:
        array = np.array([[random.uniform(-1e30, 1e30) for _ in range(2)] for _ in ids], np.float32).reshape(-1, 2)
        store.add(ids, array, "")
        written.append((ids, array.tolist()))
    store.finish({})
    vectors = open_vectors(folder)
    assert vectors.ids == [one for ids, _ in written for one in ids]
    assert [array.tolist() for array in vectors.arrays] == [rows for _, rows in written]


def test_the_same_vectors_have_the_same_digest_and_bytes_and_others_another(tmp_path):
    def made(name, ids, array):
        store = VectorStore(tmp_path / name, FACTS)
        store.add(ids, array, "0")
        store.finish({})
        return open_vectors(tmp_path / name).digest, (tmp_path / name / "vectors-00000.npy").read_bytes()

    one = made("one", ["a"], SECOND)
    assert made("same", ["a"], SECOND) == one
    digests = {one[0], made("id", ["b"], SECOND)[0], made("number", ["a"], SECOND + 1)[0]}
    assert len(digests) == 3


def test_a_folder_is_gone_on_with_and_complete_at_the_end_only(tmp_path):
    VectorStore(tmp_path / "v", FACTS).add(["a", "b", "c"], FIRST, "0")
    with pytest.raises(ToolkitError, match="not complete: 3 are there"):
        open_vectors(tmp_path / "v")
    assert verify_vectors(tmp_path / "v") == ["not complete"]
    store = VectorStore(tmp_path / "v", FACTS)
    assert [(shard.rows, shard.documents) for shard in store.shards] == [(3, "0")]
    store.add(["d"], SECOND, "1")
    store.finish({})
    assert open_vectors(tmp_path / "v").ids == ["a", "b", "c", "d"]
    assert VectorStore(tmp_path / "v", FACTS).complete


def test_files_that_nothing_speaks_of_yet_are_written_again(tmp_path):
    store = VectorStore(tmp_path / "v", FACTS)
    store.add(["a"], SECOND, "0")
    # killed after the vectors of the next shard were written, while its ids were
    np.save(tmp_path / "v" / "vectors-00001.npy", FIRST)
    (tmp_path / "v" / ".ids-00001.txt.x.part").write_bytes(b"half")
    store = VectorStore(tmp_path / "v", FACTS)
    store.add(["b"], SECOND, "1")
    store.finish({})
    assert open_vectors(tmp_path / "v").array.tolist() == [*SECOND.tolist(), *SECOND.tolist()]
    assert verify_vectors(tmp_path / "v") == []


def test_killed_in_the_first_shard_it_begins_anew(tmp_path, monkeypatch):
    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            VectorStore(tmp_path / "v", FACTS).add(["a"], SECOND, "0")
    np.save(tmp_path / "v" / "vectors-00000.npy", FIRST)
    store = VectorStore(tmp_path / "v", FACTS)
    assert (store.shards, store.complete) == ([], False)
    store.add(["a"], SECOND, "0")
    assert VectorStore(tmp_path / "v", FACTS).shards == store.shards


def test_other_facts_are_refused_and_named(folder):
    with pytest.raises(ToolkitError, match="holds vectors of system 's', not 't'"):
        VectorStore(folder, {**FACTS, "system": "t"})


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ToolkitError, match="exists and holds no vectors"):
        VectorStore(tmp_path, FACTS)
    with pytest.raises(ToolkitError, match="holds no vectors"):
        open_vectors(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(ToolkitError, match="exists and holds no vectors"):
        VectorStore(tmp_path / "mine.txt", FACTS)


@pytest.mark.parametrize("bad", ["a\nb", "", "a b", "a\r"])
def test_an_id_that_could_not_be_read_back_is_refused(tmp_path, bad):
    with pytest.raises(ToolkitError, match="doc_id"):
        VectorStore(tmp_path / "v", FACTS).add([bad], SECOND, "0")
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_neither_written_nor_read(folder, number):
    bad = np.array([[1, number]], np.float32)
    with pytest.raises(ToolkitError, match="the vector of x is not finite"):
        VectorStore(folder, FACTS).add(["x"], bad, "2")
    np.save(folder / "vectors-00001.npy", bad)
    with pytest.raises(ToolkitError, match="the vector of 007 is not finite"):
        open_vectors(folder)


def _remove(folder):
    (folder / "vectors-00001.npy").unlink()


def _remove_ids(folder):
    (folder / "ids-00000.txt").unlink()


def _truncate(folder):
    path = folder / "vectors-00000.npy"
    path.write_bytes(path.read_bytes()[:-4])


def _empty(folder):
    (folder / "vectors-00000.npy").write_bytes(b"")


def _fewer_ids(folder):
    (folder / "ids-00000.txt").write_bytes(b"a\nb\n")


def _truncated_ids(folder):
    (folder / "ids-00001.txt").write_bytes(b"00")


def _other_type(folder):
    np.save(folder / "vectors-00001.npy", SECOND.astype(np.float64))


def _other_shape(folder):
    np.save(folder / "vectors-00001.npy", np.ones((1, 3), np.float32))


def _pickle(folder):
    np.save(folder / "vectors-00001.npy", np.array([[{}]], object), allow_pickle=True)


@pytest.mark.parametrize(
    ("damage", "message", "found"),
    [
        (_remove, "vectors-00001.npy is missing", "vectors-00001.npy: missing"),
        (_remove_ids, "ids-00000.txt is missing", "ids-00000.txt: missing"),
        (_truncate, "shard 0 is damaged", "vectors-00000.npy: changed"),
        (_empty, "shard 0 is damaged", "vectors-00000.npy: changed"),
        (_fewer_ids, "shard 0 has 3 x 2 float32 and 2 ids", "ids-00000.txt: changed"),
        (_truncated_ids, "shard 1 has 1 x 2 float32 and 0 ids", "ids-00001.txt: changed"),
        (_other_type, "shard 1 has 1 x 2 float64", "vectors-00001.npy: changed"),
        (_other_shape, "shard 1 has 1 x 3 float32", "vectors-00001.npy: changed"),
        (_pickle, "shard 1 is damaged", "vectors-00001.npy: changed"),
    ],
)
def test_a_shard_that_is_not_as_it_was_is_refused_and_found(folder, damage, message, found):
    damage(folder)
    with pytest.raises(ToolkitError, match=message):
        open_vectors(folder)
    assert verify_vectors(folder) == [found]


def test_numbers_that_were_changed_are_found_on_demand(folder):
    np.save(folder / "vectors-00001.npy", SECOND + 1)
    (folder / "more.txt").write_text("")
    assert verify_vectors(folder) == ["vectors-00001.npy: changed", "more.txt: not part of it"]
    record = read_vectors_record(folder)
    record["shards"][1]["vectors"] = "0"
    (folder / "tandem.yaml").write_text(yaml.safe_dump(record))
    assert "tandem.yaml: changed" in verify_vectors(folder)


@pytest.mark.parametrize("text", ["format: 99\nkind: vectors\n", "format: 1\nkind: lucene\n", "a: [", "- 1\n"])
def test_another_format_is_refused(folder, text):
    (folder / "tandem.yaml").write_text(text)
    for use in (open_vectors, verify_vectors):
        with pytest.raises(ToolkitError):
            use(folder)
    with pytest.raises(ToolkitError):
        VectorStore(folder, FACTS)
