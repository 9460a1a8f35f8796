"""Registering a run: from its record and its evaluation, never from one that they do not fit."""

import shutil
import sys

import pytest
import yaml
from command import ROOT
from own_folders import good
from tiny import tiny_bert

import tandem_ir
from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.files.provenance import read_record, write_record
from toolkit.files.provenance.identity import file_digest
from toolkit.files.runs.json_runs import write_json
from toolkit.studies.regress import RegressionPaths, add, register, replay

pytestmark = pytest.mark.lucene

NAME = "infosearch-mini-language.bm25.v1"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    tandem_ir.search("infosearch-mini-language", output=folder / "tuned.trec", k1=1.2, b=0.75)
    return folder


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "made") / "tuned.trec"


@pytest.fixture
def places(tmp_path):
    return RegressionPaths(tmp_path / "entries", tmp_path / "baselines")


def outcomes(places):
    return {result.name: result.outcome for result in replay(places.load(), places)}


def test_a_registered_run_is_met(run, places):
    assert add(run, places) == [
        places.baselines / f"{NAME}.trec.gz",
        places.baselines / f"{NAME}.trec.gz.yaml",
        places.entries / f"{NAME}.yaml",
    ]
    [spec] = places.load()
    assert spec.system["parameters"] == {"k1": 1.2, "b": 0.75, "rm3": False, "hits": 1000}
    assert spec.run["sha256"] == read_record(run)["data"]["run"]["sha256"]
    assert [index["name"] for index in spec.indexes] == ["infosearch-mini-language"]
    assert spec.tolerance == 0
    assert spec.commands[0] == (
        f"tandem search --topics infosearch-mini-language --system bm25 --k1 1.2 --b 0.75 --hits 1000 --output {NAME}.trec"
    )
    assert outcomes(places) == {NAME: "OK"}


def test_each_mode_gets_an_entry_on_the_same_baseline(run, places):
    add(run, places, name="infosearch-mini-language.tuned.v2", each_mode=True)
    assert outcomes(places) == {
        "infosearch-mini-language.ins.tuned.v2": "OK",
        "infosearch-mini-language.ori.tuned.v2": "OK",
        "infosearch-mini-language.rev.tuned.v2": "OK",
        "infosearch-mini-language.tuned.v2": "OK",
    }
    assert {spec.run["baseline"] for spec in places.load()} == {"infosearch-mini-language.tuned.v2.trec.gz"}


def refused(run, places, message, **options):
    before = sorted(places.entries.glob("*"))
    with pytest.raises(ToolkitError, match=message):
        add(run, places, **options)
    assert sorted(places.entries.glob("*")) == before
    assert not before or places.baselines.exists()


def test_a_run_that_was_changed_is_refused(run, places):
    text = run.read_text(encoding="utf-8")
    run.write_text(text.replace(" 1 ", " 2 ", 1), encoding="utf-8")
    refused(run, places, "has SHA-256 .* its record says")
    assert not places.baselines.exists()


def test_a_run_in_another_form_is_refused(run, places):
    other, record = run.with_name("tuned.json"), read_record(run)
    write_json(tandem_ir.read_run(run), other)
    record["data"]["run"] |= {"file": other.name, "sha256": file_digest(other)}
    write_record(other, record)
    refused(other, places, "tuned.json is a run as json: runs are registered as TREC run files")
    assert not places.baselines.exists()


def test_a_run_without_a_record_is_refused(run, places):
    run.with_name("tuned.trec.yaml").unlink()
    refused(run, places, "has no record beside it")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data["topics"].update(sha256="0" * 64),
            "was made with other topics than infosearch-mini-language has now",
        ),
        (
            lambda data: data["indexes"][0]["corpus"].update(content="0" * 64),
            "was made over other documents than infosearch-mini-language has now",
        ),
        (lambda data: data["indexes"][0].update(name="elsewhere"), "was made over elsewhere, which is not found"),
        (lambda data: data["topics"].update(name="topics.mine"), "topics.mine is no benchmark"),
        (lambda data: data.pop("topics"), "lacks 'topics'"),
    ],
)
def test_a_run_that_nobody_could_make_again_is_refused(run, places, change, message):
    record = read_record(run)
    change(record["data"])
    write_record(run, record)
    refused(run, places, message)


def test_an_id_is_taken_once_and_belongs_to_its_benchmark(run, places):
    add(run, places)
    refused(run, places, f"{NAME} is registered already")
    refused(run, places, "mine.v1 is no id for a run of infosearch-mini-language", name="mine.v1")
    refused(run, places, "infosearch-mini.bm25.v2 is no id", name="infosearch-mini.bm25.v2")
    assert add(run, places, replace=True)


def test_a_number_that_moved_names_no_query_and_one_that_is_gone_fails(run, places):
    add(run, places)
    path = places.entry(NAME)
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    numbers = entry["expected"]["all"]
    numbers["nDCG@10"]["ins"] += 1e-12
    numbers["AP"] = {"ins": 0.5}
    path.write_text(yaml.safe_dump(entry), encoding="utf-8")
    [result] = replay(places.load(), places)
    assert {(check.what, check.expected) for check in result.checks if check.outcome == "FAIL"} == {
        ("entry", "as registered"),
        ("all nDCG@10 ins", repr(numbers["nDCG@10"]["ins"])),
        ("all AP ins", "0.5"),
    }
    assert result.changed_queries == ("no query moved: the run is the baseline, line by line",)


def test_a_run_that_cannot_be_made_again_fails_and_says_why(run, places):
    baseline, *_ = add(run, places)
    baseline.unlink()
    [result] = replay(places.load(), places)
    assert result.outcome == "FAIL"
    assert [check.got for check in result.checks] == [f"error: no file {baseline} hint:  check the path"]


def test_packages_that_are_not_installed_are_missing(run, places, monkeypatch):
    def search_job(*arguments, **options):
        raise missing_extra("BM25", "lucene")

    add(run, places)
    monkeypatch.setattr(sys.modules["toolkit.studies.regress.replay"], "search_job", search_job)
    [result] = replay(places.load(), places)
    assert [(check.outcome, check.got) for check in result.checks] == [("MISSING", f"pip install -e '{ROOT}[lucene]'")]


def test_an_entry_without_its_run_names_what_it_lacks(run, places):
    add(run, places)
    path = places.entry(NAME)
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    del entry["run"]["sha256"], entry["benchmark"]["qrels"]
    path.write_text(yaml.safe_dump(entry), encoding="utf-8")
    with pytest.raises(ToolkitError, match=f"regression {NAME} lacks benchmark: qrels, run: sha256"):
        places.load()


@pytest.mark.parametrize(
    ("how", "name", "option"),
    [
        ({"recipe": "infosearch"}, "bm25.infosearch", "--system bm25 --recipe infosearch"),
        ({"recipe": "instructir"}, "bm25.instructir", "--system bm25 --recipe instructir"),
        ({"recipe": "berds"}, "bm25.berds", "--system bm25 --k1 0.9 --b 0.4 --recipe berds"),
        ({"system": "bm25+rules", "hits": 20}, "bm25+rules", "--system bm25+rules --k1 0.9 --b 0.4 --hits 20"),
        ({"instruction": "placebo"}, "bm25.placebo", "--hits 1000 --instruction placebo"),
        (
            {"system": ["bm25", "bm25+rules"], "fuse": "minmax:0.3,0.7", "k1": 1.2},
            "bm25+bm25+rules.minmax",
            "--system bm25 --system bm25+rules --k1 1.2 --b 0.4 --hits 1000 --fuse minmax:0.3,0.7",
        ),
        pytest.param(
            {"system": ["bm25", "all-minilm-l6-v2"], "fuse": "rrf"},
            "bm25+all-minilm-l6-v2.rrf",
            "--k1 0.9 --b 0.4 --hits 1000 --fuse rrf --precision fp32",
            marks=pytest.mark.model,
        ),
    ],
)
def test_whatever_made_a_run_makes_it_again(tmp_path, places, how, name, option):
    tandem_ir.search("infosearch-mini-language", output=tmp_path / "run.trec", **how)
    add(tmp_path / "run.trec", places)
    [spec] = places.load()
    assert spec.name == f"infosearch-mini-language.{name}.v1"
    assert f" {option} " in spec.commands[0]
    assert outcomes(places) == {spec.name: "OK"}


def test_a_query_template_is_no_part_of_an_entry(tmp_path, places):
    tandem_ir.search("infosearch-mini-language", query_template="{query} {query}", output=tmp_path / "run.trec")
    refused(tmp_path / "run.trec", places, "was made by bm25 with templates")


def test_a_model_in_a_folder_is_registered_behind_the_search_too_and_not_among_ours(tmp_path, places, monkeypatch):
    cross = tiny_bert(tmp_path / "mine", "BertForSequenceClassification", num_labels=1)
    how = {"rerank": str(cross), "rerank_kind": "cross-encoder", "depth": 2, "output": tmp_path / "run.trec"}
    tandem_ir.search("infosearch-mini-language", **how)
    with monkeypatch.context() as context:
        context.setattr(register, "ours", lambda: places)
        refused(tmp_path / "run.trec", places, "nobody else has system mine")
    add(tmp_path / "run.trec", places)
    [spec] = places.load()
    assert spec.system["parameters"]["rerank"] == str(cross)
    assert outcomes(places) == {spec.name: "OK"}


def test_a_run_over_folders_of_ones_own_is_made_again_until_they_are_gone(tmp_path, places):
    folder = good(tmp_path / "mine")
    tandem_ir.index(folder / "corpus.jsonl", tmp_path / "index")
    tandem_ir.search(folder, str(tmp_path / "index"), output=tmp_path / "run.trec")
    add(tmp_path / "run.trec", places)
    [spec] = places.load()
    assert (spec.name, spec.benchmark["folder"], spec.index) == ("good.bm25.v1", str(folder), str(tmp_path / "index"))
    assert spec.commands[0].startswith(f"tandem search --topics {folder} --index {tmp_path / 'index'} --system bm25")
    assert outcomes(places) == {"good.bm25.v1": "OK"}
    (folder / "qrels.pos.txt").write_text("q1 0 d1 1\n")
    assert outcomes(places) == {"good.bm25.v1": "FAIL"}
    folder.rename(tmp_path / "elsewhere")
    assert outcomes(places) == {"good.bm25.v1": "MISSING"}


def test_a_search_of_the_benchmarks_candidates_is_made_again_and_one_of_a_files_is_refused(tmp_path, places):
    tandem_ir.search("mfollowir-mini-rus", candidates="candidates", output=tmp_path / "run.trec")
    add(tmp_path / "run.trec", places)
    [spec] = places.load()
    assert spec.name == "mfollowir-mini-rus.bm25.candidates.v1"
    assert " --candidates candidates " in spec.commands[0]
    assert outcomes(places) == {spec.name: "OK"}
    tandem_ir.search("mfollowir-mini-rus", candidates=tmp_path / "run.trec", output=tmp_path / "again.trec")
    refused(tmp_path / "again.trec", places, "was searched among the documents of run.trec")
