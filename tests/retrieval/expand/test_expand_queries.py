"""Queries from perspectives: ids, forms, and what is read from files."""

import json
from pathlib import Path

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.datasets import resolve_topics
from toolkit.retrieval.expand import expand_topics, read_given, read_perspectives, sizes

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "berds"

TOPICS = [
    Topic("kialo-7", "Is it so?", original_id="7", perspectives=("It is so.", "It is not so.")),
    Topic("arguana-8", "And that?", original_id="8", perspectives=("Yes.",)),
]
GIVEN = {topic.query_id: topic.perspectives for topic in TOPICS}


def written(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_a_query_for_each_perspective():
    expanded = expand_topics(TOPICS, GIVEN)
    assert [(topic.query_id, topic.text, topic.group_id) for topic in expanded] == [
        ("kialo-7.1", "It is so.", "kialo-7"),
        ("kialo-7.2", "It is not so.", "kialo-7"),
        ("arguana-8.1", "Yes.", "arguana-8"),
    ]


def test_the_release_sends_the_question_first():
    expanded = expand_topics(TOPICS, GIVEN, "question+perspective")
    assert [topic.text for topic in expanded] == ["Is it so? It is so.", "Is it so? It is not so.", "And that? Yes."]


def test_questions_without_perspectives_are_named():
    with pytest.raises(ToolkitError, match=r"1 of 2 questions have no perspectives \(arguana-8\)"):
        expand_topics(TOPICS, {"kialo-7": ["x"], "arguana-8": []})


def test_number_and_length():
    # 3 perspectives of 2 questions; 3 + 4 + 1 words
    assert sizes(GIVEN) == {"questions": 2, "perspectives": 1.5, "words": 8 / 3}


def test_a_file_by_whole_and_by_published_id(tmp_path):
    rows = (
        {"query_id": "arguana-8", "perspectives": ["one", "two\nlines"]},
        {"id": "7", "perspectives": ["judged"], "expansions": [{"name": "N", "text": "written"}]},
        {"id": "9", "perspectives": ["of another question"]},
    )
    found = read_perspectives(written(tmp_path / "p.jsonl", *rows), TOPICS)
    assert found == {"arguana-8": ("one", "two lines"), "kialo-7": ("written",)}


def test_a_line_separator_in_a_text_ends_no_line(tmp_path):
    (tmp_path / "p.jsonl").write_bytes('\ufeff{"id": "7", "perspectives": ["one\u2028two\x85three"]}\n'.encode())
    assert read_perspectives(tmp_path / "p.jsonl", TOPICS) == {"kialo-7": ("one two three",)}
    (tmp_path / "p.jsonl").write_bytes(b'{"id": "7", "perspectives": ["caf\xe9"]}\n')
    with pytest.raises(ToolkitError, match="not UTF-8 text"):
        read_perspectives(tmp_path / "p.jsonl", TOPICS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "7"}], "line 1: no id, or no perspectives"),
        ([{"id": "7", "perspectives": [""]}], "line 1: no id, or no perspectives"),
        ([{"id": "7", "perspectives": ["a", 3]}], "line 1: no id, or no perspectives"),
        ([{"id": "7", "perspectives": "abc"}], "line 1: no id, or no perspectives"),
        ([["7"]], "line 1: no id, or no perspectives"),
        ([{"id": "7", "perspectives": ["a"]}, {"query_id": "kialo-7", "perspectives": ["b"]}], "line 2: kialo-7 comes twice"),
    ],
)
def test_what_is_no_list_of_perspectives(tmp_path, rows, message):
    with pytest.raises(ToolkitError, match=message):
        read_perspectives(written(tmp_path / "p.jsonl", *rows), TOPICS)


def test_an_id_of_two_data_sets_is_refused(tmp_path):
    both = [*TOPICS, Topic("arguana-7", "And?", original_id="7")]
    with pytest.raises(ToolkitError, match="7 is the id of 2 questions"):
        read_perspectives(written(tmp_path / "p.jsonl", {"id": "7", "perspectives": ["a"]}), both)


def test_released_perspectives_are_the_benchmarks():
    topics = resolve_topics("berds-mini-dev")
    found, facts = read_given("released", topics)
    assert set(found) == {topic.query_id for topic in topics.topics}
    assert facts["from"].startswith("the perspectives that the benchmark's release")
    given, _ = read_given("given", topics)
    assert found != given == {topic.query_id: topic.perspectives for topic in topics.topics}


def test_a_benchmark_without_released_perspectives():
    with pytest.raises(ToolkitError, match="infosearch-mini-audience-ori comes without perspectives for query expansion"):
        read_given("released", resolve_topics("infosearch-mini-audience-ori"))


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the checkout")
@pytest.mark.parametrize(("name", "mean"), [("arguana", 6.01), ("kialo", 6.10), ("opinionqa", 6.08)])
def test_the_papers_expansions_have_the_papers_number_of_perspectives(name, mean):
    path = DATA / f"{name}.dev.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    topics = [Topic(f"{name}-{row['id']}", row["question"], original_id=row["id"]) for row in rows]
    assert round(sizes(read_perspectives(path, topics))["perspectives"], 2) == mean
