"""Searching with every kind of system, alone, fused, behind rules, before a reranker: as users type it, and as calls."""

import hashlib
import os

import command
import pytest
import yaml
from tiny import tiny_bert

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.datasets import resolve_topics
from toolkit.files.formats import read_run
from toolkit.jobs.search_jobs import search_job, search_name
from toolkit.retrieval.instructions import with_instructions

pytestmark = pytest.mark.model

TOPICS = "infosearch-mini-language"
POOLING = "system all-minilm-l6-v2: pooling is 'what', not cls or mean or last or pooler or own"


def tandem(folder, *arguments, code=0):
    done = command.tandem(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("cross"), "BertForSequenceClassification", num_labels=1)


def test_the_embedded_model_searches_the_index_that_comes_with_tandem(home):
    run = tandem_ir.search(TOPICS, system="all-minilm-l6-v2", hits=10)
    assert run.tag == "all-minilm-l6-v2"
    assert run.lengths.tolist() == [10] * len(resolve_topics(TOPICS).topics)
    assert not (home / "indexes").exists()


def test_an_index_is_encoded_on_first_use_and_found_again(tmp_path, home, capfd):
    mine = {"name": "mine", "description": "tiny", "kind": "dense", "checkpoint": str(tiny_bert(tmp_path / "bert"))}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({**mine, "parameters": {"pooling": "mean", "similarity": "cos"}}))
    what = {"system": "mine", "systems": [tmp_path / "my.yaml"]}
    tandem_ir.search(TOPICS, output=tmp_path / "first.trec", **what)
    [folder] = (home / "indexes" / "own").iterdir()
    made = folder.stat().st_mtime_ns
    tandem_ir.search(TOPICS, output=tmp_path / "second.trec", **what)
    assert folder.stat().st_mtime_ns == made
    assert (tmp_path / "first.trec").read_bytes() == (tmp_path / "second.trec").read_bytes()
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
    assert [(index["name"], index["kind"]) for index in metadata["data"]["indexes"]] == [(TOPICS, "lucene"), (TOPICS, "faiss")]
    alone = [yaml.safe_load((tmp_path / f"{name}.trec.yaml").read_text())["data"]["indexes"][0] for name in ("bm25", "minilm")]
    assert yaml.safe_load((tmp_path / "fused.trec.yaml").read_text())["data"]["indexes"] == alone
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
        ({"system": "bm25", "rerank": "bge-reranker-v2-m3", "precision": "bf16"}, "bm25.rerank-bge-reranker-v2-m3"),
        ({"system": "all-minilm-l6-v2", "pooling": "cls"}, "all-minilm-l6-v2.pooling-cls"),
        ({"system": "all-minilm-l6-v2", "query_template": "q: {query}"}, "all-minilm-l6-v2.template-9cd0d011"),
        ({"system": "all-minilm-l6-v2", "plain_template": "q: {query}"}, "all-minilm-l6-v2.template-5d878b28"),
    ],
)
def test_a_runs_name_says_what_is_not_as_it_would_be_without_a_word(how, name):
    assert search_name(search_job(TOPICS, **how)) == f"run.{TOPICS}.infosearch-mini.{name}.trec"


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
        ({"system": "bm25", "depth": 10, "timeout": 9.0}, "depth and timeout of a reranker, and none is named"),
        ({"system": "bm25", "rerank_kind": "monot5"}, "kind of a reranker, and none is named"),
        ({"system": "bm25", "rerank": "bge-reranker-v2-m3", "depth": 0}, "depth is 0"),
        ({"system": "bm25", "instruction": "some"}, "instructions cannot be 'some'"),
        ({"system": "bm25", "fuse": "sum"}, "nothing to fuse with bm25"),
        ({"system": ["bm25", "bm25+rules"], "fuse": "minmax:1"}, "1 weights for 2 runs"),
        ({"system": ["bm25", "bm25+rules"], "fuse": "rrf:k=-3"}, "k is -3.0"),
        ({"system": "bm25", "k1": float("inf")}, "system bm25: k1 is inf, not a number"),
        ({"system": "all-minilm-l6-v2", "pooling": "what"}, POOLING),
        ({"system": "all-minilm-l6-v2", "hits": 0}, "hits is 0"),
        ({"system": "all-minilm-l6-v2", "threads": 0}, "threads is 0"),
        ({"system": "all-minilm-l6-v2", "batch_size": 0}, "batch size is 0"),
        ({"system": "bm25", "precision": "bf16"}, "bm25 has no precision"),
        ({"system": "bm25", "docs": "setup.cfg"}, "texts of documents without anything that reads them"),
        ({"system": "+rules"}, "'+rules' names no system"),
        ({"system": ""}, "'' names no system"),
        ({"system": "bm25", "tag": "a b"}, "tag 'a b' cannot stand in a TREC file"),
        ({"system": "bm25", "output": "."}, ". is a folder, not a file"),
        ({"system": "bm25", "output": ""}, ". is a folder, not a file"),
        ({"system": "bm25", "output": "-", "metadata": "."}, ". is a folder, not a file"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(how, message):
    with pytest.raises(ToolkitError) as error:
        search_job(TOPICS, **how)
    assert error.value.message == message


def test_no_instruction_is_the_same_ranking_in_every_mode(tmp_path):
    run = tandem_ir.search("infosearch-mini-keyword", system="all-minilm-l6-v2", instruction="none")
    rankings = {query_id: [doc.doc_id for doc in docs] for query_id, docs in run.rankings()}
    for query_id, ranking in rankings.items():
        if query_id.endswith("-ori"):
            assert rankings[query_id.replace("-ori", "-ins")] == rankings[query_id.replace("-ori", "-rev")] == ranking


def test_rules_keep_every_document(tmp_path):
    plain, ruled = (tandem_ir.search("infosearch-mini-length", system=system) for system in ("bm25", "bm25+rules"))
    before, after = plain.to_dict(), ruled.to_dict()
    assert {query: set(docs) for query, docs in before.items()} == {query: set(docs) for query, docs in after.items()}
    assert any(list(before[query]) != list(after[query]) for query in before)


def test_metadata_say_how_the_model_computed_not_what_its_entry_would_have(tmp_path):
    file, bert = tmp_path / "my.yaml", str(tiny_bert(tmp_path / "bert"))
    parameters = {"pooling": "mean", "similarity": "cos", "precision": "bf16"}
    mine = {"name": "mine", "description": "tiny", "kind": "dense", "checkpoint": bert, "parameters": parameters}
    file.write_text(yaml.safe_dump(mine))
    tandem_ir.search(TOPICS, system="mine", systems=[file], output=tmp_path / "run.trec", device="cpu")
    metadata = yaml.safe_load((tmp_path / "run.trec.yaml").read_text())
    [step], [index] = metadata["method"]["retrieval"], metadata["data"]["indexes"]
    assert (step["device"], step["precision"], index["precision"]) == ("cpu", "fp32", "fp32")
    assert step["queries cut"] > 0  # the model has 64 positions


def test_metadata_have_the_digest_of_the_topics_that_systems_were_given(tmp_path):
    for how in ("full", "placebo", "none"):
        tandem_ir.search(TOPICS, instruction=how, output=tmp_path / f"{how}.trec")
    said = {
        how: yaml.safe_load((tmp_path / f"{how}.trec.yaml").read_text())["data"]["topics"]
        for how in ("full", "placebo", "none")
    }
    assert len({facts["sha256"] for facts in said.values()}) == 1  # the topics are the same
    asked = {how: hashlib.sha256() for how in ("placebo", "none")}
    for how, digest in asked.items():
        for topic in with_instructions(resolve_topics(TOPICS).topics, how):
            digest.update(f"{topic.query_id}\t{topic.text}\n".encode())
        assert said[how][how] == {"sha256": digest.hexdigest()}


def test_a_template_is_kept_to_by_bm25_too(tmp_path):
    plain = tandem_ir.search(TOPICS, output=tmp_path / "plain.trec")
    again = tandem_ir.search(TOPICS, query_template="{query} {query}", output=tmp_path / "again.trec")
    for query_id, found in plain.to_dict().items():
        assert again.to_dict()[query_id].values() == pytest.approx([2 * score for score in found.values()], abs=1e-3)
    [step] = yaml.safe_load((tmp_path / "again.trec.yaml").read_text())["method"]["retrieval"]
    assert (step["templates"], len(step["template digest"])) == ({"query": "{query} {query}"}, 64)


@pytest.mark.parametrize("how", [{"system": "bm25+rules"}, {"rerank": "CROSS", "rerank_kind": "cross-encoder", "depth": 2}])
def test_topics_of_a_file_are_searched_and_read_in_a_benchmarks_corpus(tmp_path, cross_encoder, how):
    (tmp_path / "mine.tsv").write_text("1\tjet lag\n")
    how = {name: cross_encoder if value == "CROSS" else value for name, value in how.items()}
    assert tandem_ir.search(str(tmp_path / "mine.tsv"), "infosearch-mini-audience", **how).query_ids == ("1",)


def test_one_folder_is_no_index_of_two_kinds(tmp_path):
    index = tmp_path / "index"
    index.mkdir()
    with pytest.raises(ToolkitError) as error:
        search_job(TOPICS, str(index), ["bm25", "all-minilm-l6-v2"], fuse="rrf")
    assert error.value.message == f"bm25+all-minilm-l6-v2.rrf searches indexes of 2 kinds, {index} is one"


def test_topics_without_instructions_have_none_to_replace_which_is_said(tmp_path, capsys):
    (tmp_path / "mine.tsv").write_text("1\tjet lag\n")
    search_job(str(tmp_path / "mine.tsv"), "infosearch-mini-audience", instruction="placebo")
    assert capsys.readouterr().err == "note: mine has no instructions: what is searched for stays as it is\n"


def test_dry_run_tells_all_steps(tmp_path):
    how = ["--system", "bm25+rules", "--instruction", "placebo", "--rerank", "bge-reranker-v2-m3", "--depth", "7"]
    lines = tandem(tmp_path, "search", "--topics", TOPICS, *how, "--output", "run.trec", "--dry-run").stdout.splitlines()
    assert lines[0] == "instructions: placebo"
    assert lines[2:] == [
        f"system bm25+rules (k1 0.9, b 0.4, rm3 False), 1000 hits, {os.cpu_count()} threads",
        "rerank the best 7 of each query with bge-reranker-v2-m3",
        "write run.trec",
    ]
    assert not list(tmp_path.iterdir())
