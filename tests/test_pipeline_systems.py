"""Searching with every kind of system, alone, fused, behind rules, before a reranker: as users type it, and as calls."""

import os
import subprocess
import sys

import pytest
import yaml
from tiny import tiny_bert

import toolkit
from toolkit.core.errors import ToolkitError
from toolkit.formats import read_run
from toolkit.pipeline import plan_run, run_name

pytestmark = pytest.mark.model

TOPICS = "infosearch-mini-language"


def tandem(folder, *arguments, code=0):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-m", "toolkit", *arguments], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("cross"), "BertForSequenceClassification", num_labels=1)


def test_the_embedded_model_searches_the_index_that_comes_with_tandem(home):
    run = toolkit.make_run(TOPICS, system="all-minilm-l6-v2", hits=10)
    assert run.tag == "all-minilm-l6-v2"
    assert run.lengths.tolist() == [10] * 36
    assert not (home / "indexes").exists()


def test_an_index_is_encoded_on_first_use_and_found_again(tmp_path, home, capfd):
    what = {"system": "all-minilm-l6-v2", "query_template": "query: {query}"}  # other vectors than those that are shipped
    first = toolkit.make_run(TOPICS, output=tmp_path / "first.trec", **what)
    [folder] = (home / "indexes" / "own").iterdir()
    made = folder.stat().st_mtime_ns
    toolkit.make_run(TOPICS, output=tmp_path / "second.trec", **what)
    assert folder.stat().st_mtime_ns == made
    assert (tmp_path / "first.trec").read_bytes() == (tmp_path / "second.trec").read_bytes()
    assert first.to_dict() != toolkit.make_run(TOPICS, system="all-minilm-l6-v2").to_dict()
    assert not list((home / "vectors").iterdir())


def test_a_hybrid_is_the_fusion_of_its_systems_runs(tmp_path):
    tandem(tmp_path, "search", "--topics", TOPICS, "--system", "bm25", "--output", "bm25.trec")
    tandem(tmp_path, "search", "--topics", TOPICS, "--system", "all-minilm-l6-v2", "--output", "minilm.trec")
    both = ["--system", "bm25", "--system", "all-minilm-l6-v2", "--fuse", "rrf:k=30"]
    tandem(tmp_path, "search", "--topics", TOPICS, *both, "--output", "hybrid.trec")
    tandem(tmp_path, "fuse", "bm25.trec", "minilm.trec", "--method", "rrf:k=30", "--output", "fused.trec")
    assert read_run(tmp_path / "hybrid.trec").to_dict() == read_run(tmp_path / "fused.trec").to_dict()
    metadata = yaml.safe_load((tmp_path / "hybrid.trec.yaml").read_text())
    assert [step["name"] for step in metadata["method"]["retrieval"]] == ["bm25", "all-minilm-l6-v2"]
    assert metadata["method"]["fusion"] == "rrf:k=30"
    assert metadata["method"]["retrieval"][1]["template digest"]


def test_a_reranker_behind_the_search_is_the_reranker_on_its_run(tmp_path, cross_encoder):
    file = tmp_path / "my.yaml"
    file.write_text(f"{{name: tiny-cross, description: tiny, kind: cross-encoder, checkpoint: {cross_encoder}}}\n")
    mine = ["--systems", str(file)]
    tandem(tmp_path, "search", "--topics", TOPICS, "--output", "bm25.trec")
    tandem(tmp_path, "rerank", "--run", "bm25.trec", "--system", "tiny-cross", *mine, "--depth", "5", "--output", "two.trec")
    one = ["--rerank", "tiny-cross", *mine, "--depth", "5", "--output", "one.trec"]
    tandem(tmp_path, "search", "--topics", TOPICS, *one)
    assert read_run(tmp_path / "one.trec").to_dict() == read_run(tmp_path / "two.trec").to_dict()
    assert read_run(tmp_path / "one.trec").tag == "bm25.rerank-tiny-cross"
    [step] = yaml.safe_load((tmp_path / "one.trec.yaml").read_text())["method"]["reranking"]
    assert (step["name"], step["depth"]) == ("tiny-cross", 5)
    assert not list(tmp_path.glob(".*.scores"))


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({"system": "bm25", "k1": 1.2}, "bm25.k1-1.2"),
        ({"system": "bm25", "recipe": "infosearch"}, "bm25.infosearch"),
        ({"system": "bm25+rules", "instruction": "placebo"}, "bm25+rules.placebo"),
        ({"system": ["bm25", "all-minilm-l6-v2"], "fuse": "minmax:0.3,0.7"}, "bm25+all-minilm-l6-v2.minmax-0.3-0.7"),
        ({"system": "bm25", "rerank": "bge-reranker-v2-m3", "depth": 10}, "bm25.rerank-bge-reranker-v2-m3.depth-10"),
    ],
)
def test_a_runs_name_says_what_is_not_as_it_would_be_without_a_word(how, name):
    assert run_name(plan_run(TOPICS, **how)) == f"run.{TOPICS}.infosearch-mini.{name}.trec"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"system": ["bm25", "all-minilm-l6-v2"]}, "2 systems (bm25, all-minilm-l6-v2) make one run"),
        ({"system": "bm25", "fuse": "rrf"}, "nothing to fuse with bm25"),
        ({"system": ["bm25", "bm25+rules"], "fuse": "rrf", "recipe": "berds"}, "one recipe for 2 systems"),
        ({"system": "bm25", "query_length": 3}, "bm25 has no parameter 'query_length'"),
        ({"system": "all-minilm-l6-v2", "rm3": True}, "all-minilm-l6-v2 has no parameter 'rm3'"),
        ({"system": "bm25", "recipe": "infosearch", "rm3": True}, "bm25 has no parameter 'rm3'"),
        ({"system": "bge-reranker-v2-m3"}, "system bge-reranker-v2-m3 is of kind cross-encoder, which cannot search an index"),
        ({"system": "bm25", "rerank": "all-minilm-l6-v2"}, "all-minilm-l6-v2 is of kind dense, no reranker"),
        ({"system": "bm25", "depth": 10}, "a depth or recipe of reranking without a reranker"),
        ({"system": "bm25", "instruction": "some"}, "instructions cannot be 'some'"),
        ({"system": "bm25", "fuse": "sum"}, "nothing to fuse with bm25"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(how, message):
    with pytest.raises(ToolkitError) as error:
        plan_run(TOPICS, **how)
    assert error.value.message == message


def test_no_instruction_is_the_same_ranking_in_every_mode(tmp_path):
    run = toolkit.make_run("infosearch-mini-keyword", system="all-minilm-l6-v2", instruction="none")
    rankings = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.rankings()}
    for query_id, ranking in rankings.items():
        if query_id.endswith("-ori"):
            assert rankings[query_id.replace("-ori", "-ins")] == rankings[query_id.replace("-ori", "-rev")] == ranking


def test_rules_keep_every_document(tmp_path):
    plain, ruled = (toolkit.make_run("infosearch-mini-length", system=system) for system in ("bm25", "bm25+rules"))
    before, after = plain.to_dict(), ruled.to_dict()
    assert {query: set(docs) for query, docs in before.items()} == {query: set(docs) for query, docs in after.items()}
    assert any(list(before[query]) != list(after[query]) for query in before)
