"""FAISS indexes from encoded vectors: what is recorded, what is refused, and how an index is found by what searches it."""

import hashlib
import pickle
import shutil
from dataclasses import replace

import faiss
import numpy as np
import pytest
import yaml

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec, SystemSpec
from toolkit.datasets import load
from toolkit.files.formats.indexes import read_index_record, system_facts
from toolkit.files.formats.vectors import VectorStore, open_vectors
from toolkit.files.store import index_folder
from toolkit.files.texts.documents import ContentDigest
from toolkit.models.lucene.docids import DocIds
from toolkit.retrieval.index import (
    benchmark_index,
    build_dense_index,
    corpus_name,
    find_index,
    index_kind,
    is_current,
    is_index,
    verify_index,
)
from toolkit.retrieval.index.locate import in_folder, prebuilt

SPEC = SystemSpec("small", "a system", "dense", revision="1", parameters={"similarity": "cos"}, templates={"query": "{query}"})
VECTORS = np.eye(4, dtype=np.float32)


def encoded(folder, spec=SPEC, ids=("a", "b", "c", "d"), side="passage", complete=True, **facts):
    """Vectors on disk, in two shards."""
    store = VectorStore(folder, {**system_facts(spec), "side": side, "precision": "fp32", "dimension": 4})
    for start in range(0, len(ids), 3):
        part = list(ids[start : start + 3])
        store.add(part, VECTORS[start : start + len(part)], "0" * 64)
    if complete:
        store.finish({"corpus": {"name": "letters", "content": "1" * 64}, "empty": 2, **facts})
    return folder


@pytest.fixture
def built(tmp_path):
    build_dense_index(encoded(tmp_path / "vectors"), tmp_path / "index", command="how it was made")
    return tmp_path / "index"


def test_the_files_are_those_that_pyserinis_faiss_searcher_opens(built):
    assert sorted(path.name for path in built.iterdir()) == ["docid", "index", "tandem.yaml"]
    assert (built / "docid").read_text().splitlines() == ["a", "b", "c", "d"]
    index = faiss.read_index(str(built / "index"))
    assert (type(index), index.ntotal, index.d) == (faiss.IndexFlatIP, 4, 4)
    assert np.array_equal(index.reconstruct_n(0, 4), VECTORS)


def test_the_record_says_what_made_it_of_what(built, tmp_path):
    record = read_index_record(built)
    implementation, files = record.pop("implementation"), record.pop("files")
    assert record == {
        "format": 1,
        "kind": "faiss",
        **system_facts(SPEC),
        "precision": "fp32",
        "dimension": 4,
        "corpus": {"name": "letters", "content": "1" * 64},
        "documents": 4,
        "empty": 2,
        "factory": "Flat",
        "tuning": "",
        "vectors": open_vectors(tmp_path / "vectors").digest,
    }
    assert implementation["command"] == "how it was made"
    assert implementation["faiss"] == faiss.__version__
    assert files == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in ("docid", "index")}


def test_factory_and_tuning_are_built_and_recorded(tmp_path):
    build_dense_index(encoded(tmp_path / "vectors"), tmp_path / "index", "IVF2,Flat", "nprobe=2")
    record = read_index_record(tmp_path / "index")
    assert (record["factory"], record["tuning"]) == ("IVF2,Flat", "nprobe=2")
    assert faiss.read_index(str(tmp_path / "index" / "index")).nprobe == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"side": "query"}, "holds vectors of topics"),
        ({"ids": ()}, "holds no vectors to index"),
        ({"ids": ("a", "b", "c", "a")}, "id 'a' comes a second time"),
        ({"complete": False}, "are not complete"),
    ],
)
def test_other_vectors_are_refused_and_leave_nothing(tmp_path, change, message):
    encoded(tmp_path / "vectors", **change)
    with pytest.raises(ToolkitError, match=message):
        build_dense_index(tmp_path / "vectors", tmp_path / "index")
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]


def test_what_faiss_refuses_leaves_nothing(tmp_path):
    encoded(tmp_path / "vectors")
    with pytest.raises(ToolkitError, match="cannot build a FAISS index 'IVF99,Flat' of 4 vectors"):
        build_dense_index(tmp_path / "vectors", tmp_path / "index", "IVF99,Flat")
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]


def test_only_an_index_is_replaced(built, tmp_path):
    build_dense_index(tmp_path / "vectors", built, "HNSW4")
    assert read_index_record(built)["factory"] == "HNSW4"
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "index").write_text("a file of this name is no index yet")
    for place in (tmp_path / "git", tmp_path / "vectors"):
        with pytest.raises(ToolkitError, match="exists and is no index"):
            build_dense_index(tmp_path / "vectors", place)


def test_verify_names_what_changed(built, tmp_path):
    assert verify_index(built) == []
    shutil.copytree(built, tmp_path / "other")
    (built / "docid").write_text("a\nb\nc\nx\n")
    (built / "notes").touch()
    assert verify_index(built) == ["notes: not part of the index", "docid: changed"]
    record = yaml.safe_load((tmp_path / "other" / "tandem.yaml").read_text())
    (tmp_path / "other" / "tandem.yaml").write_text(yaml.safe_dump({**record, "documents": 5}))
    assert verify_index(tmp_path / "other") == ["documents: 4, recorded 5"]
    (tmp_path / "other" / "tandem.yaml").write_text("format: 1\nkind: faiss\n")  # broken off
    assert verify_index(tmp_path / "other") == ["tandem.yaml: says nothing of the files"]


def test_the_kind_of_an_index_is_in_its_metadata_or_its_files(built, tmp_path):
    assert index_kind(built) == "faiss"
    (built / "tandem.yaml").unlink()
    assert index_kind(built) == "faiss"
    (tmp_path / "lucene").mkdir()
    (tmp_path / "lucene" / "segments_1").touch()
    assert index_kind(tmp_path / "lucene") == "lucene"
    (tmp_path / "lucene" / "tandem.yaml").write_text("format: 1\nkind: impact\n")
    assert index_kind(tmp_path / "lucene") == "impact"
    assert index_kind(tmp_path / "vectors") is None
    assert index_kind(tmp_path / "nowhere") is None
    assert not is_index(tmp_path / "vectors")


def test_an_index_in_a_folder_opens_for_the_system_that_made_it(built):
    index = find_index(str(built), SPEC)("any group").open(1)
    assert (index.name, index.folder, index.kind, index.language) == ("index", built, "faiss", None)
    facts = index.facts()
    assert (facts["name"], facts["documents"], facts["system"], facts["factory"]) == ("index", 4, "small", "Flat")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "large"}, "made with system small, not large"),
        ({"revision": "2"}, "made with revision 1, not 2"),
        ({"parameters": {"similarity": "dot"}}, "made with similarity cos, not dot"),
        ({"templates": {"passage": "passage: {text}"}}, "made with template [0-9a-f]{12}, not [0-9a-f]{12}"),
        ({"parameters": {"similarity": "cos", "pooling": "cls"}}, "made with template [0-9a-f]{12}, not [0-9a-f]{12}"),
        ({"recipe": "paper", "templates": {"passage": "{text}"}}, "made with recipe none, not paper"),
    ],
)
def test_a_system_that_would_encode_otherwise_is_refused_in_one_line_before_anything_is_opened(built, change, message):
    (built / "index").write_bytes(b"nobody looks into it")
    with pytest.raises(ToolkitError, match=message) as refused:
        in_folder(built, replace(SPEC, **change))
    assert "\n" not in refused.value.message
    assert "search it with small" in refused.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"templates": {"query": "query: {query}", "plain": "{query}"}},
        {"recipe": "paper", "templates": {"query": "{query} {instruction}"}},
        {"parameters": {"similarity": "cos", "query_length": 12}},
    ],
)
def test_how_queries_are_sent_is_free(built, change):
    assert in_folder(built, replace(SPEC, **change)).open(1).kind == "faiss"


def test_a_system_of_another_kind_is_refused(built, tmp_path):
    with pytest.raises(ToolkitError, match="holds no Lucene index"):
        in_folder(built)
    with pytest.raises(ToolkitError, match="is of kind faiss") as refused:
        in_folder(built, registry.system("bm25"))
    assert refused.value.hint == "bm25 searches indexes of kind lucene"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ToolkitError, match="holds no FAISS index") as refused:
        in_folder(tmp_path / "empty", SPEC)
    assert "--type faiss" in refused.value.hint
    with pytest.raises(ToolkitError, match="of kind listwise, which cannot search an index"):
        find_index(str(built), SystemSpec("judge", "", "listwise"))


def test_an_index_made_elsewhere_is_the_users_word(built, capsys):
    (built / "tandem.yaml").unlink()
    source = in_folder(built, SPEC)
    assert capsys.readouterr().err == ""
    assert source.open(1).facts() == {"name": "index", "folder": str(built)}
    assert "small is assumed" in capsys.readouterr().err


def test_an_index_whose_ids_are_pickled_opens_and_a_malicious_one_is_refused(built, home, capsys):
    (built / "tandem.yaml").unlink()
    (built / "docid").unlink()
    (built / "index").rename(built / "index.faiss")
    (built / "meta.pkl").write_bytes(pickle.dumps(["a", "b", "c"]))
    assert in_folder(built, SPEC).open(1).kind == "faiss"
    (built / "meta.pkl").write_bytes(b"\x80\x04]c" + b"os\nsystem\n" + b"a.")
    with pytest.raises(ToolkitError, match="GLOBAL makes something else than ids"):
        DocIds(built)


def test_a_prebuilt_index_opens_for_a_system_of_its_kind(built, home, capsys):
    spec = IndexSpec("tiny.small", "an index", "faiss", ("http://127.0.0.1:1/tiny.tar.gz",), "0" * 32, 9)
    assert prebuilt(spec, SPEC).plan == "the prebuilt index tiny.small, downloaded first (0.0 GB)"
    with pytest.raises(ToolkitError, match=r"index tiny\.small is of kind faiss"):
        prebuilt(spec)
    (built / "tandem.yaml").unlink()
    shutil.copytree(built, index_folder(spec) / "faiss.tiny")
    source = prebuilt(spec, SPEC)
    assert source.plan == "the prebuilt index tiny.small"
    index = source.open(1)
    assert (index.kind, index.folder.name) == ("faiss", "faiss.tiny")
    assert "no record in tiny.small says which system made its vectors" in capsys.readouterr().err


def test_every_faiss_index_of_pyserini_is_known():
    spec = registry.index("msmarco-v1-passage.bge-base-en-v1.5")
    assert prebuilt(spec, SPEC).name == spec.name


def own_build(calls, spec=SPEC):
    """A hook that makes vectors of nothing but the ids."""

    def build(collection, group, folder, threads):
        calls.append((group, threads))
        docs = list(collection.docs(group))
        vectors = folder.with_name("encoded")
        store = VectorStore(vectors, {**system_facts(spec), "side": "passage", "precision": "fp32", "dimension": 4})
        store.add([doc.doc_id for doc in docs], np.resize(VECTORS, (len(docs), 4)), "0" * 64)
        store.finish({"corpus": {"name": corpus_name(collection, group), "content": ContentDigest(docs).hexdigest()}})
        build_dense_index(vectors, folder)
        shutil.rmtree(vectors)

    return build


def test_a_benchmarks_own_index_is_built_once_for_each_system(home):
    benchmark, calls = load("infosearch-mini"), []
    source = benchmark_index(benchmark, "audience", SPEC, own_build(calls))
    folder = home / "indexes" / "own" / "infosearch-mini-audience.small"
    assert (source.name, source.plan) == (
        "infosearch-mini-audience",
        f"an index of infosearch-mini-audience, built first in {folder}",
    )
    index = source.open(2)
    assert (index.folder, index.kind, calls) == (folder, "faiss", [("audience", 2)])
    again = benchmark_index(benchmark, "audience", SPEC, own_build(calls))
    assert again.plan == f"the index of infosearch-mini-audience in {folder}"
    again.open(2)
    assert len(calls) == 1


def test_a_system_that_changed_gets_its_own_index_built_anew(home):
    benchmark, calls = load("infosearch-mini"), []
    benchmark_index(benchmark, "audience", SPEC, own_build(calls)).open(1)
    changed = replace(SPEC, templates={"passage": "find {text}"})
    source = benchmark_index(benchmark, "audience", changed, own_build(calls, changed))
    assert "built first" in source.plan
    assert is_current(source.open(1).folder, benchmark, "audience", changed)
    assert not is_current(home / "indexes" / "own" / "infosearch-mini-audience.small", benchmark, "audience", SPEC)
    assert corpus_name(benchmark, "audience", replace(SPEC, recipe="paper")) == "infosearch-mini-audience.small.paper"


def test_documents_that_changed_are_not_current(home):
    benchmark = load("infosearch-mini")
    index = benchmark_index(benchmark, "audience", SPEC, own_build([])).open(1)
    assert is_current(index.folder, benchmark, "audience", SPEC)
    assert not is_current(index.folder, benchmark, "format", SPEC)


def test_without_a_way_to_encode_it_says_how_to_make_one(home):
    with pytest.raises(ToolkitError, match="there is no index of infosearch-mini-audience for small yet") as refused:
        find_index("infosearch-mini-audience", SPEC)("audience")
    assert "--type faiss --system small" in refused.value.hint
