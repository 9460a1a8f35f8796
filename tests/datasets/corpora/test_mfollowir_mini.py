"""The texts of mfollowir-mini are what they should be, as far as a program can tell, and its reader says what they say."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
import yaml

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load
from toolkit.datasets.minis import mfollowir

LANGUAGES = ("fas", "rus", "zho")
FOLDER = Path(__file__).resolve().parents[3] / "toolkit" / "datasets" / "corpora" / "mfollowir-mini"
SOURCES = {name: yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader) for name in LANGUAGES}
NATIVE, ENGLISH = ("query", "narrative", "changed"), ("query_en", "narrative_en", "changed_en")
JOINER = "\u200c"
# what a text may be made of: letters of its language, digits, its punctuation
ALPHABETS = {
    "fas": rf"[آابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیءأؤئ\u064b-\u0652{JOINER}۰-۹\s.،؛:؟!()«»]",
    "rus": r"[А-Яа-яЁё0-9\s.,;:?!()«»%—\-]",
    "zho": r"[\u4e00-\u9fff0-9\s。，；：？！（）“”、—…]",
}
GRAM = {"fas": 6, "rus": 6, "zho": 12}  # words; characters of Chinese, which are about half a word


def topics(language):
    return SOURCES[language]["topics"]


def documents(language):
    return [document for topic in topics(language) for document in topic["documents"]]


def units(language, text):
    return re.findall(r"[\u4e00-\u9fff0-9]" if language == "zho" else rf"[\w{JOINER}]+", text.lower())


def grams(language, document):
    found, size = units(language, document["text"]), GRAM[language]
    return {tuple(found[at : at + size]) for at in range(len(found) - size + 1)}


def native_texts(language):
    asked = [topic[key] for topic in topics(language) for key in NATIVE]
    return asked + [document[key] for document in documents(language) for key in ("title", "text")]


def relevant(topic, mode):
    return {document["id"] for document in topic["documents"] if document[mode]}


def test_there_are_three_languages_of_the_promised_size():
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(LANGUAGES)
    for language in LANGUAGES:
        assert SOURCES[language]["language"] == language
        assert [topic["number"] for topic in topics(language)] == list(range(1, 11))
        assert [len(topic["documents"]) for topic in topics(language)] == [14] * 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_changed_narrative_loses_about_half_and_gains_nothing(language):
    for topic in topics(language):
        before, after = relevant(topic, "og"), relevant(topic, "changed")
        assert len(before) >= 5
        assert after < before
        assert 0.4 <= 1 - len(after) / len(before) <= 0.6


@pytest.mark.parametrize("language", LANGUAGES)
def test_entries_have_just_what_they_need(language):
    for topic in topics(language):
        assert set(topic) == {"number", *NATIVE, *ENGLISH, "documents"}
    for document in documents(language):
        assert set(document) == {"id", "title", "og", "changed", "text"}
        assert {document["og"], document["changed"]} <= {0, 1}
        assert document["title"]
        assert "\n" not in document["title"] + document["text"]


def test_ids_titles_and_texts_are_unique():
    found = [document for language in LANGUAGES for document in documents(language)]
    for key in ("id", "title", "text"):
        assert [value for value, times in Counter(document[key] for document in found).items() if times > 1] == []
    for language in LANGUAGES:
        assert [d["id"] for d in documents(language)] == [f"{language}-{number:03d}" for number in range(1, 141)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_in_the_file_do_not_tell_what_is_relevant(language):
    first = sum(document["og"] for topic in topics(language) for document in topic["documents"][:7])
    assert 20 <= first <= 40  # of the 60 relevant ones of a language


@pytest.mark.parametrize("language", LANGUAGES)
def test_documents_are_as_long_as_a_short_report(language):
    for document in documents(language):
        if language == "zho":
            assert 90 <= len(re.sub(r"\s", "", document["text"])) <= 260
        else:
            assert 50 <= len(document["text"].split()) <= 120


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_written_in_the_letters_of_their_language(language):
    odd = Counter(re.sub(ALPHABETS[language], "", "".join(native_texts(language))))
    assert odd == Counter()


def test_english_is_asked_in_english():
    for language in LANGUAGES:
        for topic in topics(language):
            assert all(re.fullmatch(r"[A-Za-z0-9 .,;()'-]+", topic[key]) for key in ENGLISH)


def test_persian_has_its_joiners():
    assert all(JOINER in document["text"] for document in documents("fas"))
    for text in native_texts("fas"):
        # a verb's prefix and a noun's ending are joined to it, neither apart nor by a joiner that joins nothing
        assert re.findall(r"(?<!\S)ن?می\s", text) == []
        assert re.findall(r"\s(?:ها|های|هایی|هایش|تر|ترین)(?!\w)", text) == []
        assert re.findall(rf"{JOINER}(?!\w)|(?<!\w){JOINER}", text) == []


def test_chinese_is_simplified():
    # frequent characters that only traditional writing has
    assert (
        set("".join(native_texts("zho"))) & set("這個們來時說對會過後從開關門問間電話書車長見學國園圖報應樣實發經驗還沒")
        == set()
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_occurs_twice(language):
    ends = r"(?<=[。！？])" if language == "zho" else r"(?<=[.!?؟])\s+"
    parts = [part.strip() for document in documents(language) for part in re.split(ends, document["text"]) if part.strip()]
    assert [part for part, times in Counter(parts).items() if times > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_documents_share_a_phrase(language):
    found = {document["id"]: grams(language, document) for document in documents(language)}
    assert [pair for pair in combinations(found, 2) if found[pair[0]] & found[pair[1]]] == []


@pytest.mark.parametrize("group", registry.benchmark("mfollowir-mini").groups, ids=lambda group: group["name"])
def test_the_reader_says_what_the_source_says(group):
    benchmark, name = load("mfollowir-mini"), group["name"]
    language, keys = name.rpartition("/")[2], ENGLISH if "/" in name else NATIVE
    assert [doc.doc_id for doc in benchmark.docs(name)] == [document["id"] for document in documents(language)]
    for mode, narrative in zip(("og", "changed"), keys[1:], strict=True):
        base = [f"{name.replace('/', '-')}-{topic['number']:02d}" for topic in topics(language)]
        found = [(topic.query_id, topic.group_id, topic.query, topic.instruction) for topic in benchmark.topics(name, mode)]
        rows = zip(base, topics(language), strict=True)
        assert found == [(f"{group_id}-{mode}", group_id, topic[keys[0]], topic[narrative]) for group_id, topic in rows]
        judged = {(row.query_id, row.doc_id): row.relevance for row in benchmark.qrels(name, mode)}
        rows = zip(base, topics(language), strict=True)
        assert judged == {(f"{i}-{mode}", d["id"]): d[mode] for i, topic in rows for d in topic["documents"]}
    assert [problem for _, problem in benchmark.checks(name) if problem] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_candidates_are_the_judged_and_some_others_in_one_neutral_order(language):
    benchmark = load("mfollowir-mini")
    orders = []
    for name in (language, f"cross-lingual/{language}"):
        for mode in ("og", "changed"):
            run = benchmark.scoreddocs(name, mode)
            orders.append([[row.doc_id for row in ranking] for _, ranking in run.rankings()])
    assert all(order == orders[0] for order in orders)
    for topic, doc_ids in zip(topics(language), orders[0], strict=True):
        own = [document["id"] for document in topic["documents"]]
        assert len(set(doc_ids)) == len(doc_ids) == 20
        assert set(own) < set(doc_ids)
        assert doc_ids[:14] != own


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda source: source["topics"][0]["documents"][0].pop("title"), "an entry lacks 'title'"),
        (lambda source: source["topics"][1].update(number=1), "topic 1 stands at place 2"),
        (lambda source: source["topics"][0]["documents"][1].update(id="rus-001"), "document ids used twice: rus-001"),
        (lambda source: source["topics"][0].pop("changed"), "an entry lacks 'changed'"),
    ],
)
def test_a_damaged_source_is_refused_by_name(monkeypatch, tmp_path, change, message):
    source = yaml.safe_load((FOLDER / "rus.yaml").read_text(encoding="utf-8"))
    change(source)
    path = tmp_path / "rus.yaml"
    path.write_text(yaml.safe_dump(source, allow_unicode=True), encoding="utf-8")
    monkeypatch.setattr(mfollowir, "corpora", lambda *parts: path)
    spec = registry.benchmark("mfollowir-mini")
    with pytest.raises(ToolkitError, match=message) as refused:
        mfollowir.read(spec, spec.group("rus"))
    assert str(path) in str(refused.value)
