"""`tandem expand` as a user calls it."""

import json
import os

import pytest
import yaml
from command import process, tandem
from endpoint import Script, serving

from toolkit.files.formats import read_run, read_topics

GOOD = json.dumps({"For": "apples are good", "Against": "apples are bad"})


def expand(*arguments, folder, **env):
    return tandem("expand", *arguments, cwd=folder, env=os.environ | env)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "t.tsv").write_text("q1\tAre apples good?\nq2\tAre pears?\n")
    rows = [
        {"query_id": "q1", "perspectives": ["apples are good", "apples are bad"]},
        {"query_id": "q2", "perspectives": ["pears are good"]},
    ]
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "lists.trec").write_text("q1.1 Q0 a 1 9 bm25\nq1.1 Q0 b 2 8 bm25\nq1.2 Q0 a 1 9 bm25\nq1.2 Q0 c 2 8 bm25\n")
    docs = {"a": "apples are good", "b": "apples are bad and worse", "c": "pears are good fruit", "d": "nothing of it"}
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps({'id': i, 'contents': text})}\n" for i, text in docs.items()))
    return tmp_path


def test_topics_report_number_and_length_of_perspectives(place):
    done = expand("topics", "--topics", "t.tsv", "--from", "p.jsonl", "--output", "q.jsonl", folder=place)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "q.jsonl: 2 questions, 1.50 perspectives a question, 3.0 words a perspective\n"
    assert [(topic.query_id, topic.text) for topic in read_topics(place / "q.jsonl")] == [
        ("q1.1", "apples are good"),
        ("q1.2", "apples are bad"),
        ("q2.1", "pears are good"),
    ]
    (expansion,) = yaml.safe_load((place / "q.jsonl.yaml").read_text())["method"]["expansion"]
    assert (expansion["from"], expansion["query"], expansion["perspectives"]) == ("p.jsonl", "perspective", 1.5)


def test_topics_of_the_release_as_tsv_on_standard_output(place):
    arguments = ("--from", "p.jsonl", "--query", "question+perspective", "--output")
    done = expand("topics", "--topics", "t.tsv", *arguments, "q.tsv", folder=place)
    assert done.returncode == 0
    assert (place / "q.tsv").read_text().splitlines()[0] == "q1.1\tAre apples good? apples are good"
    done = expand("topics", "--topics", "t.tsv", *arguments, "-", folder=place)
    assert json.loads(done.stdout.splitlines()[2])["text"] == "Are pears? pears are good"


def test_a_server_writes_perspectives_once(place, tmp_path):
    arguments = ("topics", "--topics", "t.tsv", "--from", "gpt-4-0613-expander", "--output", "q.jsonl")
    home = {"TANDEM_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "sk-of-nobody-else"}
    with serving(Script(lambda messages: GOOD)) as script:
        planned = expand(*arguments, "--dry-run", folder=place, OPENAI_BASE_URL=script.base, **home)
        assert planned.stdout.splitlines()[0] == "ask gpt-4-0613 for the perspectives of 2 questions of t, 0 of them cached"
        done = expand(*arguments, folder=place, OPENAI_BASE_URL=script.base, **home)
        assert done.returncode == 0, done.stderr
        assert len(script.bodies) == 2
    again = expand(*arguments, "--replay", folder=place, **home)
    assert again.returncode == 0, again.stderr
    assert len(read_topics(place / "q.jsonl")) == 4
    (expansion,) = yaml.safe_load((place / "q.jsonl.yaml").read_text())["method"]["expansion"]
    assert expansion["prompt"] == "ours"
    assert "sk-of-nobody-else" not in (place / "q.jsonl.yaml").read_text()


def test_a_server_that_writes_something_else(place, tmp_path):
    with serving(Script(lambda messages: "no")) as script:
        done = expand(
            *("topics", "--topics", "t.tsv", "--from", "gpt-4-0613-expander", "--attempts", 1, "--output", "q.jsonl"),
            folder=place,
            OPENAI_BASE_URL=script.base,
            TANDEM_HOME=str(tmp_path / "home"),
        )
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if not line.startswith("asking")]
    assert lines[0] == "error: gpt-4-0613 gave no perspectives for 2 of 2 questions"
    assert lines[1].startswith("  q1: no JSON object")
    assert not (place / "q.jsonl").exists()


def test_merge_skips_doubled_documents(place):
    done = expand("merge", "lists.trec", "--output", "m.trec", folder=place)
    assert done.stderr == "m.trec: 1 queries, 3 documents\n"
    assert (place / "m.trec").read_text().splitlines() == [
        "q1 Q0 a 1 1 bm25.expanded",
        "q1 Q0 b 2 0.5 bm25.expanded",
        "q1 Q0 c 3 0.3333333333333333 bm25.expanded",
    ]
    method = yaml.safe_load((place / "m.trec.yaml").read_text())["method"]
    assert method["merging"] == [{"name": "bm25.expanded", "method": "round-robin", "depth": 100, "duplicates": "skipped"}]


def test_merge_keeps_doubled_documents_as_json_unless_told(place):
    arguments = ("merge", "lists.trec", "--keep-duplicates", "--depth", 4, "--output")
    assert expand(*arguments, "m.json", folder=place).returncode == 0
    assert json.loads((place / "m.json").read_text()) == {"q1": ["a", "a", "b", "c"]}
    assert expand(*arguments, "m.trec", "--format", "trec", folder=place).returncode == 0
    assert [line.split()[2] for line in (place / "m.trec").read_text().splitlines()] == ["a", "a", "b", "c"]
    assert not (place / "m.json.yaml").exists()


def test_merge_says_which_questions_the_release_stops_at(place):
    done = expand("merge", "lists.trec", "--keep-duplicates", "--depth", 5, "--output", "m.json", folder=place)
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == [
        "error: lists.trec: the lists of 1 of 1 questions cannot be merged",
        "  q1: the first list has 2 documents, which gives 4 of 5",
    ]
    assert not (place / "m.json").exists()


@pytest.mark.process
def test_prompt_is_printed():
    done = process("expand", "prompt", "gpt-4-0613-expander")
    assert done.stdout.startswith("expander-perspectives.v1 (sha256 ")
    assert "{question}" in done.stdout


@pytest.mark.lucene
def test_all_of_it_is_what_its_steps_give(place):
    tandem("index", "docs.jsonl", "--output", "index", cwd=place, check=True)
    arguments = ("run", "--topics", "t.tsv", "--from", "p.jsonl", "--index", "index", "--output", "all.trec")
    planned = expand(*arguments, "--dry-run", folder=place)
    assert planned.stdout.splitlines()[0] == "3 queries (perspective) of 2 questions of t, perspectives: p.jsonl"
    assert not (place / "all.queries.jsonl").exists()
    done = expand(*arguments, folder=place)
    assert done.returncode == 0, done.stderr
    found = {query_id: [doc.doc_id for doc in docs] for query_id, docs in read_run(place / "all.trec").rankings()}
    # of q1: both lists begin with their own statement
    assert found["q1"][:2] == ["a", "b"]
    assert found["q2"][0] == "c"
    expand("merge", "all.lists.trec", "--output", "again.trec", folder=place)
    assert (place / "again.trec").read_bytes() == (place / "all.trec").read_bytes()
    metadata = yaml.safe_load((place / "all.trec.yaml").read_text())
    assert list(metadata["method"]) == ["automatic", "expansion", "retrieval", "merging"]
    assert (metadata["data"]["topics"]["name"], metadata["data"]["queries"]["name"]) == ("t", "all.queries")


def test_questions_without_a_corpus_need_an_index(place):
    done = expand("run", "--topics", "t.tsv", "--from", "p.jsonl", "--output", "all.trec", folder=place)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: t names no corpus to search"


@pytest.mark.lucene
def test_each_query_searches_the_corpus_of_its_question(place):
    rows = (("a", "q1", "apples are good"), ("b", "q1", "apples are bad"), ("c", "q2", "apples and pears are good"))
    docs = [{"id": doc_id, "question_id": question, "contents": text} for doc_id, question, text in rows]
    (place / "own.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    tandem("index", "own.jsonl", "--output", "own", cwd=place, check=True)
    done = expand("run", "--topics", "t.tsv", "--from", "p.jsonl", "--index", "own", "--output", "e.trec", folder=place)
    assert done.returncode == 0, done.stderr
    found = {query_id: [doc.doc_id for doc in docs] for query_id, docs in read_run(place / "e.trec").rankings()}
    assert found == {"q1": ["a", "b"], "q2": ["c"]}
