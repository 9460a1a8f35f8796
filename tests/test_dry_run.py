"""`--dry-run` refuses what the command would refuse, and neither loads nor downloads anything to know it."""

import importlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from toolkit.datasets import load
from toolkit.shell import guard

MINI = ("--topics", "infosearch-mini-audience")
RERANK = ("rerank", "--run", "r.trec", "--topics", "t.tsv", "--docs", "c.tsv", "--output", "o.trec")
# command -> the kind of its system, and the options that name it
COMMANDS = {
    ("search", *MINI, "--output", "o.trec"): ("dense", "--system"),
    ("search", *MINI, "--output", "o.trec", "--depth", "5"): ("cross-encoder", "--rerank"),
    ("encode", *MINI, "--output", "v"): ("dense", "--system"),
    ("encode", "c.tsv", "--output", "v"): ("dense", "--system"),
    ("index", "c.tsv", "--output", "i"): ("multivector", "--system"),
    RERANK: ("cross-encoder", "--system"),
    (*RERANK, "--depth", "5"): ("listwise", "--system"),
    ("judge", "r.trec", "--topics", "berds-mini-test", "--output", "q"): ("judge", "--judge"),
    ("expand", "topics", "--topics", "t.tsv", "--output", "q.jsonl"): ("expander", "--from"),
    ("diversify", "r.trec", "--docs", "c.tsv", "--lam", "0.5", "--output", "o.trec"): ("dense", "--system"),
}
REFUSED = {
    "coded": ({"checkpoint": "org/coded", "remote_code": True}, "coded is not loaded: org/coded computes something else"),
    "gone": ({"checkpoint": "./gone"}, "no folder ./gone"),
    "empty": ({"checkpoint": "./empty"}, "empty has no safetensors, and no pytorch_model.bin or GGUF file in their place"),
    "gated": ({"checkpoint": "org/gated", "gated": True}, "org/gated is gated and HF_TOKEN is not set"),
    "base": ({"checkpoint": "org/a", "base": "org/base", "gated": True}, "org/base is gated and HF_TOKEN is not set"),
    "lone": ({"checkpoint": "./lone"}, "lone is an adapter, and no base is named that it belongs to"),
}


def run(*argv):
    shell = importlib.import_module(f"toolkit.{argv[0]}")
    return guard(shell.parser, shell.main, [*argv[1:], "--dry-run"])


@pytest.fixture
def place(tmp_path, home, monkeypatch):
    """A folder with topics, documents, a run, and entries of every kind that cannot be used."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    monkeypatch.setattr(
        "toolkit.models.checkpoints.hub.list_files", lambda *asked: pytest.fail(f"the hub is asked for {asked}")
    )
    Path("t.tsv").write_text("1\tred\n")
    Path("c.tsv").write_text("d1\tred plum\n")
    Path("r.trec").write_text("1 Q0 d1 1 1.0 x\n")
    Path("empty").mkdir()
    Path("lone").mkdir()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        Path("lone", name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    "command",
    # diversify asks torch for the device, by which it knows what is encoded already
    [pytest.param(one, marks=[pytest.mark.model] if one[0] == "diversify" else []) for one in COMMANDS],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_cannot_be_loaded_is_refused(place, capsys, command, name):
    kind, option = COMMANDS[command]
    entry = {"name": name, "description": "d", "kind": kind, **REFUSED[name][0]}
    Path("mine.yaml").write_text(json.dumps(entry))
    before = sorted(place.rglob("*"))
    systems = ("--systems", "mine.yaml")
    status = run(*command, option, name, *systems)
    error = capsys.readouterr().err.splitlines()[0]
    assert error.startswith("error: ")
    assert REFUSED[name][1] in error
    assert status in (1, 2)
    assert [path for path in sorted(place.rglob("*")) if "home" not in path.parts] == before


def test_trust_and_a_token_are_enough_to_plan(place, capsys, monkeypatch):
    entries = [{"name": name, "description": "d", "kind": "dense", **REFUSED[name][0]} for name in ("coded", "gated")]
    Path("mine.yaml").write_text(json.dumps(entries))
    how = ("search", *MINI, "--systems", "mine.yaml", "--output", "o.trec", "--system")
    assert run(*how, "coded", "--trust-remote-code") == 0, capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_x")
    assert run(*how, "gated") == 0, capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror")  # which may ask for nothing
    assert run(*how, "gated") == 0, capsys.readouterr().err


def test_what_a_server_computes_needs_no_checkpoint(place, capsys):
    entry = {"name": "coded", "description": "d", "kind": "listwise", "loader": "endpoint", **REFUSED["coded"][0]}
    Path("mine.yaml").write_text(json.dumps(entry))
    assert run(*RERANK, "--system", "coded", "--systems", "mine.yaml") == 0, capsys.readouterr().err
    assert run(*RERANK, "--system", "coded", "--systems", "mine.yaml", "--loader", "transformers") == 2


@pytest.mark.parametrize("how", [("--system", "bge-large-en-v1.5"), ("--recipe", "infosearch")])
def test_documents_that_a_copy_lacks_are_missed_before_the_search(place, capsys, monkeypatch, how):
    benchmark = load("infosearch-mini")
    monkeypatch.setitem(benchmark._parts, "audience", replace(benchmark.part("audience"), docs=None))
    assert run("search", *MINI, "--output", "o.trec", *how) == 2
    assert capsys.readouterr().err.startswith("error: the documents of infosearch-mini-audience are not on this machine")
