"""A command leaves nothing in the temporary folder, and writes nothing but its named outputs and below TANDEM_HOME."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT

from toolkit.__main__ import commands

pytestmark = [pytest.mark.process, pytest.mark.lucene, pytest.mark.model, pytest.mark.slow]

AUDIENCE = "infosearch-mini-audience"
CODE = """
class Words:
    def score(self, pairs):
        return [float(len(set(query.split()) & set(text.split()))) for query, text in pairs]

    def generate(self, messages):
        return "Yes" if "Document" in messages[-1]["content"] else '{"for": "It is good.", "against": "It is bad."}'
"""
# in the order in which they run, each as a process of its own: the command, and what it is told to write
RUN = (
    (f"search --topics {AUDIENCE} --output bm25.trec", "bm25.trec"),
    (f"search --topics {AUDIENCE} --system bm25+rules --output rules.trec", "rules.trec"),
    (f"search --topics {AUDIENCE} --system all-minilm-l6-v2 --output minilm.trec", "minilm.trec"),
    ("search --topics berds-mini-test --output berds.trec", "berds.trec"),
    (f"evaluate bm25.trec --benchmark {AUDIENCE} --references", ""),
    (f"diff bm25.trec rules.trec --benchmark {AUDIENCE} --html diff.html --exit-zero", "diff.html"),
    (f"gate bm25.trec bm25.trec --benchmark {AUDIENCE} --junit gate.xml", "gate.xml"),
    (f"report bm25.trec rules.trec --benchmark {AUDIENCE} --output report.html", "report.html"),
    (f"report bm25.trec rules.trec --benchmark {AUDIENCE} --site public", "public"),
    (f"analyze overlap minilm.trec --filter-run bm25.trec --filter-depth 10 --benchmark {AUDIENCE}", ""),
    ("benchmarks list", ""),
    ("benchmarks export infosearch-mini-audience --to exported", "exported"),
    (f"index {AUDIENCE} --output index", "index"),
    (f"search --topics {AUDIENCE}-ori --index index --output own.trec", "own.trec"),
    (f"encode {AUDIENCE} --system all-minilm-l6-v2 --output vectors", "vectors"),
    ("fuse bm25.trec minilm.trec --output fused.trec", "fused.trec"),
    (f"rerank --run own.trec --topics {AUDIENCE}-ori --system python:words:Words --output reranked.trec", "reranked.trec"),
    ("expand topics --topics berds-mini-test --from python:words:Words --output queries.jsonl", "queries.jsonl"),
    ("judge berds.trec --topics berds-mini-test --judge python:words:Words --depth 2 --output labels.qrels", "labels.qrels"),
    ("diversify berds.trec --topics berds-mini-test --system all-minilm-l6-v2 --lam 0.5 --output diverse.trec", "diverse.trec"),
    ("experiment bm25 --benchmarks infosearch-mini-audience --output mine", "mine"),
    ("build new instructir built", "built"),
    ("build run built", "built"),
    ("build benchmark built --to people", "people"),
    (f"build check {AUDIENCE}", ""),
    ("runs verify bm25.trec", ""),
    ("runs convert bm25.trec --to json --output bm25.json", "bm25.json"),
    ("regress run infosearch-mini.bm25.v2", ""),
    ("reproduce infosearch --dry-run", ""),
    ("measures list", ""),
    ("measures references infosearch-mini-audience", ""),
    ("published prompts infosearch --from words.py --to prompts", ""),
    ("systems list", ""),
    (f"systems explain bm25 --topics {AUDIENCE} --query audience-001-1", ""),
    ("cache list", ""),
    ("cite bm25.trec", ""),
    ("completion bash", ""),
    ("doctor", ""),
)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} if folder.is_dir() else set()


def of_java(pid):
    """What a JVM may leave in /tmp, whatever TMPDIR says, which is also where others' files are."""
    return [str(path) for path in (*Path("/tmp").glob(f".*{pid}*"), *Path("/tmp").glob(f"hsperfdata_*/{pid}"))]


def test_a_command_leaves_nothing_behind(tmp_path):
    """One test: each worker that had a part of them would run all commands."""
    place = tmp_path
    work, temporary, user, home = (place / name for name in ("work", "temporary", "user", "home"))
    for folder in (work, temporary, user):
        folder.mkdir()
    (work / "words.py").write_text(CODE)
    env = {**os.environ, "TMPDIR": str(temporary), "HOME": str(user), "TANDEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    env = {name: value for name, value in env.items() if not name.startswith("XDG_")} | {"HF_HUB_OFFLINE": "1"}
    known, found = files(work), {}
    for command, output in RUN:
        words = [sys.executable, "-B", "-m", "toolkit", *command.split()]
        process = subprocess.Popen(words, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said, _ = process.communicate()
        new = files(work) - known
        named = (output, f"{output}.yaml", f"{output}/") if output else ()
        stray = [name for name in new if name not in named and not (named and name.startswith(named[2]))]
        elsewhere = (name for name in files(place) if name.split("/")[0] not in ("work", "home"))
        stray += [*(name for name in elsewhere if name not in ("temporary", "user")), *of_java(process.pid)]
        expected = 2 if command.startswith("published") else 0  # no paper's text comes with Tandem
        if stray or process.returncode != expected:
            found[command] = (process.returncode, said, stray)
        known |= new
    assert found == {}


def test_every_command_is_looked_at():
    assert {command.split()[0] for command, _ in RUN} == set(commands())
