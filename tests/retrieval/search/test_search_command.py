"""`python -m toolkit.search` as a user calls it, and `tandem_ir.search`."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from command import process, tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.files.formats import read_run

DOCS = [{"id": "a", "text": "red apple"}, {"id": "b", "text": "red red pear"}, {"id": "c", "text": "plum"}]


def search(*arguments, folder=None, **options):
    return tandem("search", *arguments, cwd=folder, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an index and topics."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "c.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    (folder / "topics.tsv").write_text("1\tred\n2\tplum apple\n3\tkiwi\n")
    tandem("index", "c.jsonl", "--output", "fruit", cwd=folder, check=True)
    return folder


@pytest.mark.lucene
def test_standard_output_has_the_run_and_nothing_else(place):
    done = process("search", "--topics", "topics.tsv", "--index", "fruit", "--output", "-", cwd=place)
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [(line[0], line[2], line[3], line[5]) for line in lines] == [
        ("1", "b", "1", "bm25"),
        ("1", "a", "2", "bm25"),
        ("2", "c", "1", "bm25"),
        ("2", "a", "2", "bm25"),
    ]
    assert done.stderr == "note: nothing was found in fruit for 1 of 3 topics (3); they have no lines in the run\n"
    assert not list(place.glob("*.yaml"))


@pytest.mark.lucene
def test_a_changed_file_of_an_index_is_found_where_one_asks(place, tmp_path):
    shutil.copytree(place / "fruit", tmp_path / "fruit")
    shutil.copy(place / "topics.tsv", tmp_path)
    asked = ("--topics", "topics.tsv", "--index", "fruit", "--output", "run.trec", "--verify")
    assert search(*asked, folder=tmp_path).returncode == 0
    (tmp_path / "fruit" / "stray").write_text("x")
    done = search(*asked, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        "error: the files in fruit are not as they were: stray: not part of the index",
        "hint:  build, encode or fetch it again; remove what is no part of it",
    ]
    (tmp_path / "fruit" / "tandem.yaml").unlink()
    done = search(*asked, folder=tmp_path)
    assert "note: no record has the digests of the files of index fruit: they are not compared" in done.stderr


@pytest.mark.lucene
def test_the_default_name_has_topics_index_system_and_what_is_not_default(place):
    done = search("--topics", "topics.tsv", "--index", "fruit", "--k1", "1.2", "--hits", "1", folder=place)
    run = place / "runs/run.topics.fruit.bm25.k1-1.2.hits-1.trec"
    assert done.stderr.splitlines()[-1] == "runs/run.topics.fruit.bm25.k1-1.2.hits-1.trec: 2 queries, 2 documents"
    metadata = yaml.safe_load(run.with_name(run.name + ".yaml").read_text())
    assert metadata["tag"] == "bm25"
    assert metadata["method"]["retrieval"][0]["k1"] == 1.2
    assert metadata["data"]["run"]["sha256"] == hashlib.sha256(run.read_bytes()).hexdigest()
    assert metadata["data"]["topics"]["sha256"] == hashlib.sha256(b"1\tred\n2\tplum apple\n3\tkiwi\n").hexdigest()
    assert metadata["data"]["indexes"][0]["documents"] == 3
    assert "test collection" not in metadata["data"]  # the topics are a file's
    hardware, libraries = metadata["platform"]["hardware"], metadata["platform"]["software"]["libraries"]
    assert (hardware["cpu"]["number of cores"], hardware["ram"].split()[1]) == (os.cpu_count(), "GB")
    assert f"pyserini=={version('pyserini')}" in libraries["python"]
    assert metadata["implementation"]["executable"]["cmd"].startswith("python -m toolkit.search --topics topics.tsv")


@pytest.mark.lucene
def test_a_device_gets_the_run_and_nothing_lies_beside_it(place):
    os.mkfifo(place / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=place, stdout=subprocess.PIPE, text=True)
    how = ["--topics", "topics.tsv", "--index", "fruit", "--quiet"]
    assert search(*how, "--output", "pipe", folder=place).returncode == 0
    assert len(reader.communicate()[0].splitlines()) == 4
    assert not list(place.glob("pipe*.yaml"))


@pytest.mark.lucene
def test_gzip_tag_and_metadata_go_where_they_are_named(place):
    done = search(
        *("--topics", "topics.tsv", "--index", "fruit", "--tag", "mine", "--quiet"),
        *("--output", "run.trec.gz", "--metadata", "about.yaml"),
        folder=place,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert read_run(place / "run.trec.gz").tag == "mine"
    assert yaml.safe_load((place / "about.yaml").read_text())["tag"] == "mine"
    assert not (place / "run.trec.gz.yaml").exists()


@pytest.mark.lucene
def test_dry_run_says_what_would_be_done_and_does_nothing(place):
    done = search("--topics", "topics.tsv", "--index", "fruit", "--output", "never.trec", "--dry-run", folder=place)
    assert done.stdout.splitlines() == [
        "search 3 topics of topics (all) with the index in fruit",
        f"system bm25 (k1 0.9, b 0.4, rm3 False), 1000 hits, {os.cpu_count()} threads",
        "write never.trec",
    ]
    assert not (place / "never.trec").exists()


@pytest.mark.lucene
def test_several_topics_make_one_run_that_reranking_knows_the_topics_of(place, capsys):
    from toolkit.datasets.recorded_topics import recorded_topics
    from toolkit.files.provenance import Recorded
    from toolkit.search import main, parser
    from toolkit.shell import guard

    several = ["--topics", "infosearch-mini-audience-ori", "--topics", "infosearch-mini-keyword-rev"]
    run = place / "several.trec"
    assert guard(parser, main, [*several, "--output", str(run)]) == 0, capsys.readouterr().err
    modes = {query_id.partition("-")[0]: query_id.rpartition("-")[2] for query_id in read_run(run).query_ids}
    assert modes == {"audience": "ori", "keyword": "rev"}
    assert recorded_topics(Recorded(str(run), read_run(run))).name == "infosearch-mini-audience-ori+infosearch-mini-keyword-rev"
    assert guard(parser, main, [*several[:2], *several[:2], "--output", str(run)]) == 2
    assert "error: query id 'audience-001-1-ori' is in infosearch-mini-audience-ori and in" in capsys.readouterr().err


@pytest.mark.lucene
def test_a_benchmark_is_searched_in_each_mode_and_dimension_over_its_own_corpus(home, tmp_path):
    done = search("--topics", "infosearch-mini", folder=tmp_path)
    assert done.returncode == 0
    run = read_run(tmp_path / "runs/run.infosearch-mini.infosearch-mini.bm25.trec")
    for query_id, docs in run.to_dict().items():
        dimension, mode = query_id.partition("-")[0], query_id.rpartition("-")[2]
        assert mode in ("ori", "ins", "rev")
        assert {doc_id.rpartition("-")[0] for doc_id in docs} == {dimension}


@pytest.mark.lucene
def test_an_index_without_judgments_is_said(place):
    done = search("--topics", "infosearch-mini-audience-ins", "--index", "fruit", "--output", "other.trec", folder=place)
    assert "note: infosearch-mini has no judgments for the documents of fruit" in done.stderr


@pytest.mark.lucene
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--topics", "topics.tsv"], "error: topics names no corpus to search"),
        (["--topics", "topics.tsv", "--index", "."], "error: . holds no Lucene index"),
        (["--topics", "topics.tsv", "--index", "msmarco-v1-pasage"], "error: no index 'msmarco-v1-pasage'"),
        (["--topics", "no-topics.tsv", "--index", "fruit"], "error: no topics 'no-topics.tsv'"),
        (["--topics", "topics.tsv", "--index", "fruit", "--k1", "-1"], "error: k1 is -1.0"),
        (["--topics", "topics.tsv", "--index", "fruit", "--k1", "1e39"], "error: k1 is 1e+39"),
        (["--topics", "topics.tsv", "--index", "fruit", "--hits", "0"], "error: hits is 0"),
        (["--topics", "topics.tsv", "--index", "fruit", "--language", "ru"], "error: index fruit was made for language en"),
        (["--topics", "topics.tsv", "--index", "fruit", "--system", "bm52"], "error: no system 'bm52'"),
        (["--topics", "twice.tsv", "--index", "fruit"], "error: "),
    ],
)
def test_wrong_usage_is_one_error_and_one_hint_line_and_no_run(place, arguments, error):
    (place / "twice.tsv").write_text("1\tred\n1\tplum\n")
    done = search(*arguments, "--output", "wrong.trec", folder=place)
    assert done.returncode == 2
    first, *_, hint = done.stderr.splitlines()
    assert first.startswith(error)
    assert hint.startswith("hint:  ")
    assert not (place / "wrong.trec").exists()


@pytest.mark.usefixtures("no_pauses")
def test_without_network_a_prebuilt_index_says_what_is_missing_in_one_line(home, tmp_path):
    (tmp_path / "topics.tsv").write_text("1\tred\n")
    environment = {**os.environ, "TANDEM_INDEX_MIRROR": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = search("--topics", "topics.tsv", "--index", "msmarco", folder=tmp_path, env=environment)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "msmarco" in errors[0]
    assert "GB" in done.stderr


@pytest.mark.process
def test_help_loads_nothing_that_takes_long():
    code = (
        "import json, sys\n"
        "from toolkit.search import parser\n"
        "parser().format_help()\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pyserini", "jnius", "pandas", "torch", "transformers", "ir_datasets", "ir_measures", "faiss"}
    assert heavy.isdisjoint(json.loads(done.stdout))


@pytest.mark.lucene
def test_the_search_path_loads_neither_pandas_nor_torch_nor_ir_datasets(place):
    code = (
        "import json, sys, tandem_ir\n"
        "tandem_ir.search('topics.tsv', 'fruit', output='light.trec')\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    heavy = {"pandas", "torch", "transformers", "ir_datasets", "ir_measures", "pyserini", "faiss", "scipy"}
    assert heavy.isdisjoint(json.loads(done.stdout))


@pytest.mark.lucene
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see that the index is open")
def test_ctrl_c_ends_it_with_130_and_leaves_no_file(place):
    words = " ".join(f"word{number}" for number in range(400))
    (place / "many.tsv").write_text("".join(f"{number}\t{number} red {words}\n" for number in range(4_000)))  # some ten seconds
    command = [sys.executable, "-m", "toolkit.search", "--topics", "many.tsv", "--index", "fruit", "--output", "half.trec"]
    with subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while str(place / "fruit") not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert not list(place.glob("*half*"))


@pytest.mark.lucene
def test_the_call_from_python_returns_the_run_and_writes_it_where_it_is_asked_to(place, monkeypatch):
    monkeypatch.chdir(place)
    run = tandem_ir.search("topics.tsv", "fruit", hits=1)
    assert {query_id: list(docs) for query_id, docs in run.to_dict().items()} == {"1": ["b"], "2": ["c"]}
    tandem_ir.search("topics.tsv", "fruit", output="made.trec", rm3=True)
    assert read_run("made.trec").query_ids == ("1", "2")
    with pytest.raises(TypeError, match="'k2'"):
        tandem_ir.search("topics.tsv", "fruit", k2=1)
    with pytest.raises(ToolkitError, match="no parameter 'k2'"):
        tandem_ir.Retrieve("bm25", k2=1)
    with pytest.raises(ToolkitError, match="hits, k1 beside steps"):
        tandem_ir.search("topics.tsv", system=tandem_ir.Retrieve("bm25", index="fruit"), hits=5, k1=1.2)


@pytest.mark.lucene
def test_an_own_corpus_that_changed_is_indexed_again(home, monkeypatch):
    from toolkit.core.documents import Doc
    from toolkit.datasets import load
    from toolkit.retrieval.index import benchmark_index

    benchmark = load("infosearch-mini")
    first = benchmark_index(benchmark, "audience").open(1)
    changed = [Doc("audience-new", "", "text"), *benchmark.docs("audience")]
    monkeypatch.setattr(benchmark, "docs", lambda group: iter(changed))
    source = benchmark_index(benchmark, "audience")
    assert "built first" in source.plan
    assert source.open(1).record["documents"] == len(changed)
    assert first.record["documents"] == len(changed) - 1
    assert "built first" not in benchmark_index(benchmark, "audience").plan


@pytest.mark.lucene
@pytest.mark.process
def test_a_bm25_search_loads_few_of_our_modules(tmp_path):
    code = (
        "import runpy, sys\n"
        "sys.argv = ['tandem search', '--topics', 'infosearch-mini-audience-ins', '--output', 'run.trec']\n"
        "try:\n"
        "    runpy.run_module('toolkit.search', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "print(sum(name.split('.')[0] == 'toolkit' for name in sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 90
