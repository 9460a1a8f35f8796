"""`python:MODULE:FACTORY` in data (an entry, a build.yaml, a registered run) imports nothing until the user names it."""

import itertools
import json
import re
import shutil

import pytest
import yaml
from command import tandem

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import NamedSpec, SystemSpec
from toolkit.core.system.python_names import importing
from toolkit.models import choose_system
from toolkit.models.checkpoints.own_systems import load_own
from toolkit.studies.regress import ours, users

MODULE = """
from pathlib import Path
Path(__file__).with_name("imported").touch()

class Own:
    def encode(self, texts, kind): return [[len(text), 1.0] for text in texts]
    def score(self, pairs): return [float(len(doc)) for _, doc in pairs]

class Writes:
    def generate(self, messages): return "Yes"

class Orders:
    def rank(self, query, docs): return list(range(len(docs)))
"""
TOPICS = "infosearch-mini-audience"
RUN = "audience-001-1-ins Q0 audience-021 1 1.0 t\n"
KINDS = {"dense": "Own", "cross-encoder": "Own", "listwise": "Orders", "judge": "Writes", "expander": "Writes"}
count = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module in the current folder that leaves a file when it is imported; and entries of all kinds in a file."""
    name = f"own_{next(count)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "docs.jsonl").write_text('{"id": "audience-021", "text": "of cats"}\n')
    rows = [
        {"name": f"my-{kind}", "description": "d", "kind": kind, "checkpoint": f"python:{name}:{factory}"}
        for kind, factory in KINDS.items()
    ]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return name


@pytest.fixture
def registered(module, tmp_path):
    """The same entries in TANDEM_HOME, which no command names."""
    folder = tmp_path / "home" / "registry" / "systems"
    folder.mkdir(parents=True)
    shutil.copy(tmp_path / "mine.yaml", folder)
    return module


def is_imported(tmp_path):
    return (tmp_path / "imported").exists()


def refused(done, checkpoint):
    """Whether a command ended in one line that says how the object is named."""
    said = re.fullmatch(r"error: .*\nhint:  (.*)\n", done.stderr)
    return done.returncode == 2 and said and f"--trust-python {checkpoint}" in said[1]


SHOWN = {
    "search": ["search", "--topics", TOPICS, "--system", "my-dense", "--dry-run"],
    "search and rerank": ["search", "--topics", TOPICS, "--rerank", "my-cross-encoder", "--dry-run"],
    "rerank": ["rerank", "--run", "run.trec", "--topics", TOPICS, "--system", "my-cross-encoder", "--dry-run"],
    "rerank lists": ["rerank", "--run", "run.trec", "--topics", TOPICS, "--system", "my-listwise", "--dry-run"],
    "encode": ["encode", "docs.jsonl", "--system", "my-dense", "--output", "v", "--dry-run"],
    "index": ["index", "docs.jsonl", "--system", "my-dense", "--output", "i", "--dry-run"],
    "diversify": ["diversify", "run.trec", "--topics", TOPICS, "--system", "my-dense", "--lam", "0.5", "--dry-run"],
    "judge": ["judge", "berds.trec", "--topics", "berds-mini", "--judge", "my-judge", "--output", "q.txt", "--dry-run"],
    "expand": ["expand", "topics", "--topics", "berds-mini", "--from", "my-expander", "--output", "e.jsonl", "--dry-run"],
    "experiment": ["experiment", "my-dense", "--benchmarks", TOPICS, "--output", "e", "--dry-run"],
    "list": ["systems", "list"],
    "show": ["systems", "show", "my-dense"],
    "explain": ["systems", "explain", "my-dense", "--topics", TOPICS, "--query", "audience-001-1-ins"],
}


@pytest.mark.parametrize("what", SHOWN)
def test_showing_and_dry_runs_import_nothing_even_of_a_file_that_is_named(what, module, tmp_path):
    done = tandem(*SHOWN[what], "--systems", "mine.yaml")
    assert not is_imported(tmp_path), done.stderr
    assert done.returncode == 0 or what in ("judge", "expand"), done.stderr


def test_a_dry_run_of_an_object_asks_for_its_kind_in_place_of_importing_it(module, tmp_path):
    words = ("rerank", "--run", "run.trec", "--topics", TOPICS, "--system", f"python:{module}:Own", "--dry-run")
    done = tandem(*words)
    assert (done.returncode, is_imported(tmp_path)) == (2, False)
    assert "--kind" in done.stderr
    assert tandem(*words, "--kind", "cross-encoder", check=True).returncode == 0
    assert not is_imported(tmp_path)


USED = {
    "rerank": (["rerank", "--run", "run.trec", "--topics", TOPICS, "--output", "o.trec"], "cross-encoder"),
    "encode": (["encode", "docs.jsonl", "--output", "v"], "dense"),
    "index": (["index", "docs.jsonl", "--output", "i"], "dense"),
    "check": (["systems", "check"], "dense"),
}


@pytest.mark.parametrize("what", USED)
def test_an_entry_of_the_home_runs_where_the_user_names_the_object_or_the_file(what, registered, tmp_path):
    words, kind = USED[what]
    option, checkpoint = [] if what == "check" else ["--system"], f"python:{registered}:Own"
    done = tandem(*words, *option, f"my-{kind}")
    assert refused(done, checkpoint), done.stderr
    assert not is_imported(tmp_path)
    assert not {"o.trec", "v", "i"} & {path.name for path in tmp_path.iterdir()}
    tandem(*words, *option, f"my-{kind}", "--trust-python", checkpoint, check=True)
    assert is_imported(tmp_path)


@pytest.mark.parametrize("what", ["an entry of a file", "the object"])
def test_what_the_user_names_is_run(what, module, tmp_path):
    named = ["--system", f"python:{module}:Own"] if what == "the object" else ["--system", "my-dense", "--systems", "mine.yaml"]
    tandem("encode", "docs.jsonl", *named, "--output", "v", check=True)
    assert is_imported(tmp_path)


def test_another_object_that_is_named_names_no_other(registered, tmp_path):
    done = tandem("systems", "check", "my-dense", "--trust-python", f"python:{registered}:Writes")
    assert refused(done, f"python:{registered}:Own"), done.stderr
    done = tandem("systems", "check", "my-dense", "--trust-python", "my-dense")
    assert (done.returncode, "'my-dense' names no object of Python" in done.stderr) == (2, True)
    assert not is_imported(tmp_path)


def test_an_entry_cannot_say_that_it_is_named():
    row = {"name": "x", "description": "d", "kind": "dense", "checkpoint": "python:a:b"}
    assert type(registry.loader.to_spec(SystemSpec, row, "x")) is SystemSpec
    with pytest.raises(ToolkitError) as caught:
        load_own(SystemSpec(**row))
    assert "--trust-python python:a:b" in caught.value.hint


def test_names_of_data_name_nothing_in_python_either(module, tmp_path):
    name = f"python:{module}:Own"
    with importing(of_data=True):
        assert not isinstance(choose_system(name), NamedSpec)
        with importing(named=[name]):
            assert isinstance(choose_system(name), NamedSpec)
    assert isinstance(choose_system(name), NamedSpec)
    assert not is_imported(tmp_path)


@pytest.mark.parametrize("where", ["build.yaml", "a file that it names"])
def test_a_build_runs_no_object_that_its_folder_names(where, module, tmp_path):
    tandem("build", "new", "instructir", "mine", check=True)
    path, checkpoint = tmp_path / "mine" / "build.yaml", f"python:{module}:Writes"
    shutil.copy("mine.yaml", "mine/mine.yaml")
    writer = {"system": checkpoint if where == "build.yaml" else "my-expander"}
    content = yaml.safe_load(path.read_text()) | {"models": {"writer": writer, "judge": writer}, "systems": ["mine.yaml"]}
    content["steps"]["seeds"] = {"shortest": 16, "longest": 40, "shortest_document": 400, "longest_document": 600, "most": 1}
    path.write_text(yaml.safe_dump(content))
    tandem("build", "status", "mine", check=True)
    tandem("build", "run", "mine", "--dry-run", check=True)
    assert refused(done := tandem("build", "run", "mine"), checkpoint), done.stderr
    assert not is_imported(tmp_path)
    tandem("build", "run", "mine", "scenarios", "--trust-python", checkpoint)
    assert is_imported(tmp_path)


@pytest.mark.parametrize("how", ["system", "systems", "rerank"])
def test_a_registered_run_names_no_object(how, module, tmp_path):
    spec, checkpoint = registry.regression("infosearch-mini.bm25.v2"), f"python:{module}:Own"
    system = {
        "system": {"name": checkpoint, "parameters": {}},
        "systems": {"name": "x", "systems": ["bm25", checkpoint], "parameters": {"fuse": "rrf"}},
        "rerank": {"name": "bm25", "parameters": {"rerank": checkpoint}},
    }[how]
    row = json.loads(json.dumps(vars(spec) | {"name": "infosearch-mini.own.v1", "system": system}))
    path = users().entry("infosearch-mini.own.v1")
    path.parent.mkdir(parents=True)
    users().baselines.mkdir(parents=True)
    shutil.copy(ours().baselines / spec.run["baseline"], users().baselines)
    path.write_text(yaml.safe_dump(row))
    tandem("regress", "list", check=True)
    tandem("regress", "show", "infosearch-mini.own.v1", check=True)
    done = tandem("regress", "run", "infosearch-mini.own.v1")
    assert refused(done, checkpoint), done.stdout + done.stderr
    assert not is_imported(tmp_path)


RECORDED = {
    "show": ["runs", "show", "run.trec"],
    "verify": ["runs", "verify", "run.trec"],
    "evaluate": ["evaluate", "run.trec", "--benchmark", TOPICS, "--missing", "skip"],
    "report": ["report", "run.trec", "--benchmark", TOPICS, "--missing", "skip", "--output", "r.html"],
    "register": ["regress", "add", "run.trec"],
    "archive": ["reproduce", "--verify", "."],
}


@pytest.mark.parametrize("what", RECORDED)
def test_a_record_names_no_object(what, registered, tmp_path):
    step = {"name": "my-dense", "method": "dense", "checkpoint": f"python:{registered}:Own", "module": registered}
    record = {"tag": "t", "method": {"retrieval": [step], "reranking": [step | {"name": "my-cross-encoder"}]}}
    record["data"] = {"run": {"sha256": "0" * 64}, "topics": {"name": TOPICS, "sha256": "0" * 64}, "indexes": []}
    (tmp_path / "run.trec.yaml").write_text(yaml.safe_dump(record))
    tandem(*RECORDED[what])
    assert not is_imported(tmp_path)
