"""The digest of weights: in records, and compared with what was fetched and what an index was made with."""

import hashlib
import os

import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.files.store import digests
from toolkit.files.store.digests import file_sha256, write_digests
from toolkit.files.texts.documents import corpus_from_docs
from toolkit.models.checkpoints.hub import origin_of, weight_files

pytestmark = pytest.mark.model
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_digest_is_the_files_or_that_of_the_lines_of_sha256sum(tmp_path):
    (tmp_path / "1_Dense").mkdir()
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    alone = hashlib.sha256(b"weights").hexdigest()
    assert origin_of(tmp_path) == origin_of(tmp_path, tmp_path) == {"weights": alone}
    (tmp_path / "1_Dense" / "model.safetensors").write_bytes(b"more")
    for other in ("consolidated.safetensors", "onnx/model.safetensors"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_bytes(b"a second copy")
    assert [path.parent.name for path in weight_files(tmp_path)] == ["1_Dense", tmp_path.name]
    lines = f"{hashlib.sha256(b'more').hexdigest()}  1_Dense/model.safetensors\n{alone}  model.safetensors\n"
    assert origin_of(tmp_path) == {"weights": hashlib.sha256(lines.encode()).hexdigest()}


def test_weights_that_changed_since_they_were_fetched_are_not_loaded(home):
    folder = home / "models" / "org--tiny" / COMMIT
    tiny.tiny_bert(folder)
    write_digests(folder)
    whole = origin_of(folder)
    assert whole["commits"] == {"org/tiny": COMMIT}
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-5] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(ToolkitError, match=r"model\.safetensors is not the file that was fetched: SHA-256 "):
        origin_of(folder)


def test_a_large_file_is_read_once_and_again_when_it_changed(home, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "REMEMBERED", 1)
    path, read = tmp_path / "large", []
    real = digests.sha256_of
    monkeypatch.setattr(digests, "sha256_of", lambda path: read.append(path) or real(path))
    path.write_bytes(b"one")
    stat = path.stat()
    for _ in range(2):
        assert file_sha256(path) == hashlib.sha256(b"one").hexdigest()
        digests._sha256.cache_clear()  # as in the next process
    assert len(read) == 1
    path.write_bytes(b"two")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as if it had not
    assert file_sha256(path) == hashlib.sha256(b"two").hexdigest()
    assert len(read) == 2


def test_an_index_is_not_searched_with_other_weights(home, tmp_path):
    from toolkit.core.documents import Doc
    from toolkit.core.topics import Topic
    from toolkit.files.formats.indexes import read_index_record
    from toolkit.files.formats.vectors import open_vectors
    from toolkit.models.encoders import load_encoder
    from toolkit.retrieval.index.encoded_index import build_encoded
    from toolkit.retrieval.search.neural_engine import search_dense

    spec = tiny.tiny_spec(tiny.tiny_bert(tmp_path / "bert"), parameters={"pooling": "mean", "similarity": "cos"})
    encoder = load_encoder(spec, device="cpu")
    corpus = corpus_from_docs("c", [Doc("a", "", "one"), Doc("b", "", "two")])
    build_encoded(corpus, spec, encoder, tmp_path / "index", tmp_path / "vectors", keep=True)
    digest = file_sha256(tmp_path / "bert" / "model.safetensors")
    assert read_index_record(tmp_path / "index")["weights"] == open_vectors(tmp_path / "vectors").record["weights"] == digest
    assert search_dense([Topic("q", "one")], tmp_path / "index", spec, encoder).query_ids == ("q",)
    weights = bytearray((tmp_path / "bert" / "model.safetensors").read_bytes())
    weights[-5] ^= 1
    (tmp_path / "bert" / "model.safetensors").write_bytes(weights)
    other = load_encoder(spec, device="cpu")
    with pytest.raises(ToolkitError, match="was made with other weights of tiny"):
        search_dense([Topic("q", "one")], tmp_path / "index", spec, other)
    with pytest.raises(ToolkitError, match="holds vectors of files '"):
        build_encoded(corpus_from_docs("c", [Doc("a", "", "one")]), spec, other, tmp_path / "i2", tmp_path / "vectors")
