"""Run metadata lies beside the run, in a form that people read."""

import os

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.provenance import read_record, record_path, write_record

pytestmark = pytest.mark.unit


def test_metadata_is_written_beside_the_run_in_ir_metadatas_order(tmp_path):
    run = tmp_path / "run.trec"
    metadata = {
        "wall time": 1.5,
        "method": {"score": "bm25", "k1": 0.9, "automatic": True},
        "data": {"topics": "été", "sha256": "0012"},
        "platform": {"cores": 2, "gpu": None},
    }
    assert write_record(run, metadata) == record_path(run) == tmp_path / "run.trec.yaml"
    assert record_path(run).read_text() == (
        "platform:\n  cores: 2\n  gpu: null\n"
        "method:\n  score: bm25\n  k1: 0.9\n  automatic: true\n"
        "data:\n  topics: été\n  sha256: '0012'\n"
        "wall time: 1.5\n"
    )
    assert read_record(run) == metadata


def test_a_run_without_metadata_has_none(tmp_path):
    assert read_record(tmp_path / "run.trec") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method:\n  k1: [0.9\nb: 1\n", ", line 3: not readable as YAML"),
        ("- a list\n", ": expected a mapping, found list"),
        ("!!python/object/apply:os.system ['true']\n", ", line 1: not readable as YAML"),
    ],
)
def test_what_is_no_metadata_is_refused(tmp_path, text, message):
    record_path(tmp_path / "run.trec").write_text(text)
    with pytest.raises(ToolkitError) as caught:
        read_record(tmp_path / "run.trec")
    assert caught.value.message == f"{tmp_path}/run.trec.yaml{message}"


def test_metadata_that_cannot_be_written_leaves_what_was_there(tmp_path):
    write_record(tmp_path / "run.trec", {"tag": "old"})
    with pytest.raises(Exception, match="object"):
        write_record(tmp_path / "run.trec", {"tag": object()})
    assert read_record(tmp_path / "run.trec") == {"tag": "old"}
    assert os.listdir(tmp_path) == ["run.trec.yaml"]
