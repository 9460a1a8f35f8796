"""Without an extra, a command that needs it says in one line how to install it; the others do their work."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT

from toolkit.core.errors import EXTRAS, missing_module
from toolkit.datasets import resolve_topics

pytestmark = pytest.mark.process

# every module of the extras is not there; then one command after the other, each through its own shell
ALONE = """
import contextlib, importlib, io, json, sys
import scipy.stats  # it asks a torch that is None for its tensors; where there is none it does not
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from toolkit.shell import guard
for name, *argv in json.loads(sys.argv[2]):
    shell = importlib.import_module(f"toolkit.{name}")
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        status = guard(shell.parser, shell.main, argv)
    print(json.dumps([status, *(stream.buffer.getvalue().decode() for stream in streams)]))
"""
MINI = ("--topics", "infosearch-mini-audience")
DENSE, CROSS = ("--system", "all-minilm-l6-v2"), ("--system", "./ck", "--kind", "cross-encoder")
BM25 = str(Path(__file__).resolve().parents[1] / "runs" / "baselines" / "infosearch-mini.bm25.v2.trec.gz")
RERANK = ("rerank", "--run", "r.trec", "--topics", "t.tsv", "--docs", "c.tsv")
NEEDS = {
    "lucene": [
        ("search", *MINI),
        ("search", *MINI, "--dry-run"),
        ("search", *MINI, "--recipe", "instructir"),
        ("index", "c.tsv", "--output", "i"),
        ("index", "c.tsv", "--output", "i", "--dry-run"),
        ("expand", "run", "--topics", "berds-mini-test", "--from", "given", "--index", "berds-mini-test", "--output", "e.trec"),
    ],
    "dense": [
        ("search", *MINI, *DENSE),
        ("search", *MINI, *DENSE, "--dry-run"),
        ("search", *MINI, "--system", "colbertv2"),
        ("search", *MINI, "--recipe", "infosearch", "--rerank", "./ck", "--rerank-kind", "cross-encoder"),
        ("encode", *MINI, *DENSE, "--output", "v"),
        ("encode", "c.tsv", *DENSE, "--output", "v", "--dry-run"),
        ("index", "c.tsv", *DENSE, "--output", "i"),
        ("index", "c.tsv", *DENSE, "--output", "i", "--dry-run"),
        ("index", "c.tsv", "--system", "splade-v3", "--output", "i"),
        (*RERANK, *CROSS),
        (*RERANK, *CROSS, "--dry-run"),
        (*RERANK, "--system", "./ck", "--kind", "listwise"),
        ("diversify", "r.trec", "--docs", "c.tsv", *DENSE),
        ("judge", "r.trec", "--topics", "berds-mini-test", "--judge", "nli-deberta-v3-base"),
        ("expand", "topics", "--topics", "t.tsv", "--from", "./ck", "--output", "q.jsonl"),
    ],
    "build": [("build", "check", "infosearch-mini-audience")],
    "pages": [
        ("report", BM25, "--benchmark", "infosearch-mini", "--output", "p.html"),
        ("report", BM25, "--benchmark", "infosearch-mini", "--plots", "figures"),
    ],
}
ALONE_TOO = [
    ("search", *MINI, "--recipe", "infosearch", "--output", "okapi.trec"),
    ("evaluate", "okapi.trec", "--benchmark", "infosearch-mini-audience"),
    ("systems", "explain", "bm25", *MINI, "--query", "audience-001-1"),
    ("systems", "show", "all-minilm-l6-v2"),
    ("index", "list", "msmarco"),
    ("report", "okapi.trec", "--benchmark", "infosearch-mini-audience", "--format", "latex"),
    ("doctor",),
]


def run(folder, commands, modules):
    call = [sys.executable, "-c", ALONE, json.dumps(modules), json.dumps(commands)]
    done = subprocess.run(call, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr  # a traceback of a command ends all of them
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.tsv").write_text("1\tred\n")
    (tmp_path / "c.tsv").write_text("d1\tred plum\n")
    (tmp_path / "r.trec").write_text("1 Q0 d1 1 1.0 x\n")
    (tmp_path / "ck").mkdir()
    (tmp_path / "ck" / "config.json").write_text("{}")
    (tmp_path / "ck" / "model.safetensors").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize("extra", NEEDS)
def test_what_needs_an_extra_says_how_to_install_it(folder, home, extra):
    modules = [module for modules in EXTRAS.values() for module in modules]
    for command, (status, _, err) in zip(NEEDS[extra], run(folder, NEEDS[extra], modules), strict=True):
        *_, error, hint = err.splitlines()
        otherwise = "; or search with --recipe infosearch, a BM25 that needs no Java" if extra == "lucene" else ""
        assert (status, hint) == (1, f"hint:  pip install -e '{ROOT}[{extra}]'{otherwise}"), (command, err)
        assert error.startswith("error: "), command
        assert error.endswith(" needs packages that are not installed"), command


def test_what_needs_none_works_without_any(folder, home):
    modules = [module for modules in EXTRAS.values() for module in modules]
    for command, (status, out, err) in zip(ALONE_TOO, run(folder, ALONE_TOO, modules), strict=True):
        assert status == 0, (command, err)
        assert out or f"okapi.trec: {len(resolve_topics(MINI[1]).topics)} queries" in err, command


def test_what_is_sent_is_shown_without_token_ids(folder, home):
    command = ("systems", "explain", "all-minilm-l6-v2", *MINI, "--query", "audience-001-1-ori")
    [(status, out, _)] = run(folder, [command], EXTRAS["dense"])
    assert status == 0
    needed = f"all-minilm-l6-v2 needs packages that are not installed: pip install -e '{ROOT}[dense]'"
    assert f"  no token ids: {needed}" in out.splitlines()


def test_any_module_of_an_extra_is_answered_with_it():
    assert missing_module(ModuleNotFoundError(name="sentence_transformers.util")).hint == f"pip install -e '{ROOT}[dense]'"
    assert missing_module(ModuleNotFoundError(name="readability")).hint == f"pip install -e '{ROOT}[web]'"
    assert missing_module(ModuleNotFoundError(name="toolkit.nothing")) is None
