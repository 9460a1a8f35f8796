"""The texts of infosearch-mini are what their labels say, as far as a program can tell."""

import re
import runpy
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from command import ROOT, script

SOURCES = sorted((Path(__file__).resolve().parents[3] / "toolkit" / "datasets" / "corpora" / "infosearch-mini").glob("*.yaml"))
DIMENSIONS = {path.stem: yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in SOURCES}
HAN = re.compile(r"[\u4e00-\u9fff]")
STOP = {"what", "when", "which", "does", "your", "with", "from", "into", "this", "that", "have", "over", "long", "keep", "make"}
# what once gave the condition of every gold document away: a sign for each, in the order in which they are tried
SIGNS = {
    "format": {"code": "```|^#!", "manual": r"NAME|SYNOPSIS|Syntax|Parameters|Options", "post": r"\bI\b"},
    "source": {"news": r"^[A-Z][A-Z ]{3,}", "forum post": r"(?m)^>|\bOP\b|\bEdit:", "blog": r"\bI\b"},
}
MOST_SHARED = 0.20  # of the 5-grams of the smaller document


CORES = {name: 16 if name in ("format", "language", "length") else 12 for name in DIMENSIONS}
UNRELATED = 100  # documents of a dimension


def rows(dimension):
    return [(topic, row) for topic in DIMENSIONS[dimension]["topics"] for row in topic["rows"]]


def golds(dimension):
    return [row["gold"] for _, row in rows(dimension)]


def adversarial(dimension):
    return [document for topic in DIMENSIONS[dimension]["topics"] for document in topic["adversarial"]]


def documents(dimension):
    return [*golds(dimension), *adversarial(dimension), *DIMENSIONS[dimension]["unrelated"]]


def contents(document):
    return f"{document.get('title') or ''} {document['text']}"


ALL = [document for dimension in DIMENSIONS for document in documents(dimension)]


def units(text):
    """What 5-grams are made of: words, and single characters of Chinese."""
    return re.findall(r"[\u4e00-\u9fff]|\w+", text.lower())


def fivegrams(document):
    words = units(document["text"])
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


def sentences(document):
    parts = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", document["text"])
    # lines of code are alike wherever they are
    return {" ".join(units(part)) for part in parts if len(units(part)) >= 4 and not re.search(r"[$/{}=<>`]", part)}


def test_there_are_six_dimensions_of_the_promised_size():
    assert set(DIMENSIONS) == {"audience", "keyword", "format", "language", "length", "source"}
    for dimension, content in DIMENSIONS.items():
        assert content["dimension"] == dimension
        assert [topic["number"] for topic in content["topics"]] == list(range(1, CORES[dimension] + 1))
        assert all(len(topic["adversarial"]) == 2 for topic in content["topics"])
        assert len(content["unrelated"]) == UNRELATED


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_core_query_has_a_gold_document_for_every_condition(dimension):
    conditions = DIMENSIONS[dimension].get("conditions")
    for topic in DIMENSIONS[dimension]["topics"]:
        found = [row["condition"] for row in topic["rows"]]
        assert len(found) == len(set(found))
        assert conditions is None or sorted(found) == sorted(conditions)


@pytest.mark.parametrize("dimension", [name for name in DIMENSIONS if DIMENSIONS[name].get("conditions")])
def test_conditions_are_spread_evenly_over_what_answers_nothing(dimension):
    conditions = DIMENSIONS[dimension]["conditions"]
    for others in (adversarial(dimension), DIMENSIONS[dimension]["unrelated"]):
        found = Counter(document["condition"] for document in others)
        assert set(found) == set(conditions)
        assert max(found.values()) - min(found.values()) <= 0.15 * len(others)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_instructions_are_phrased_in_several_ways(dimension):
    phrasings = [row[mode] for _, row in rows(dimension) for mode in ("ins", "rev")]
    assert len(set(phrasings)) == len(phrasings)
    assert all(topic["query"].lower() not in row[mode].lower() for topic, row in rows(dimension) for mode in ("ins", "rev"))


def test_ids_and_texts_are_unique():
    for what in (lambda document: document["id"], contents):
        assert [value for value, times in Counter(map(what, ALL)).items() if times > 1] == []
    for dimension in DIMENSIONS:
        assert all(re.fullmatch(rf"{dimension}-\d{{3}}", document["id"]) for document in documents(dimension))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_ids_do_not_tell_which_document_is_gold(dimension):
    # the share of pairs in which the gold document has the smaller id
    gold = [document["id"] for document in golds(dimension)]
    others = [document["id"] for document in documents(dimension) if document["id"] not in set(gold)]
    assert 0.35 <= sum(one < other for one in gold for other in others) / (len(gold) * len(others)) <= 0.65


def test_no_sentence_occurs_in_two_documents():
    found = Counter(sentence for document in ALL for sentence in sentences(document))
    assert [sentence for sentence, times in found.items() if times > 1] == []


def test_no_two_documents_share_a_fifth_of_their_fivegrams():
    holders = {}
    grams = {document["id"]: fivegrams(document) for document in ALL}
    for doc_id, own in grams.items():
        for gram in own:
            holders.setdefault(gram, []).append(doc_id)
    shared = Counter(pair for ids in holders.values() for pair in combinations(sorted(ids), 2))
    too_close = {pair for pair, times in shared.items() if times > MOST_SHARED * min(len(grams[doc_id]) for doc_id in pair)}
    assert too_close == set()


def test_a_keyword_is_in_its_gold_document_and_in_no_other_that_is_judged():
    for topic in DIMENSIONS["keyword"]["topics"]:
        for row in topic["rows"]:
            keyword = row["condition"].lower()
            assert keyword in row["gold"]["text"].lower()
            assert keyword not in topic["query"].lower()
            others = [other["gold"] for other in topic["rows"] if other is not row] + topic["adversarial"]
            assert [document["id"] for document in others if keyword in contents(document).lower()] == []


def test_a_keyword_alone_does_not_tell_its_gold_document():
    keywords = [row["condition"].lower() for _, row in rows("keyword")]
    others = [contents(document).lower() for document in [*adversarial("keyword"), *DIMENSIONS["keyword"]["unrelated"]]]
    assert [keyword for keyword in keywords if not any(keyword in text for text in others)] == []


def test_a_gold_document_has_some_of_the_words_of_its_query():
    # the first four letters of words of five and more, which is how they are inflected; Chinese queries by two characters
    few = []
    for dimension in DIMENSIONS:
        for topic, row in rows(dimension):
            asked = {word[:4] for word in re.findall(r"[a-z]{4,}", topic["query"].lower())} - STOP
            if asked and not HAN.search(contents(row["gold"])):
                few += [row["gold"]["id"]] * (not any(word in contents(row["gold"]).lower() for word in asked))
    assert few == []


@pytest.mark.parametrize("document", documents("length"), ids=lambda document: document["id"])
def test_lengths_are_what_they_are_called(document):
    gold = {row["gold"]["id"]: row["condition"] for _, row in rows("length")}
    condition = gold.get(document["id"]) or document["condition"]
    text = document["text"].strip()
    words, paragraphs = len(text.split()), len(re.split(r"\n\s*\n", text))
    if condition == "sentence":
        assert words <= 40
        assert len(re.findall(r"[.!?](?:\s|$)", text)) == 1
    elif condition == "paragraph":
        assert paragraphs == 1
        assert 60 <= words <= 130
    else:
        assert paragraphs >= 3
        assert words >= 250


def test_languages_are_written_in_their_script():
    gold = {row["gold"]["id"]: row["condition"] for _, row in rows("language")}
    for document in documents("language"):
        text = contents(document)
        han = len(HAN.findall(text))
        if (gold.get(document["id"]) or document["condition"]) == "Chinese":
            assert han > 0.6 * len(re.sub(r"\s", "", text)), document["id"]
        else:
            assert han < 0.05 * len(text), document["id"]


@pytest.mark.parametrize("dimension", ["format", "source"])
def test_three_regular_expressions_do_not_label_the_gold_documents(dimension):
    def labelled(text):
        return next((condition for condition, sign in SIGNS[dimension].items() if re.search(sign, text)), "")

    right = sum(labelled(row["gold"]["text"]) == row["condition"] for _, row in rows(dimension))
    assert right <= 0.75 * len(rows(dimension))


def test_a_part_that_is_none_is_refused():
    done = script("check_minis", "audiences")
    assert done.returncode == 2
    assert "no part audiences: choose from audience, format, " in done.stderr


@pytest.mark.slow  # ten times five classifiers for each kind of features and condition: a minute in all
@pytest.mark.parametrize("part", runpy.run_path(str(ROOT / "scripts" / "check_minis"))["parts"]())
def test_no_surface_tells_what_is_relevant_and_readers_agree_with_the_labels(part):
    checked = script("check_minis", part)
    assert checked.returncode == 0, checked.stdout + checked.stderr
