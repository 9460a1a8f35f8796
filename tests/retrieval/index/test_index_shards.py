"""FAISS indexes in shards: searched as one, built by any number of workers, resumed, with the recall of approximate ones."""

import json
import re

import numpy as np
import pytest
from command import tandem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workers import HereExecutor

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.files.formats.indexes import read_index_record, system_facts
from toolkit.files.formats.vectors import VectorStore
from toolkit.jobs.encode_jobs import IndexJob
from toolkit.models.vectors.faiss_shards import open_faiss
from toolkit.retrieval.index import build_dense_index, index_kind, verify_index
from toolkit.retrieval.index.shard_folder import shards_beside

SPEC = SystemSpec("small", "a system", "dense", revision="1", parameters={"similarity": "cos"}, templates={"query": "{query}"})
TIED = np.random.default_rng(3).integers(-1, 2, (300, 6)).astype(np.float32)  # many documents have one score
QUERIES = np.random.default_rng(4).integers(-1, 2, (9, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def same_process(monkeypatch, home):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)


def encoded(folder, array=TIED, shard=70, ids=None):
    """Vectors on disk; their ids are in an order of their own."""
    ids = ids or [f"d{number * 7919 % 10007}" for number in range(len(array))]
    facts = {**system_facts(SPEC), "side": "passage", "precision": "fp32", "dimension": array.shape[1]}
    store = VectorStore(folder, facts)
    for start in range(0, len(array), shard):
        store.add(ids[start : start + shard], array[start : start + shard], "0" * 64)
    store.finish({"corpus": {"name": "numbers", "content": "1" * 64}, "empty": 0})
    return folder


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


def same(first, second):
    return all(one.tobytes() == other.tobytes() and one.shape == other.shape for one, other in zip(first, second, strict=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(size=st.sampled_from([20, 70, 100, 299, 300, 1000]), hits=st.sampled_from([1, 3, 40, 299, 300, 1000]))
def test_flat_shards_are_searched_as_one_index_to_the_last_bit(tmp_path_factory, size, hits):
    place = tmp_path_factory.mktemp("shards")
    encoded(place / "vectors")
    build_dense_index(place / "vectors", place / "one")
    build_dense_index(place / "vectors", place / "shards", shard_size=size)
    one, shards = open_faiss(place / "one"), open_faiss(place / "shards")
    assert len(shards.shards) == -(-300 // size)
    assert same(one.search(QUERIES, hits), shards.search(QUERIES, hits))


@pytest.mark.parametrize("candidates", [[[0, 299, 150], [], [5]], [[], [], []]])
def test_candidates_are_scored_wherever_they_lie(tmp_path, candidates):
    encoded(tmp_path / "vectors")
    build_dense_index(tmp_path / "vectors", tmp_path / "one")
    build_dense_index(tmp_path / "vectors", tmp_path / "shards", shard_size=80)
    wanted = [np.array(each, np.int64) for each in candidates]
    one, shards = (open_faiss(tmp_path / name) for name in ("one", "shards"))
    assert same(one.score(QUERIES[:3], wanted), shards.score(QUERIES[:3], wanted))


def test_ids_of_all_shards_are_found_by_place_and_by_name(tmp_path):
    from toolkit.core.tables.columns import to_arrow

    encoded(tmp_path / "vectors")
    build_dense_index(tmp_path / "vectors", tmp_path / "one")
    build_dense_index(tmp_path / "vectors", tmp_path / "shards", shard_size=80)
    one, shards = (open_faiss(tmp_path / name).ids for name in ("one", "shards"))
    places = to_arrow(np.array([299, 0, 80, 79, 80], np.int64))
    assert shards.take(places).to_pylist() == one.take(places).to_pylist()
    wanted = to_arrow(["d0", one.take(to_arrow(np.array([250])))[0].as_py(), "none"])
    assert same(shards.places(wanted), one.places(wanted))
    assert len(shards) == 300


def test_the_record_counts_the_documents_of_each_shard(tmp_path):
    build_dense_index(encoded(tmp_path / "vectors"), tmp_path / "o", shard_size=110)
    record = read_index_record(tmp_path / "o")
    assert (record["documents"], record["shards"]) == (300, [110, 110, 80])
    names = [f"{what}-{number:05d}" for what in ("docid", "index") for number in range(3)]
    assert sorted(record["files"]) == names
    assert index_kind(tmp_path / "o") == "faiss"
    assert verify_index(tmp_path / "o") == []
    assert not shards_beside(tmp_path / "o").exists()


def test_what_is_not_as_the_record_says_is_refused(tmp_path):
    build_dense_index(encoded(tmp_path / "vectors"), tmp_path / "o", shard_size=110)
    (tmp_path / "o" / "index-00001").rename(tmp_path / "away")
    assert verify_index(tmp_path / "o") == ["index-00001: missing"]
    with pytest.raises(ToolkitError, match="index-00001 is missing: the index has 3 shards"):
        open_faiss(tmp_path / "o")
    (tmp_path / "away").rename(tmp_path / "o" / "index-00001")
    record = tmp_path / "o" / "tandem.yaml"
    text = record.read_text()
    for wrong, message in (
        ("- 110\n- 110\n- 79", "index-00002 has 80 vectors, the record says 79"),
        ("- x\n- 110\n- 80", "shards is"),
    ):
        record.write_text(text.replace("- 110\n- 110\n- 80", wrong))
        with pytest.raises(ToolkitError, match=message):
            open_faiss(tmp_path / "o")


FACTORIES = ["Flat", "IVF4,Flat", "PQ3x4", "IVF4,PQ3x4", "HNSW8"]


@pytest.mark.parametrize("factory", FACTORIES)
def test_any_number_of_workers_makes_the_files_of_one_process(tmp_path, factory):
    encoded(tmp_path / "vectors")
    how = {"shard_size": 90, "factory": factory}
    build_dense_index(tmp_path / "vectors", tmp_path / "local", **how)
    for workers, lost in ((1, []), (3, [2])):
        executor, output = HereExecutor(workers, lost=lost), tmp_path / f"by{workers}"
        with executor.job(output):
            build_dense_index(tmp_path / "vectors", output, **how, executor=executor)
        assert files(output) == files(tmp_path / "local")
        assert executor.units == 4 + len(lost) + (factory != "Flat")
    records = [(tmp_path / name / "tandem.yaml").read_text() for name in ("local", "by1", "by3")]
    assert len({re.sub("wall time: .*", "", record) for record in records}) == 1


@pytest.mark.parametrize("factory", ["IVF4,Flat", "IVF4,PQ3x4"])
def test_shards_of_one_training_find_what_one_file_of_it_finds(tmp_path, factory):
    array = np.random.default_rng(5).standard_normal((600, 6)).astype(np.float32)
    encoded(tmp_path / "vectors", array)
    build_dense_index(tmp_path / "vectors", tmp_path / "one", factory, "nprobe=2")
    build_dense_index(tmp_path / "vectors", tmp_path / "shards", factory, "nprobe=2", shard_size=130)
    assert read_index_record(tmp_path / "one")["recall"] == read_index_record(tmp_path / "shards")["recall"]
    one, shards = open_faiss(tmp_path / "one"), open_faiss(tmp_path / "shards")
    assert np.array_equal(one.search(array[:20], 5)[1], shards.search(array[:20], 5)[1])


def test_recall_is_measured_against_exact_search_and_said(tmp_path, capsys):
    array = np.random.default_rng(6).standard_normal((400, 8)).astype(np.float32)
    encoded(tmp_path / "vectors", array)
    shares = {}
    for tuning in ("nprobe=1", "nprobe=3", "nprobe=8"):
        build_dense_index(tmp_path / "vectors", tmp_path / tuning, "IVF8,Flat", tuning, shard_size=150)
        measured = read_index_record(tmp_path / tuning)["recall"]
        shares[tuning] = measured.pop("recall")
        assert measured == {"cutoff": 10, "queries": 100, "of": "documents"}
        said = f"note: recall@10 is {shares[tuning]:.4f} against exact search, 100 documents as queries\n"
        assert said in capsys.readouterr().err
    assert 0.1 < shares["nprobe=1"] < shares["nprobe=3"] < shares["nprobe=8"] == 1
    # by hand: the nearest ten of each of these documents, itself left out, in FAISS's own lists
    sample = np.sort(np.random.default_rng([42, 1]).choice(400, 100, replace=False))
    exact = np.argsort(-(array[sample] @ array.T), axis=1)
    found = open_faiss(tmp_path / "nprobe=1").search(array[sample], 11)[1]
    best = [[place for place in row if place != own] for row, own in zip(exact, sample, strict=True)]
    seen = [[place for place in row if place != own][:10] for row, own in zip(found, sample, strict=True)]
    share = np.mean([len({*row[:10]} & {*other}) / 10 for row, other in zip(best, seen, strict=True)])
    assert shares["nprobe=1"] == pytest.approx(share, abs=1e-4)


def test_an_exact_index_has_no_recall_to_measure(tmp_path, capsys):
    build_dense_index(encoded(tmp_path / "vectors"), tmp_path / "o", shard_size=90)
    assert "recall" not in read_index_record(tmp_path / "o")
    assert "recall" not in capsys.readouterr().err


def interrupted_at(monkeypatch, at):
    """Ctrl-C when the shard of this number is to be filled."""
    from toolkit.retrieval.index.dense import FillShards

    fill, numbers = FillShards.compute, []

    def counted(self, packed):
        numbers.append(packed[0])
        if packed[0] == at:
            raise KeyboardInterrupt
        return fill(self, packed)

    monkeypatch.setattr(FillShards, "compute", counted)
    return numbers


@pytest.mark.parametrize("engine", ["local", "workers"])
def test_an_interrupted_build_resumes_at_the_shards_that_are_not_there(tmp_path, monkeypatch, engine):
    encoded(tmp_path / "vectors")
    build_dense_index(tmp_path / "vectors", tmp_path / "whole", "IVF4,Flat", shard_size=90)

    def build():
        job = IndexJob(str(tmp_path / "vectors"), tmp_path / "o", type="faiss", factory="IVF4,Flat", shard_size=90)
        if engine == "workers":
            job.executor = HereExecutor(1)
        return job.make()

    numbers = interrupted_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt) as end:
        build()
    assert end.value.__notes__ == ["the same command resumes"]
    assert not (tmp_path / "o").exists()
    numbers.clear()
    monkeypatch.undo()
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    numbers = interrupted_at(monkeypatch, None)
    build()
    assert numbers == [2, 3]
    assert files(tmp_path / "o") == files(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_damaged_shard_or_other_vectors_are_not_resumed(tmp_path, monkeypatch):
    encoded(tmp_path / "vectors")
    numbers = interrupted_at(monkeypatch, 3)
    how = {"shard_size": 90}
    with pytest.raises(KeyboardInterrupt):
        build_dense_index(tmp_path / "vectors", tmp_path / "o", **how)
    next(shards_beside(tmp_path / "o").rglob("index-00001")).write_bytes(b"damaged")
    for again in ([1, 3], [0, 1, 2, 3]):
        numbers.clear()
        with pytest.raises(KeyboardInterrupt):
            build_dense_index(tmp_path / "vectors", tmp_path / "o", **how)
        assert numbers == again
        if len(again) == 2:
            (tmp_path / "vectors" / "tandem.yaml").unlink()
            for path in (tmp_path / "vectors").iterdir():
                path.unlink()
            encoded(tmp_path / "vectors", -TIED)


def test_an_id_in_two_shards_is_refused_before_anything_is_built(tmp_path):
    ids = [f"d{number}" for number in range(300)]
    ids[280] = "d3"
    encoded(tmp_path / "vectors", ids=ids)
    with pytest.raises(ToolkitError, match="id 'd3' comes a second time"):
        build_dense_index(tmp_path / "vectors", tmp_path / "o", shard_size=90)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["vectors"]


@pytest.mark.model
def test_a_system_s_index_in_shards_gives_the_run_of_one_file(tmp_path):
    docs = [
        {"id": f"d{number}", "text": "river tree house cat dog bird"[number % 9 :] * (number % 4 + 1)} for number in range(40)
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (tmp_path / "t.tsv").write_text("q1\tcat in a tree\nq2\triver\n")
    system = ("--system", "all-minilm-l6-v2")
    assert tandem("index", "c.jsonl", *system, "--output", "one", "--keep-vectors", cwd=tmp_path).returncode == 0
    shards = ("one.vectors", "--type", "faiss", "--output", "shards", "--shard-size", "15")
    done = tandem("index", *shards, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("one", "shards"):
        search = ("--topics", "t.tsv", "--index", name, *system, "--output", f"{name}.trec")
        assert tandem("search", *search, cwd=tmp_path).returncode == 0
    assert (tmp_path / "one.trec").read_bytes() == (tmp_path / "shards.trec").read_bytes()
    dry = tandem("index", "c.jsonl", *system, "--output", "x", "--shard-size", "15", "--dry-run", cwd=tmp_path)
    assert "(faiss, Flat), in shards of 15 documents" in dry.stdout


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--shard-size", "0"], "error: shard size is 0"),
        (["--shard-size", "3", "--type", "multivector", "--system", "colbertv2"], "error: a shard size for an index of type"),
        (["--shard-size", "3", "--per-question"], "error: a shard size for indexes of questions"),
        (["--engine", "ray", "--per-question"], "error: indexes of questions are small: they are not divided"),
        (["--engine", "spark"], "error: no engine 'spark'"),
        (["--workers", "2"], "error: workers without a cluster"),
    ],
)
def test_what_is_not_divided_is_one_line_and_nothing_is_left(tmp_path, options, error):
    (tmp_path / "c.jsonl").write_text('{"id": "d1", "query_id": "q1", "text": "one"}\n')
    done = tandem("index", "c.jsonl", "--output", "o", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-2].startswith(error)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["c.jsonl"]


def test_from_python_shards_and_engines_are_the_same_options(tmp_path):
    import tandem_ir

    vectors = encoded(tmp_path / "vectors")
    made = tandem_ir.index(vectors, tmp_path / "o", type="faiss", shard_size=110)
    assert read_index_record(made)["shards"] == [110, 110, 80]
    with pytest.raises(ToolkitError, match="no engine 'spark'"):
        tandem_ir.index(vectors, tmp_path / "x", type="faiss", engine="spark")
    assert not (tmp_path / "x").exists()
