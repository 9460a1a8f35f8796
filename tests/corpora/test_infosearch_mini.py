"""The texts of infosearch-mini are what their labels say, as far as a program can tell."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
import yaml

SOURCES = sorted((Path(__file__).resolve().parents[2] / "toolkit" / "corpora" / "infosearch-mini").glob("*.yaml"))
DIMENSIONS = {path.stem: yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in SOURCES}
HAN = re.compile(r"[\u4e00-\u9fff]")
MOST_SHARED = 0.20  # of the 5-grams of the smaller document


def rows(dimension):
    return [(topic, row) for topic in DIMENSIONS[dimension]["topics"] for row in topic["rows"]]


def documents(dimension):
    return [document for _, row in rows(dimension) for document in (row["gold"], *row["negatives"])]


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
    return {" ".join(units(part)) for part in parts if len(units(part)) >= 4}


def test_there_are_six_dimensions_of_the_promised_size():
    assert set(DIMENSIONS) == {"audience", "keyword", "format", "language", "length", "source"}
    assert len(ALL) >= 280
    assert sum(len(rows(dimension)) for dimension in DIMENSIONS) >= 90
    for dimension, content in DIMENSIONS.items():
        assert content["dimension"] == dimension
        assert len(content["topics"]) >= 6
        assert [topic["number"] for topic in content["topics"]] == list(range(1, len(content["topics"]) + 1))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_core_query_has_a_gold_document_for_every_condition(dimension):
    conditions = DIMENSIONS[dimension].get("conditions")
    for topic in DIMENSIONS[dimension]["topics"]:
        found = [row["condition"] for row in topic["rows"]]
        assert len(found) == len(set(found))
        assert conditions is None or sorted(found) == sorted(conditions)
        assert all(len(row["negatives"]) >= 2 for row in topic["rows"])


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


def test_ids_do_not_tell_which_document_is_gold():
    first = sum(
        row["gold"]["id"] == min(d["id"] for d in (row["gold"], *row["negatives"])) for x in DIMENSIONS for _, row in rows(x)
    )
    assert first < 0.5 * sum(len(rows(dimension)) for dimension in DIMENSIONS)


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


def test_a_keyword_is_in_its_gold_document_and_in_no_other_answer():
    for topic in DIMENSIONS["keyword"]["topics"]:
        for row in topic["rows"]:
            keyword = row["condition"].lower()
            assert keyword in row["gold"]["text"].lower()
            assert keyword not in topic["query"].lower()
            others = [other for other in topic["rows"] if other is not row]
            held = [other["gold"]["id"] for other in others if keyword in contents(other["gold"]).lower()]
            held += [d["id"] for other in others for d in other["negatives"] if keyword in contents(d).lower()]
            assert held == []


def test_lengths_are_what_they_are_called():
    for _, row in rows("length"):
        text = row["gold"]["text"].strip()
        words, paragraphs = len(text.split()), len(re.split(r"\n\s*\n", text))
        if row["condition"] == "sentence":
            assert words <= 40
            assert len(re.findall(r"[.!?](?:\s|$)", text)) == 1
        elif row["condition"] == "paragraph":
            assert paragraphs == 1
            assert 60 <= words <= 130
        else:
            assert paragraphs >= 3
            assert words >= 250


def test_languages_are_written_in_their_script():
    for _, row in rows("language"):
        text = contents(row["gold"])
        han = len(HAN.findall(text))
        if row["condition"] == "Chinese":
            assert han > 0.6 * len(re.sub(r"\s", "", text))
        else:
            assert han == 0


def test_only_code_has_code_blocks():
    for _, row in rows("format"):
        assert ("```" in row["gold"]["text"]) == (row["condition"] == "code")
