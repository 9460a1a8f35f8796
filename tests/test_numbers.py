"""Numbers without meaning, and larger than anything counts with, are one line before anything is done."""

import json

import pytest
from command import tandem

TOPICS = ("--topics", "t.jsonl")
DRY = ("--output", "o.trec", "--dry-run")
MINI = ("--index", "infosearch-mini-audience")
CROSS_ENCODER = "bge-reranker-v2-m3"
COUNTS = {
    ("search", *TOPICS, *MINI, *DRY): ["--hits", "--threads", "--k1", "--b"],
    ("search", *TOPICS, *MINI, "--rerank", CROSS_ENCODER, *DRY): ["--depth", "--batch-size"],
    ("rerank", "--run", "r.trec", *TOPICS, "--docs", "d.jsonl", "--system", CROSS_ENCODER, *DRY): ["--depth", "--batch-size"],
    ("rerank", "--run", "r.trec", *TOPICS, "--docs", "d.jsonl", "--system", "rank_zephyr_7b_v1_full", *DRY): [
        *("--depth", "--window", "--step", "--passes", "--concurrency")
    ],
    ("judge", "r.trec", *TOPICS, "--docs", "d.jsonl", "--judge", "gpt-4-0613-judge", *DRY): [
        *("--depth", "--concurrency", "--retries", "--timeout", "--batch-size")
    ],
    ("expand", "topics", *TOPICS, "--from", "gpt-4-0613-expander", *DRY): ["--attempts", "--concurrency"],
    ("expand", "run", *TOPICS, "--from", "given", *MINI, *DRY): [*("--hits", "--depth", "--threads", "--batch-size")],
    ("expand", "merge", "l.trec", "--output", "m.trec"): ["--depth"],
    ("fuse", "r.trec", "s.trec", "--output", "f.trec"): ["--hits", "--method=rrf:k"],
    ("runs", "pool", "r.trec", "s.trec", "--output", "p.trec"): ["--depth", "--size"],
    ("diversify", "r.trec", "--docs", "d.jsonl", "--dry-run"): ["--lam", "--depth", "--batch-size"],
}
ALLOWED = {("--k1", "0"), ("--b", "0"), ("--lam", "0"), ("--retries", "0"), ("--method=rrf:k", "0"), ("--k1", "999999999999")}
FLOATS = {"--k1"}  # of which a large one has a meaning
WRONG = ("0", "-1", "999999999999", "9" * 30, "9" * 5000, "nan", "inf", "x")
CASES = [
    pytest.param([*line, f"{option}={value}"], id=f"{line[0]}-{option}-{value[:12]}-{len(value)}")
    for line, options in COUNTS.items()
    for option in options
    for value in WRONG
    if (option, value) not in ALLOWED and not (option in FLOATS and value[:2] == "99")
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    topic = {"query_id": "q1", "query": "Cats?", "perspectives": ["Yes.", "No."]}
    (folder / "t.jsonl").write_text(json.dumps(topic))
    (folder / "d.jsonl").write_text('{"id": "d1", "contents": "x"}\n{"id": "d2", "contents": "y"}\n')
    for name, query_id in (("r", "q1"), ("s", "q1"), ("l", "q1.1")):
        (folder / f"{name}.trec").write_text(f"{query_id} Q0 d1 1 2 a\n{query_id} Q0 d2 2 1 a\n")
    return folder


@pytest.mark.parametrize("line", CASES)
def test_a_number_without_meaning_is_one_line(place, monkeypatch, line):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    done = tandem(*line, cwd=place)
    assert done.returncode == 2
    error, hint = [text for text in done.stderr.splitlines() if not text.startswith("note: ")]
    assert error.startswith("error: ")
    assert hint.startswith("hint:  ")
    assert not done.stdout
    assert sorted(path.name for path in place.iterdir()) == ["d.jsonl", "l.trec", "r.trec", "s.trec", "t.jsonl"]
