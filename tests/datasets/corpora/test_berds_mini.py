"""The texts of berds-mini are what they should be, as far as a program can tell, and its reader says what they say."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from phrases import phrases, sentences

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load, minis
from toolkit.datasets.minis import berds

FOLDER = Path(__file__).resolve().parents[3] / "toolkit" / "datasets" / "corpora" / "berds-mini"
SOURCES = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in sorted(FOLDER.glob("*.yaml"))]
QUESTIONS = [question for source in SOURCES for question in source["questions"]]
PASSAGES = [passage for question in QUESTIONS for passage in question["passages"]]
UNCOVERED = {("018", 4)}  # the perspective that no passage holds


def statements(question):
    """What is said of a question beside its passages."""
    return [question["question"], *question["perspectives"], *(written["text"] for written in question["expansions"])]


def test_there_are_as_many_as_promised():
    assert Counter(source["group"] for source in SOURCES for _ in source["questions"]) == {"dev": 6, "test": 12}
    assert Counter(len(question["perspectives"]) for question in QUESTIONS) == {2: 11, 3: 3, 4: 3, 6: 1}
    assert [question["id"] for question in QUESTIONS] == [f"{number:03d}" for number in range(1, 19)]
    assert all(9 <= len(question["passages"]) <= 16 for question in QUESTIONS)
    assert len(PASSAGES) == 177


def test_every_pair_is_labelled_and_every_perspective_but_one_is_held():
    uncovered = set()
    for question in QUESTIONS:
        numbers = set(range(1, len(question["perspectives"]) + 1))
        held = [set(passage["holds"]) for passage in question["passages"]]
        assert set().union(*held) <= numbers
        assert all(len(passage["holds"]) == len(set(passage["holds"])) for passage in question["passages"])
        uncovered |= {(question["id"], number) for number in numbers.difference(*held)}
    assert uncovered == UNCOVERED


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_passages_of_a_question_hold_one_perspective_or_two_or_none(question):
    found = Counter(len(passage["holds"]) for passage in question["passages"])
    assert found[1] >= 4
    assert found[2] <= 1
    assert 2 <= found[0] <= 4
    assert sum(found.values()) == len(question["passages"])


def test_most_questions_have_a_passage_that_holds_two_perspectives():
    assert sum(any(len(passage["holds"]) == 2 for passage in question["passages"]) for question in QUESTIONS) == 14


def test_some_questions_have_more_passages_on_one_side():
    sides = [Counter(n for p in q["passages"] for n in p["holds"]) for q in QUESTIONS if len(q["perspectives"]) == 2]
    assert sum(side[1] >= 2 * side[2] for side in sides) >= 2
    assert sum(side[2] >= 2 * side[1] for side in sides) >= 2


def test_ids_titles_and_texts_are_unique():
    for key in ("id", "title", "text"):
        assert [value for value, times in Counter(passage[key] for passage in PASSAGES).items() if times > 1] == []
    assert sorted(passage["id"] for passage in PASSAGES) == [f"passage-{number:03d}" for number in range(1, 178)]


def test_ids_do_not_tell_what_a_passage_holds():
    for question in QUESTIONS:
        in_order = sorted(question["passages"], key=lambda passage: passage["id"])
        assert in_order != question["passages"]


def test_passages_have_the_length_of_a_hundred_words():
    assert [passage["id"] for passage in PASSAGES if not 60 <= len(passage["text"].split()) <= 120] == []


def test_entries_have_just_what_they_need():
    for question in QUESTIONS:
        assert set(question) == {"id", "question", "perspectives", "expansions", "passages"}
        assert question["question"].endswith("?")
        assert 3 <= len(question["expansions"]) <= 4
        assert all(set(written) == {"name", "text"} for written in question["expansions"])
    for passage in PASSAGES:
        assert set(passage) == {"id", "title", "text", "holds"}
        assert "\n" not in passage["title"] + passage["text"].strip()


def test_no_sentence_occurs_twice():
    found = Counter(sentence for passage in PASSAGES for sentence in sentences(passage["text"]))
    assert [sentence for sentence, times in found.items() if times > 1] == []


def test_no_two_passages_share_a_phrase_and_none_quotes_a_perspective():
    found = Counter(phrase for passage in PASSAGES for phrase in phrases(f"{passage['title']} {passage['text']}"))
    assert [phrase for phrase, times in found.items() if times > 1] == []
    asked = set().union(*(phrases(text) for question in QUESTIONS for text in statements(question)))
    assert asked & set(found) == set()


@pytest.mark.parametrize("group", ["dev", "test"])
def test_the_reader_says_what_the_source_says(group):
    benchmark = load("berds-mini")
    own = [question for source in SOURCES if source["group"] == group for question in source["questions"]]
    topics = benchmark.topics(group)
    assert [topic.query_id for topic in topics] == [f"mini-{question['id']}" for question in own]
    assert [(t.text, t.perspectives) for t in topics] == [(q["question"], tuple(q["perspectives"])) for q in own]
    assert [t.condition for t in topics] == ["binary" if len(q["perspectives"]) == 2 else "multi" for q in own]
    assert {(row.query_id, row.iteration, row.doc_id): row.relevance for row in benchmark.qrels(group)} == {
        (f"mini-{question['id']}", str(number), passage["id"]): int(number in passage["holds"])
        for question in own
        for passage in question["passages"]
        for number in range(1, len(question["perspectives"]) + 1)
    }
    expansions = benchmark.part(group).published["expansions"]
    assert expansions == {f"mini-{q['id']}": tuple((e["name"], e["text"]) for e in q["expansions"]) for q in own}


def test_both_groups_are_searched_over_all_passages():
    benchmark = load("berds-mini")
    assert list(benchmark.docs("dev")) == list(benchmark.docs("test"))
    assert [doc.doc_id for doc in benchmark.docs("dev")] == sorted(passage["id"] for passage in PASSAGES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda question: question.pop("perspectives"), "dev.yaml: an entry lacks 'perspectives'"),
        (lambda question: question["passages"][0].pop("title"), "dev.yaml: an entry lacks 'title'"),
        (lambda question: question["passages"][0].update(holds=[1, 3]), "dev.yaml: passage .* holds 3"),
        (lambda question: question["passages"][0].update(id="same"), "passage ids used twice: same"),
        (lambda question: question.update(id="002"), "question ids used twice: mini-002"),
    ],
)
def test_a_damaged_source_is_refused_by_name(monkeypatch, tmp_path, change, message):
    source = yaml.safe_load((FOLDER / "dev.yaml").read_text(encoding="utf-8"))
    source["questions"][1]["passages"][0]["id"] = "same"
    change(source["questions"][0])
    (tmp_path / "dev.yaml").write_text(yaml.safe_dump(source, allow_unicode=True), encoding="utf-8")
    monkeypatch.setattr(minis, "corpora", lambda *parts: tmp_path)
    spec = registry.benchmark("berds-mini")
    with pytest.raises(ToolkitError, match=message):
        berds.read(spec, spec.group("dev"))
