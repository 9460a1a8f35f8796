"""`tandem diversify` as a user calls it."""

import json

import numpy as np
import pytest
import yaml
from command import process, tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.files.formats import read_run
from toolkit.files.formats.vectors import VectorStore
from toolkit.jobs.diversify_job import DiversifyJob
from toolkit.registry.loader import FOLDER
from toolkit.registry.published.paper_tables import cells_of

# a and b are one text; d holds the second perspective
RUN = "q1 Q0 a 1 4 bm25\nq1 Q0 b 2 3 bm25\nq1 Q0 c 3 2 bm25\nq2 Q0 a 1 8 bm25\n"
DEV = "p1 Q0 a 1 9 bm25\n" + "".join(f"p1 Q0 b{n} {n + 2} {8 - n} bm25\n" for n in range(5)) + "p1 Q0 d 7 1 bm25\n"
QRELS = "p1 1 a 1\np1 2 d 1\n"


def diversify(*arguments, folder):
    return tandem("diversify", *arguments, cwd=folder)


def top(path):
    return {query_id: [doc.doc_id for doc in docs] for query_id, docs in read_run(path).rankings()}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "dev.trec").write_text(DEV)
    (tmp_path / "dev.qrels").write_text(QRELS)
    vectors = {"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 1], **{f"b{n}": [1, 0] for n in range(5)}}
    store = VectorStore(tmp_path / "vectors", {"side": "passage", "dimension": 2, "system": "fake"})
    store.add(list(vectors), np.array(list(vectors.values()), np.float32), "0")
    store.finish({})
    return tmp_path


def test_a_run_for_each_lambda(place):
    done = diversify("run.trec", "--vectors", "vectors", "--lam", 0.5, 1, folder=place)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines() == [f"runs/run.mmr-{lam}.trec: 2 queries, 4 documents" for lam in ("0.5", "1")]
    assert top(place / "runs/run.mmr-0.5.trec") == {"q1": ["a", "c", "b"], "q2": ["a"]}
    assert top(place / "runs/run.mmr-1.trec") == {"q1": ["a", "b", "c"], "q2": ["a"]}
    metadata = yaml.safe_load((place / "runs/run.mmr-0.5.trec.yaml").read_text())
    (step,) = metadata["method"]["diversification"]
    assert (step["lambda"], step["normalisation"], step["divided by"], step["depth"]) == (0.5, "paper", 8.0, 100)
    assert (step["similarity"]["vectors"], step["similarity"]["system"]) == ("vectors", "fake")
    assert metadata["tag"] == "bm25.mmr-0.5"
    assert metadata["data"]["made of"]["file"] == "run.trec"


def test_lambda_is_tuned_on_development_runs_and_applied(place):
    # only with lambda 0.5 the second perspective of p1 comes into the top 5
    arguments = ("run.trec", "--tune", "dev.trec", "--qrels", "dev.qrels", "--vectors", "vectors")
    done = diversify(*arguments, "--lam", 0.99, 0.5, "--output", "{run}.tuned.trec", folder=place)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "MRecall@5: 0.0000 with lambda 0.99, 1.0000 with lambda 0.5"
    assert top(place / "run.tuned.trec")["q1"] == ["a", "c", "b"]
    (step,) = yaml.safe_load((place / "run.tuned.trec.yaml").read_text())["method"]["diversification"]
    assert step["lambda"] == 0.5
    assert step["tuned"]["values"] == [{"lambda": 0.99, "value": 0.0}, {"lambda": 0.5, "value": 1.0}]


def test_release_is_named_in_file_and_tag(place):
    arguments = ("run.trec", "--vectors", "vectors", "--lam", 0.5, "--normalisation", "release", "--tail", "drop", "--depth", 2)
    done = diversify(*arguments, "--scale", "wikipedia/bm25", folder=place)
    assert done.stderr == "runs/run.mmr-0.5.release.depth-2.drop.trec: 2 queries, 3 documents\n"
    (step,) = yaml.safe_load((place / "runs/run.mmr-0.5.release.depth-2.drop.trec.yaml").read_text())["method"][
        "diversification"
    ]
    assert (step["divided by"], step["constant"]) == ("each question's largest score", "wikipedia/bm25")


def test_a_setting_of_the_paper_is_its_lambda_and_its_constant(place):
    done = diversify("run.trec", "--vectors", "vectors", "--setting", "sphere/contriever", folder=place)
    assert (done.returncode, done.stderr) == (0, "runs/run.mmr-0.95.trec: 2 queries, 4 documents\n")
    (step,) = yaml.safe_load((place / "runs/run.mmr-0.95.trec.yaml").read_text())["method"]["diversification"]
    assert (step["lambda"], step["divided by"], step["constant"]) == (0.95, 2.55, "sphere/contriever")


def test_the_settings_are_table_8_of_the_paper():
    printed = {f"{cell.group}/{cell.system.lower()}": cell.value for cell in cells_of("berds", "8")}
    assert printed == {name: recipe["lambda"] for name, recipe in read_yaml(FOLDER / "mmr.yaml")["recipes"].items()}


@pytest.mark.process
def test_wrong_usage_writes_nothing(place):
    done = process("diversify", "run.trec", "--vectors", "vectors", "--lam", 2, cwd=place)
    assert (done.returncode, done.stderr) == (2, "error: lambda is 2.0\nhint:  numbers from 0 to 1, each once\n")
    assert not (place / "runs").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output": "x.trec"}, "5 runs would be written to 1 files"),
        ({"scale": "wikipedia/bm52"}, "scale is 'wikipedia/bm52'"),
        ({"scale": "-1"}, "scale is -1.0"),
        ({"setting": "sphere/bm52"}, "no setting 'sphere/bm52'"),
        ({"setting": "sphere/bm25", "lams": [0.5]}, "sphere/bm25 sets lambda and scale"),
        ({"setting": "sphere/bm25", "scale": 2.0}, "sphere/bm25 sets lambda and scale"),
        ({"setting": "sphere/bm25", "dev": ["dev.trec"], "qrels": ["dev.qrels"]}, "sphere/bm25 sets lambda and scale"),
        ({"dev": ["dev.trec"]}, "no judgments of the runs to tune on"),
        ({"qrels": ["dev.qrels"]}, "no runs to tune on"),
        ({"dev": ["run.trec"], "qrels": ["dev.qrels"]}, "dev.qrels judges no question of the runs to tune on"),
        ({"system": "all-minilm-l6-v2"}, "vectors come from a folder or from a system, not from both"),
        ({"docs": "run.trec"}, "vectors of a folder need no texts"),
        ({"topics": ["infosearch-mini-audience-ori"]}, r"2 of 2 queries are not among the topics \(q1, q2\)"),
        ({"vectors": None}, "no source for the texts of the documents is given"),
        ({"vectors": None, "system": "bm25", "docs": "run.trec"}, "bm25 is of kind bm25, not dense"),
        ({"dev": ["run.trec", "run.trec"], "qrels": ["dev.qrels"]}, "run.trec is named twice"),
    ],
)
def test_what_is_refused_before_anything_is_encoded(place, monkeypatch, given, message):
    monkeypatch.chdir(place)
    with pytest.raises(ToolkitError, match=message):
        DiversifyJob(["run.trec"], **{"vectors": "vectors", **given})


@pytest.mark.model
def test_a_system_says_what_is_alike_and_is_asked_once(place, home):
    texts = {"a": "the cat sat on the mat", "b": "a cat was sitting on a mat", "c": "shares fell in New York"}
    (place / "docs.jsonl").write_text("".join(f"{json.dumps({'id': i, 'contents': text})}\n" for i, text in texts.items()))
    arguments = ("run.trec", "--docs", "docs.jsonl", "--system", "all-minilm-l6-v2", "--lam", 0.5, "--output", "m.trec")
    planned = diversify(*arguments, "--dry-run", folder=place)
    assert planned.stdout.splitlines()[1] == "3 documents, 3 texts to be encoded"
    assert diversify(*arguments, folder=place).returncode == 0
    assert top(place / "m.trec")["q1"] == ["a", "c", "b"]
    again = diversify(*arguments, "--dry-run", folder=place)
    assert again.stdout.splitlines()[1] == "3 documents, 0 texts to be encoded"
