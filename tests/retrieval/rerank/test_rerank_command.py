"""`python -m toolkit.rerank` as a user calls it, with a checkpoint that no registry knows."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import tiny
import yaml
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.templates import Input
from toolkit.files.formats import read_run, write_run
from toolkit.rerank import main, parser

pytestmark = pytest.mark.model

DOCS = {f"d{number}": f"{text} {number}" for number, text in enumerate(tiny.TEXTS * 30)}
TOPICS = {"1": "the cat", "2": "a river and a tree", "3": "kiwi"}


ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}  # with several threads tiny models wait more than they compute


def command(*arguments):
    return [sys.executable, "-m", "toolkit.rerank", *map(str, arguments)]


def rerank(*arguments, folder):
    return tandem("rerank", *arguments, cwd=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a checkpoint, documents, topics and a run."""
    folder = tmp_path_factory.mktemp("place")
    tiny.tiny_bert(folder / "mine", "BertForSequenceClassification", num_labels=1)
    (folder / "c.jsonl").write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in DOCS.items()))
    (folder / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in TOPICS.items()))
    run = {query: {doc: float(len(DOCS) - rank) for rank, doc in enumerate(DOCS)} for query in ("1", "2")}
    write_run(Run.from_dict(run), folder / "first.trec", tag="first")
    return folder


WHAT = ("--run", "first.trec", "--topics", "topics.tsv", "--docs", "c.jsonl", "--system", "./mine", "--kind", "cross-encoder")


def test_a_checkpoint_of_ones_own_reranks_a_run(place):
    from toolkit.models.rerankers import load_reranker

    done = rerank(*WHAT, "--depth", "3", "--tail", "drop", folder=place)
    name = "runs/first.rerank-mine.depth-3.tail-drop.trec"
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == f"{name}: 2 queries, 6 documents"
    reranker = load_reranker(tiny.tiny_spec(place / "mine", "cross-encoder"))
    top = list(DOCS)[:3]
    pairs = [(Input("", TOPICS[query]), Input("", DOCS[doc])) for query in ("1", "2") for doc in top]
    scores = dict(zip([(query, doc) for query in ("1", "2") for doc in top], reranker.score(pairs).tolist(), strict=True))
    assert read_run(place / name).to_dict() == {
        query: pytest.approx({doc: scores[query, doc] for doc in top}, abs=1e-5) for query in ("1", "2")
    }
    metadata = yaml.safe_load((place / f"{name}.yaml").read_text())
    assert metadata["tag"] == "mine"
    entry = metadata["method"]["reranking"][0]
    assert (entry["name"], entry["method"], entry["depth"], entry["tail"], entry["scores"]) == (
        "mine",
        "cross-encoder",
        3,
        "drop",
        "own",
    )
    assert (entry["device"], entry["precision"], entry["inputs cut"]) == ("cpu", "fp32", 0)
    # what the kind does where no entry says otherwise
    assert (entry["length"], entry["activation"], entry["rank_only"]) == (64, "identity", False)
    assert metadata["data"]["candidates"]["sha256"] == hashlib.sha256((place / "first.trec").read_bytes()).hexdigest()
    assert metadata["data"]["run"]["sha256"] == hashlib.sha256((place / name).read_bytes()).hexdigest()


def test_standard_output_has_the_run_and_nothing_else(place, monkeypatch, capfd):
    monkeypatch.chdir(place)
    main(parser().parse_args([*WHAT, "--depth", "1", "--tail", "drop", "--output", "-", "--tag", "x"]))
    out, error = capfd.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert [(line[0], line[2], line[3], line[5]) for line in lines] == [("1", "d0", "1", "x"), ("2", "d0", "1", "x")]
    assert error == "note: first.trec has no documents for 1 of 3 topics (3)\n"


def test_a_killed_reranking_goes_on_and_ends_with_the_same_bytes(place):
    options = ("--depth", "150", "--batch-size", "1")
    process = subprocess.Popen(
        command(*WHAT, *options, "--output", "killed.trec"), cwd=place, stderr=subprocess.PIPE, env=ALONE
    )
    kept = place / ".killed.trec.partial"
    deadline = time.monotonic() + 60
    while not (count := stored(kept)) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 0 < count <= stored(kept) < 300
    assert not (place / "killed.trec").exists()
    done = rerank(*WHAT, *options, "--output", "killed.trec", folder=place)
    assert done.returncode == 0, done.stderr
    assert "scores are cached" in done.stderr
    assert not kept.exists()
    assert rerank(*WHAT, *options, "--output", "whole.trec", folder=place).returncode == 0
    assert (place / "killed.trec").read_bytes() == (place / "whole.trec").read_bytes()


def stored(kept):
    """How many scores the file has by now."""
    try:
        with sqlite3.connect(f"file:{kept}?mode=ro", uri=True) as database:
            return database.execute("select count(*) from entries").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def test_dry_run_says_what_would_be_done_and_loads_no_model(place):
    done = rerank(*WHAT, "--depth", "5", "--output", "never.trec", "--dry-run", folder=place)
    assert done.stdout.splitlines() == [
        "rerank the best 5 of each of 2 queries of first.trec, keep the tail",
        "texts of 5 documents from c.jsonl",
        "system mine (cross-encoder): 10 pairs; scores: own",
        "write never.trec",
    ]
    assert not (place / "never.trec").exists()


def test_the_prompt_of_a_system_is_shown(place):
    done = rerank("--system", "followir-7b", "--show-prompt", folder=place)
    assert done.stdout.startswith("pointwise-followir.v1 (sha256 ")
    assert "{query}" in done.stdout
    assert "{document}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--system", "./mine", "--kind", "monot5"), "no run to rerank"),
        (
            ("--system", "./mine", "--kind", "monot5", "--run", "first.trec"),
            "no record says which topics first.trec was made with",
        ),
        ((*WHAT[:4], "--system", "./mine", "--kind", "monot5"), "topics names no corpus"),
        ((*WHAT, "--index", "x"), "texts come from --docs or from --index, not from both"),
        ((*WHAT, "--window", "5"), "mine is of kind cross-encoder: it has no window"),
        ((*WHAT[:4], "--docs", "none.jsonl", *WHAT[6:]), "no file none.jsonl"),
        ((*WHAT, "--batch-size", "0"), "batch size is 0"),
        ((*WHAT, "--depth", "-1"), "depth is -1"),
        ((*WHAT, "--tag", "two words"), "tag 'two words' cannot stand in a TREC file"),
        ((*WHAT, "--output", "mine"), "mine is a folder, not a file"),
        (("--run", "candidates", *WHAT[2:]), "topics is a file, which has no candidates"),
        (("--run", "candidates", "--topics", "infosearch-mini", *WHAT[6:]), "infosearch-mini has no candidates"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(place, monkeypatch, arguments, error):
    monkeypatch.chdir(place)
    with pytest.raises(ToolkitError) as caught:
        main(parser().parse_args(list(arguments)))
    assert caught.value.message.startswith(error)
    assert caught.value.hint


def test_an_error_is_one_line_with_a_hint(place):
    done = rerank("--system", "./mine", folder=place)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: mine is of kind dense, no reranker",
        "hint:  --kind says what a checkpoint is: cross-encoder, monot5, yes-no, multivector, rerankers, listwise",
    ]
