"""`tandem_ir.search`: what a user types as one call."""

import os
from pathlib import Path

import pytest
import yaml

import tandem_ir
from toolkit.core.documents import Doc
from toolkit.datasets import resolve_topics
from toolkit.retrieval.index import build_index, corpus_from_docs

pytestmark = pytest.mark.lucene


def test_relative_paths_follow_the_working_folder(tmp_path, monkeypatch):
    for name, text in (("one", "red apple"), ("two", "red plum")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        build_index(corpus_from_docs(name, [Doc(name, "", text)]), Path("index"))
        (tmp_path / name / "topics.tsv").write_text("1\tred\n")
    assert tandem_ir.search("topics.tsv", "index").to_dict()["1"].keys() == {"two"}
    monkeypatch.chdir(tmp_path / "one")
    assert tandem_ir.search("topics.tsv", "index").to_dict()["1"].keys() == {"one"}


def test_one_index_for_several_dimensions_is_named_once_in_the_metadata(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build_index(corpus_from_docs("all", [Doc("d", "", "jet lag and vaccines")]), tmp_path / "index")
    tandem_ir.search("infosearch-mini-ori", "index", output="run.trec", threads=os.cpu_count())
    metadata = yaml.safe_load((tmp_path / "run.trec.yaml").read_text())
    assert [index["name"] for index in metadata["data"]["indexes"]] == ["index"]
    assert metadata["data"]["test collection"] == {
        "name": "infosearch-mini",
        "source": "toolkit/datasets/corpora/infosearch-mini",
    }


def test_an_own_corpus_comes_with_tandem_and_nothing_is_built(home):
    run = tandem_ir.search("infosearch-mini-audience-ins", hits=5)
    assert run.query_ids == tuple(topic.query_id for topic in resolve_topics("infosearch-mini-audience-ins").topics)
    assert not (home / "indexes").exists()
