"""Vectors of documents: made once for each text, cached, and read of a folder."""

import numpy as np
import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.files.formats.vectors import VectorStore
from toolkit.files.store.keyed_cache import key_of
from toolkit.retrieval.diversify.embeddings import StoredVectors, SystemVectors, Wanted

SPEC = SystemSpec("fake", "of the test", "dense", checkpoint="a/b", revision="0" * 40, templates={"passage": "{text} {title}"})


class FakeEncoder:
    """Vectors of lengths; remembers what it was asked."""

    def __init__(self, fails_after=10**6):
        self.asked, self.fails_after = [], fails_after

    def encode(self, inputs, side):
        assert side == "passage"
        if len(self.asked) >= self.fails_after:
            raise KeyboardInterrupt
        self.asked += [one.whole for one in inputs]
        return np.array([[len(one.whole), 1] for one in inputs], np.float32)


def source(encoder):
    made = SystemVectors(SPEC)
    vars(made).update(encoder=encoder, precision="fp32")
    return made


def wanted(query_ids, **texts):
    return Wanted(query_ids, list(texts), {name: Doc(name, *text) for name, text in texts.items()}, "the test")


def test_equal_texts_are_encoded_once_and_cached(home):
    encoder = FakeEncoder()
    one = wanted(["q"], a=("t", "xx"), b=("t", "xx"), c=("", "x"))
    embedded = source(encoder).embed([one])
    assert sorted(encoder.asked) == ["x", "xx t"]
    assert embedded("q", ["a", "b"]).tolist() == [[1, 1], [1, 1]]
    assert embedded("q", ["c", "a"])[0, 1] == np.float32(5 / np.sqrt(2 * 17))  # (1, 1) and (4, 1)
    more = source(encoder)
    assert more.missing([wanted(["r"], d=("", "xxx"), e=("", "x"))]) == 1
    more.embed([wanted(["r"], d=("", "xxx"), e=("", "x"))])
    assert encoder.asked[2:] == ["xxx"]


def test_groups_may_have_different_documents_of_one_id(home):
    embedded = source(FakeEncoder()).embed(
        [wanted(["q"], a=("", "x"), b=("", "x")), wanted(["r"], a=("", "x"), b=("", "y" * 9))]
    )
    assert embedded("q", ["a", "b"])[0, 1] == 1
    assert embedded("r", ["a", "b"])[0, 1] < 1


def test_what_was_interrupted_resumes(home, monkeypatch):
    monkeypatch.setattr("toolkit.retrieval.diversify.embeddings.AT_ONCE", 2)
    texts = wanted(["q"], **{f"d{n}": ("", "x" * n) for n in range(1, 6)})
    first, second = FakeEncoder(fails_after=4), FakeEncoder()
    with pytest.raises(KeyboardInterrupt):
        source(first).embed([texts])
    source(second).embed([texts])
    assert (len(first.asked), len(second.asked)) == (4, 1)


@pytest.mark.parametrize(
    ("vector", "how"),
    [
        (b"123", "an entry of 3 bytes is none of the vectors"),
        (np.full(2, np.nan, np.float32).tobytes(), "an entry of 8 bytes is none of the vectors"),
        (np.zeros(3, np.float32).tobytes(), "vectors of several dimensions"),
    ],
)
def test_vectors_that_are_damaged_are_not_taken(home, vector, how):
    made = source(FakeEncoder())
    key = next(iter(made._inputs(wanted(["q"], a=("", "x"))).values()))
    made.cache.put({key_of(key): vector})
    with pytest.raises(ToolkitError, match=rf"\.sqlite: the cache is damaged \({how}"):
        made.embed([wanted(["q"], a=("", "x"), b=("", "xx"))])


def test_a_document_without_text_is_named(home):
    with pytest.raises(ToolkitError, match=r"no text for 1 of 2 documents \(b\) in the test"):
        source(FakeEncoder()).embed([Wanted(["q"], ["a", "b"], {"a": Doc("a", "", "x")}, "the test")])


def test_another_kind_of_system_has_no_vectors():
    with pytest.raises(ToolkitError, match="bm25 is of kind bm25, not dense"):
        SystemVectors(SystemSpec("bm25", "", "bm25"))


def test_a_damaged_cache_is_not_used(home):
    made = source(FakeEncoder())
    made.cache.path.parent.mkdir(parents=True)
    made.cache.path.write_bytes(b"no database" * 100)
    with pytest.raises(ToolkitError, match=r"sqlite: the cache is damaged \(file is not a database\)"):
        made.embed([wanted(["q"], a=("", "x"))])


def test_vectors_of_a_folder_in_several_shards(tmp_path):
    folder = stored(tmp_path, "passage")
    embedded = StoredVectors(folder).embed([Wanted(["q"], ["d", "a", "b"])])
    assert embedded("q", ["a", "b", "d"]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    with pytest.raises(ToolkitError, match=r"has no vectors of 1 of 2 documents \(x\)"):
        StoredVectors(folder).embed([Wanted(["q"], ["a", "x"])])


def test_vectors_of_topics_are_none_of_documents(tmp_path):
    with pytest.raises(ToolkitError, match="holds vectors of topics"):
        StoredVectors(stored(tmp_path, "query")).facts()


def stored(tmp_path, side):
    store = VectorStore(tmp_path / side, {"side": side, "dimension": 2, "system": "fake"})
    store.add(["a", "b"], np.array([[1, 0], [0, 1]], np.float32), "0")
    store.add(["c", "d"], np.array([[1, 1], [3, 0]], np.float32), "1")
    store.finish({})
    return store.folder
