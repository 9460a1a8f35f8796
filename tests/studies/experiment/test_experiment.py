"""`tandem experiment`: all of several systems on several benchmarks, resumable. BM25 is Okapi's, which needs no Java."""

import json
import os

import pytest
import tiny
import yaml
from command import tandem

import tandem_ir
from toolkit.jobs import RunJob

A, B = "infosearch-mini-audience", "instructir-mini-query-only"
SYSTEMS = ("bm25", "bm25+rules")
BOTH = (*SYSTEMS, "--no-controls", "--recipe", "infosearch", "--benchmarks", A, B, "--hits", "5", "--output", "mine")
RUNS = [f"mine/{name}/{run}.trec" for name in (A, B) for run in ("bm25.infosearch.hits-5", "bm25+rules.infosearch.hits-5")]
OUTPUTS = [f"mine/{A}/scores.json", f"mine/{B}/scores.json", "mine/report.html"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with an experiment that was made, and what was printed."""
    folder = tmp_path_factory.mktemp("made")
    return folder, tandem("experiment", *BOTH, cwd=folder, check=True)


@pytest.fixture
def cheap_report(monkeypatch):
    """A page without figures and tests of significance, which take seconds."""
    monkeypatch.setattr("toolkit.reporting.report.collect.collect", lambda *_, **__: [])
    monkeypatch.setattr("toolkit.reporting.report.make_report.report", lambda *_, **__: None)
    monkeypatch.setattr("toolkit.reporting.report.make_report.to_html", lambda *_, **__: "a page")


@pytest.fixture
def place(made, tmp_path):
    """A copy of it, whose files may be changed."""
    for path in made[0].rglob("*"):
        if path.is_file():
            target = tmp_path / path.relative_to(made[0])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            os.utime(target, ns=(1, 1))
    return tmp_path


def states(folder, *arguments):
    """What a dry run says of each run."""
    done = tandem("experiment", *(arguments or BOTH), "--dry-run", cwd=folder, check=True)
    lines = [line.partition(": ") for line in done.stdout.splitlines() if not line.startswith(" ")]
    return {path: said for path, _, said in lines if path.endswith(".trec")}


def remade(folder):
    """The files that were written since `place` was made."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.stat().st_mtime_ns > 1}


def edit(path, *names, value):
    """Change one fact of a record."""
    record = yaml.safe_load(path.read_text())
    inner = record
    for name in names[:-1]:
        inner = inner[name]
    inner[names[-1]] = value
    path.write_text(yaml.safe_dump(record))


def test_an_experiment_makes_runs_scores_and_a_report(made):
    folder, done = made
    assert all((folder / name).is_file() for name in [*RUNS, *OUTPUTS])
    assert all((folder / f"{name}.yaml").is_file() for name in RUNS)
    assert done.stdout.startswith(f"{A}\n")
    assert f"\n{B}\n" in done.stdout
    alone = tandem("evaluate", *RUNS[:2], "--benchmark", A, "--format", "json", cwd=folder, check=True)
    assert json.loads((folder / OUTPUTS[0]).read_text()) == json.loads(alone.stdout)
    page = (folder / OUTPUTS[2]).read_text()
    assert A in page
    assert B in page


def test_what_is_up_to_date_is_not_made_again(place):
    assert set(states(place).values()) == {"up to date"}
    assert set(states(place)) == set(RUNS)
    again = tandem("experiment", *BOTH, cwd=place, check=True)
    assert remade(place) == set(OUTPUTS[:2])  # evaluation follows judgments, and is done each time
    assert again.stderr.count("up to date") == 4


@pytest.mark.parametrize(
    ("names", "value", "said"),
    [
        (("implementation", "source", "version"), "0.0.9", "made by tandem-ir 0.0.9"),
        (("data", "topics", "sha256"), "0" * 64, "made of other topics"),
        (("data", "run", "sha256"), "0" * 64, "the file is not the one of its record"),
        (("method", "instruction"), "none", "made with other instructions"),
        (("method", "retrieval"), [{"name": "bm25", "hits": 5}], "bm25 has other templates"),
        (("data", "indexes"), [{"name": A, "corpus": {"content": "0"}}], "the documents are others now"),
    ],
)
def test_a_run_whose_record_says_otherwise_is_made_again(place, names, value, said):
    edit(place / f"{RUNS[0]}.yaml", *names, value=value)
    assert states(place) == {RUNS[0]: said, **dict.fromkeys(RUNS[1:], "up to date")}


def test_only_what_is_out_of_date_is_made(place, cheap_report):
    before = (place / RUNS[0]).read_bytes()
    (place / RUNS[0]).write_bytes(before + b"x Q0 d 1 1 t\n")
    (place / RUNS[3]).unlink()
    assert states(place)[RUNS[0]] == "the file is not the one of its record"
    assert states(place)[RUNS[3]] == "not there yet"
    tandem("experiment", *BOTH, cwd=place, check=True)
    records = {f"{name}.yaml" for name in (RUNS[0], RUNS[3])}
    assert remade(place) == {RUNS[0], RUNS[3], *records, *OUTPUTS[:2]}  # the same bytes: the report is still of them
    assert (place / RUNS[0]).read_bytes() == before


def test_another_system_joins_those_that_are_there(place, cheap_report):
    more = ("bm25", "--no-controls", "--recipe", "infosearch", "--benchmarks", A, "--hits", "4", "--output", "mine")
    done = tandem("experiment", *more, cwd=place, check=True)
    assert "hits-4" in done.stderr
    assert remade(place) == {
        *(f"mine/{A}/bm25.infosearch.hits-4.trec{end}" for end in ("", ".yaml")),
        *(f"mine/report.html{end}" for end in ("", ".yaml")),
        OUTPUTS[0],
    }


def test_a_killed_experiment_resumes(tmp_path, monkeypatch, cheap_report):
    make, calls = RunJob.make, []

    def interrupted(job):
        calls.append(job)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return make(job)

    monkeypatch.setattr(RunJob, "make", interrupted)
    done = tandem("experiment", *BOTH, cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr.endswith("interrupted; the same command resumes\n")
    assert list(states(tmp_path).values()) == ["up to date", *["not there yet"] * 3]
    tandem("experiment", *BOTH, cwd=tmp_path, check=True)
    assert len(calls) == 2 + 3


@pytest.mark.parametrize("error", [RuntimeError("no luck"), tandem_ir.ToolkitError("the server is down", "start it", status=1)])
def test_the_failure_of_one_system_does_not_end_the_others(tmp_path, monkeypatch, cheap_report, error):
    make = RunJob.make

    def failing(job):
        if job.tag.startswith("bm25+rules"):
            raise error
        return make(job)

    monkeypatch.setattr(RunJob, "make", failing)
    done = tandem("experiment", *BOTH, cwd=tmp_path)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [line.partition(".trec: ")[0] for line in said] == [f"error: {name.removesuffix('.trec')}" for name in RUNS[1::2]]
    assert getattr(error, "message", str(error)) in said[0]
    assert [name for name in [*RUNS, *OUTPUTS] if (tmp_path / name).exists()] == [*RUNS[::2], *OUTPUTS]
    monkeypatch.setattr(RunJob, "make", make)
    assert tandem("experiment", *BOTH, cwd=tmp_path).returncode == 0


def test_wrong_names_are_refused_together_before_anything_is_made(tmp_path):
    done = tandem(
        "experiment", "bm26", "bm25", "minilm", "--benchmarks", A, "infosearch-mimi", "--output", "mine", cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: 3 things are wrong\n")
    assert all(f"  {name}: no " in done.stderr for name in ("bm26", "minilm", "infosearch-mimi"))
    assert not (tmp_path / "mine").exists()
    (tmp_path / "mine").write_text("")
    assert "mine is a file" in tandem("experiment", "bm25", "--benchmarks", A, "--output", "mine", cwd=tmp_path).stderr
    twice = tandem("experiment", "bm25", "--benchmarks", A, A.replace("-", "/", 2), "--output", "other", cwd=tmp_path)
    assert twice.returncode == 2


@pytest.mark.model
def test_a_reranked_run_follows_the_run_below_it(tmp_path, cheap_report):
    tiny.tiny_bert(tmp_path / "ck", "BertForSequenceClassification", num_labels=1)
    how = ("bm25", "--no-controls", "--recipe", "infosearch", "--benchmarks", A, "--hits", "5", "--output", "mine")
    rerank = (*how, "--rerank", "./ck", "--rerank-kind", "cross-encoder", "--depth", "2")
    second = f"mine/{A}/bm25.infosearch.hits-5.rerank-ck.depth-2.trec"
    assert states(tmp_path, *rerank) == {RUNS[0]: "not there yet", second: "the run that it reranks is made first"}
    tandem("experiment", *rerank, cwd=tmp_path, check=True)
    assert set(states(tmp_path, *rerank).values()) == {"up to date"}
    edit(tmp_path / f"{second}.yaml", "data", "candidates", "sha256", value="0")
    assert states(tmp_path, *rerank)[second] == "the run that it reranks is another one now"
    tiny.tiny_bert(tmp_path / "ck", "BertForSequenceClassification", num_labels=1, seed=3)
    tandem("experiment", *rerank, cwd=tmp_path, check=True)
    (tmp_path / "ck" / "config.json").write_text((tmp_path / "ck" / "config.json").read_text() + "\n")
    assert states(tmp_path, *rerank)[second].startswith("ck: files was")
    (tmp_path / "ck" / "model.safetensors").write_bytes(b"")
    done = tandem("experiment", *rerank, cwd=tmp_path)
    assert done.returncode == 1
    assert f"error: {second}" in done.stderr


def test_an_experiment_from_python(tmp_path, cheap_report):
    how = {"recipe": "infosearch", "hits": 5, "measures": ["WISE"]}
    results = tandem_ir.experiment("bm25", A, output=tmp_path, controls=False, **how)
    run = tandem_ir.search(A, system="bm25", recipe="infosearch", hits=5)
    assert results.scores[A]["WISE"] == tandem_ir.evaluate(run, benchmark=A, measures=["WISE"])["WISE"]
    assert (results.runs[A], results.failures) == ([tmp_path / A / "bm25.infosearch.hits-5.trec"], [])
    assert results.report == tmp_path / "report.html"


def test_workers_of_one_engine_make_the_runs_of_this_process(made, tmp_path, monkeypatch, cheap_report):
    from contextlib import contextmanager

    from workers import HereExecutor

    executor, opened = HereExecutor(2), []

    @contextmanager
    def once(**engine):
        opened.append(engine)
        yield executor

    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    monkeypatch.setattr("toolkit.studies.experiment.opened", once)
    monkeypatch.chdir(tmp_path)
    how = {"recipe": "infosearch", "hits": 5, "output": "mine", "engine": "ray", "workers": 2, "controls": False}
    results = tandem_ir.experiment(SYSTEMS, [A, B], **how)
    assert (opened, results.failures) == ([{"engine": "ray", "workers": 2}], [])
    assert executor.units >= len(RUNS)
    for run in RUNS:
        assert (tmp_path / run).read_bytes() == (made[0] / run).read_bytes()
    assert not list(tmp_path.rglob(".*.units"))


def test_a_wrong_engine_begins_nothing(tmp_path):
    done = tandem("experiment", *BOTH, "--engine", "spark", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no engine 'spark'")
    assert not (tmp_path / "mine").exists()


@pytest.mark.model
def test_each_system_has_a_placebo_run_that_is_read_beside_it(tmp_path, cheap_report):
    tiny.tiny_bert(tmp_path / "ck", "BertForSequenceClassification", num_labels=1)
    how = (*SYSTEMS, "--recipe", "infosearch", "--benchmarks", A, B, "--hits", "5", "--output", "mine")
    rerank = (*how, "--rerank", "./ck", "--rerank-kind", "cross-encoder", "--depth", "2")
    named = [path.removesuffix(".trec") for path in states(tmp_path, *rerank) if "rerank" not in path]
    bm25, rules = (f"mine/{A}/{name}.infosearch.hits-5" for name in SYSTEMS)
    # B has no instructions, and rules have no control
    assert named == [bm25, f"{bm25}.placebo", rules, *(path.replace(A, B) for path in (bm25, rules))]
    done = tandem("experiment", *rerank, cwd=tmp_path, check=True)
    record = yaml.safe_load((tmp_path / f"{bm25}.placebo.rerank-ck.depth-2.trec.yaml").read_text())
    assert record["method"]["instruction"] == "placebo"
    lines = [line.split()[0] for line in done.stdout.partition(B)[0].splitlines() if line[:1].strip() or line.startswith("  p")]
    below = [lines[place - 1] for place, name in enumerate(lines) if name == "placebo"]
    assert below == [bm25.rpartition("/")[2], f"{bm25.rpartition('/')[2]}.rerank-ck.depth-2"]
    assert "placebo" not in done.stdout.partition(B)[2]


def test_a_benchmark_whose_instructions_have_no_placebo_says_so(tmp_path, monkeypatch, cheap_report):
    def none(text):
        raise tandem_ir.ToolkitError("there is no placebo for an instruction in greek script", "none")

    monkeypatch.setattr("toolkit.retrieval.instructions.neutral_text", none)
    how = ("bm25", "--recipe", "infosearch", "--benchmarks", A, "--hits", "5", "--output", "mine")
    done = tandem("experiment", *how, "--dry-run", cwd=tmp_path, check=True)
    assert f"note: {A} has no control run" in done.stderr
    assert "placebo.trec" not in done.stdout
