"""Every command that takes a run leaves out a record that is of another file, with one warning."""

import json

import numpy as np
import pytest
from command import tandem
from endpoint import Script, serving

from toolkit.files.formats.vectors import VectorStore
from toolkit.files.provenance import write_record
from toolkit.retrieval.rerank import Rerank

RUN = "q1 Q0 a 1 2 mine\nq1 Q0 b 2 1 mine\n"
STALE = {
    "tag": "stale",
    "implementation": {"executable": {"wall time": 4711}},
    "method": {"retrieval": [{"name": "stale", "method": "bm25"}], "instruction": "stale"},
    "data": {
        "test collection": {"name": "stale"},
        "topics": {"name": "stale", "queries": 1, "sha256": "0" * 64},
        "indexes": [{"name": "stale"}],
        "run": {"sha256": "0" * 64},
    },
}
JUDGE = (
    "{name: scripted, description: a server, kind: judge, loader: endpoint, parameters: {model: scripted, prompt_source: x}}"
)
TEXTS = ("--topics", "t.jsonl", "--docs", "d.jsonl", "--output", "out")
COMMANDS = {
    "fuse": ("run.trec", "other.trec", "--output", "out"),
    "rerank": ("--run", "run.trec", *TEXTS, "--system", "ms-marco-minilm-l6-v2"),
    "judge": ("run.trec", *TEXTS, "--systems", "judge.yaml", "--judge", "scripted"),
    "diversify": ("run.trec", "--vectors", "vectors", "--lam", "0.5", "--output", "out"),
    "expand merge": ("lists.trec", "--output", "out"),
    "runs pool": ("run.trec", "other.trec", "--output", "out"),
    "runs convert": ("run.trec", "--to", "json", "--output", "out"),
    "report": ("run.trec", "--qrels", "q.txt", "-m", "RR", "--format", "csv", "--output", "out"),
}


@pytest.fixture
def place(tmp_path):
    """Runs with records of other runs, and whatever the commands need beside them."""
    for name, text in (("run", RUN), ("lists", RUN.replace("q1", "q1.1")), ("other", RUN.replace("mine", "other"))):
        (tmp_path / f"{name}.trec").write_text(text)
        if name != "other":
            write_record(tmp_path / f"{name}.trec", STALE)
    (tmp_path / "q.txt").write_text("q1 0 a 1\n")
    (tmp_path / "t.jsonl").write_text(json.dumps({"query_id": "q1", "text": "a question", "perspectives": ["yes", "no"]}))
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"id": name, "text": f"text {name}"}) + "\n" for name in "ab"))
    (tmp_path / "judge.yaml").write_text(JUDGE)
    vectors = VectorStore(tmp_path / "vectors", {"side": "passage", "dimension": 2, "system": "fake"})
    vectors.add(["a", "b"], np.eye(2, dtype=np.float32), "0")
    vectors.finish({})
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_record_of_another_run_is_left_out(place, home, monkeypatch, name):
    monkeypatch.setattr(Rerank, "_pointwise", lambda self, parts, tools: ([part.run for part in parts], {}))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving(Script(lambda messages: "Yes")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base)
        done = tandem(*name.split(), *COMMANDS[name], cwd=place)
    assert done.returncode == 0, done.stderr
    own = "lists" if name == "expand merge" else "run"
    assert done.stderr.splitlines().count(f"warning: {own}.trec.yaml is the record of another file: left out") == 1
    made = [path.read_text() for path in (place / "out", place / "out.yaml") if path.exists()]
    assert len(made) == (1 if name == "report" else 2)
    for text in made:
        assert not any(word in text for word in ("stale", "4711"))


def test_the_benchmark_of_another_runs_record_is_not_evaluated_against(place):
    done = tandem("evaluate", "run.trec", cwd=place)
    assert done.returncode == 2
    warning, error, *_ = done.stderr.splitlines()
    assert warning == "warning: run.trec.yaml is the record of another file: left out"
    assert error == "error: evaluation needs a benchmark, or qrels: no record says which benchmark run.trec is of"


def test_verifying_a_run_says_that_its_record_is_of_another(place):
    done = tandem("runs", "verify", "run.trec", cwd=place)
    assert done.returncode == 1
    assert "M002" in done.stdout
