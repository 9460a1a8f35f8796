"""The texts of instructir-mini are what they should be, as far as a program can tell, and its reader says what they say."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from phrases import phrases, sentences, words

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load, minis
from toolkit.datasets.minis import instructir

FOLDER = Path(__file__).resolve().parents[3] / "toolkit" / "datasets" / "corpora" / "instructir-mini"
SOURCES = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in sorted(FOLDER.glob("*.yaml"))]
QUERIES = [query for source in SOURCES for query in source["queries"]]
INSTANCES = [(query, number, instance) for query in QUERIES for number, instance in enumerate(query["instances"], 1)]
GOLDS = [instance["gold"] for _, _, instance in INSTANCES]
INSTRUCTIONS = [instance["instruction"] for _, _, instance in INSTANCES]
PARAPHRASES = [text for query in QUERIES for text in query["paraphrases"]["instructions"]]


def test_there_are_twelve_queries_with_six_instructions_and_five_paraphrases():
    assert [query["number"] for query in QUERIES] == list(range(1, 13))
    assert len({query["query"] for query in QUERIES}) == 12
    for query in QUERIES:
        assert set(query) == {"number", "query", "instances", "paraphrases"}
        assert len(query["instances"]) == 6
        assert 1 <= query["paraphrases"]["of"] <= 6
        assert len(query["paraphrases"]["instructions"]) == 5


def test_paraphrases_are_not_all_of_the_first_instruction():
    assert len({query["paraphrases"]["of"] for query in QUERIES}) == 6


def test_entries_have_just_what_they_need():
    for _, _, instance in INSTANCES:
        assert set(instance) == {"instruction", "gold"}
        assert set(instance["gold"]) == {"id", "title", "text"}
    for text in [*INSTRUCTIONS, *PARAPHRASES, *(gold["title"] for gold in GOLDS), *(gold["text"].strip() for gold in GOLDS)]:
        assert "\n" not in text
        assert "[SEP]" not in text


def test_ids_titles_and_texts_are_unique():
    for key in ("id", "title", "text"):
        assert [value for value, times in Counter(gold[key] for gold in GOLDS).items() if times > 1] == []
    assert sorted(gold["id"] for gold in GOLDS) == [f"passage-{number:03d}" for number in range(1, 73)]
    assert [gold["id"] for gold in GOLDS] != sorted(gold["id"] for gold in GOLDS)


def test_passages_and_instructions_are_short():
    assert [gold["id"] for gold in GOLDS if not 50 <= len(gold["text"].split()) <= 90] == []
    assert [text for text in [*INSTRUCTIONS, *PARAPHRASES] if not 12 <= len(words(text)) <= 60] == []


def test_no_sentence_occurs_twice():
    texts = [*(gold["text"] for gold in GOLDS), *INSTRUCTIONS, *PARAPHRASES]
    found = Counter(sentence for text in texts for sentence in sentences(text))
    assert [sentence for sentence, times in found.items() if times > 1] == []


def test_no_two_texts_share_a_phrase():
    texts = [*(f"{gold['title']} {gold['text']}" for gold in GOLDS), *INSTRUCTIONS, *PARAPHRASES]
    found = Counter(phrase for text in texts for phrase in phrases(text))
    assert [phrase for phrase, times in found.items() if times > 1] == []


def test_instructions_do_not_repeat_their_query():
    for query, _, instance in INSTANCES:
        assert query["query"] not in instance["instruction"].lower()


def relevant(group):
    found = {}
    for row in load("instructir-mini").qrels(group):
        found.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    return found


def test_the_reader_says_what_the_source_says():
    topics = load("instructir-mini").topics("all")
    ids = [f"{query['number']}_{number}" for query, number, _ in INSTANCES]
    assert [(t.query_id, t.group_id, t.query, t.instruction) for t in topics] == [
        (query_id, str(query["number"]), query["query"], instance["instruction"])
        for query_id, (query, _, instance) in zip(ids, INSTANCES, strict=True)
    ]
    assert relevant("all") == {query_id: {gold["id"]: 1} for query_id, gold in zip(ids, GOLDS, strict=True)}


@pytest.mark.parametrize(
    ("group", "form"),
    [
        ("all", "{instruction} [SEP] {query}"),
        ("instruction-only", "{instruction}"),
        ("query-first", "{query} [SEP] {instruction}"),
        ("query-first-released", "] {query} [SEP] {instruction} ["),
    ],
)
def test_forms_have_the_same_queries_and_judgments(group, form):
    topics = load("instructir-mini").topics(group)
    wanted = [form.format(instruction=instance["instruction"], query=query["query"]) for query, _, instance in INSTANCES]
    assert [topic.text for topic in topics] == wanted
    assert relevant(group) == relevant("all")


def test_a_query_alone_has_all_passages_of_its_instructions():
    topics = load("instructir-mini").topics("query-only")
    assert [(topic.query_id, topic.text) for topic in topics] == [(str(query["number"]), query["query"]) for query in QUERIES]
    assert relevant("query-only") == {
        str(query["number"]): {instance["gold"]["id"]: 1 for instance in query["instances"]} for query in QUERIES
    }


def test_a_paraphrase_has_the_passage_of_what_it_says_in_other_words():
    topics = load("instructir-mini").topics("paraphrases")
    assert [(topic.query_id, topic.group_id, topic.instruction) for topic in topics] == [
        (f"{query['number']}_{of}.{place}", f"{query['number']}_{of}", text)
        for query in QUERIES
        for of in [query["paraphrases"]["of"]]
        for place, text in enumerate(query["paraphrases"]["instructions"], 1)
    ]
    judged = relevant("all")
    assert relevant("paraphrases") == {topic.query_id: judged[topic.group_id] for topic in topics}


def test_all_groups_are_searched_over_the_same_passages():
    benchmark = load("instructir-mini")
    for group in benchmark.groups:
        assert [doc.doc_id for doc in benchmark.docs(group)] == sorted(gold["id"] for gold in GOLDS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda query: query.pop("paraphrases"), "home.yaml: an entry lacks 'paraphrases'"),
        (lambda query: query["instances"][0]["gold"].pop("text"), "home.yaml: an entry lacks 'text'"),
        (lambda query: query["paraphrases"].update(of=7), "home.yaml: the paraphrases of query 1 are of 1_7"),
        (lambda query: query["instances"][0]["gold"].update(id="same"), "passage ids used twice: same"),
        (lambda query: query.update(number=2), "query ids used twice: 2_1"),
    ],
)
def test_a_damaged_source_is_refused_by_name(monkeypatch, tmp_path, change, message):
    source = yaml.safe_load((FOLDER / "home.yaml").read_text(encoding="utf-8"))
    source["queries"][1]["instances"][0]["gold"]["id"] = "same"
    change(source["queries"][0])
    (tmp_path / "home.yaml").write_text(yaml.safe_dump(source, allow_unicode=True), encoding="utf-8")
    monkeypatch.setattr(minis, "corpora", lambda *parts: tmp_path)
    spec = registry.benchmark("instructir-mini")
    with pytest.raises(ToolkitError, match=message):
        instructir.read(spec, spec.group("all"))
