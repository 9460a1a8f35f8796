"""Answers of models read strictly: what they say, or ValueError with what they say instead."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.construction.answer_forms import choice, json_object, labelled, number, numbered, tagged, text_of, texts

WORDS = st.text(min_size=1).filter(str.strip)


@given(st.integers(1, 9), st.sampled_from(["{}", " {}\n", "[{}]", "{}."]))
def test_a_number_alone_is_read(value, form):
    assert number(1, 9)(form.format(value)) == value


@pytest.mark.parametrize("text", ["", "0", "10", "4/5", "4 5", "Score: 4", "four", "-4", "4.5", "4.0", "٤x"])
def test_a_number_with_anything_beside_it_is_refused(text):
    with pytest.raises(ValueError, match="no whole number from 1 to 9"):
        number(1, 9)(text)


@given(st.text())
def test_any_text_is_a_number_in_the_range_or_refused(text):
    try:
        assert 1 <= number(1, 5)(text) <= 5
    except ValueError:
        assert text.strip() not in list("12345")


@given(st.lists(WORDS, unique_by=lambda text: " ".join(text.split()).casefold()))
def test_a_list_of_texts_is_read_with_and_without_a_fence(given_texts):
    expected = [" ".join(text.split()) for text in given_texts]
    for text in (json.dumps(given_texts), f"```json\n{json.dumps(given_texts)}\n```"):
        assert texts()(text) == texts(len(given_texts))(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('["a", "b"]', "2 texts, and not 3"),
        ('["a", "b", "A"]', "a text comes twice"),
        ('["a", "b", " "]', "no JSON list of texts"),
        ('["a", "b", 3]', "no JSON list of texts"),
        ('{"a": "b"}', "no JSON list of texts"),
        ('Here: ["a", "b", "c"]', "no JSON"),
        ("", "no JSON"),
    ],
)
def test_another_list_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        texts(3)(text)


def test_an_object_has_the_keys_that_are_named():
    assert json_object("a", "b")('{"b": " x ", "a": "y"}') == {"b": "x", "a": "y"}
    assert json_object()('{"z": "y"}') == {"z": "y"}
    for text in ('{"a": "y"}', "{}", '{"a": "x", "b": 3}', '["a"]', '{"a": "x", "b": "y", "c": "z"}'):
        with pytest.raises(ValueError, match=r"JSON object|no text"):
            json_object("a", "b")(text)


def test_one_of_some_words_is_read_in_any_case():
    assert [choice("Yes", "No")(text) for text in ("yes", " NO. ", "Yes.")] == ["Yes", "No", "Yes"]
    with pytest.raises(ValueError, match="none of Yes, No: 'yes, and no'"):
        choice("Yes", "No")("yes, and no")


def test_a_text_is_what_is_left_without_white_space_and_fence():
    assert text_of(" a\nb ") == text_of("```\na\nb\n```") == "a\nb"
    for text in ("", " \n", "```\n\n```"):
        with pytest.raises(ValueError, match="the answer is empty"):
            text_of(text)


PLANNED = "PLAN: say less. [END]\nREVISED DOCUMENT: Moss is green.\nIt stays: so. [END]"


@pytest.mark.parametrize("text", [PLANNED, PLANNED.replace(" [END]", ""), f"## {PLANNED.replace('DOCUMENT:', 'Document:**')}"])
def test_a_labelled_text_is_read_up_to_its_end(text):
    assert labelled("PLAN", "REVISED DOCUMENT")(text) == "Moss is green.\nIt stays: so."


def test_a_text_without_labels_is_the_text_and_a_plan_alone_is_none():
    assert labelled("PLAN", "REVISED DOCUMENT")(" A plan: moss. ") == "A plan: moss."
    with pytest.raises(ValueError, match="no REVISED DOCUMENT: 'Plan: say less'"):
        labelled("PLAN", "REVISED DOCUMENT")("Plan: say less")
    with pytest.raises(ValueError, match="the answer is empty"):
        labelled("PLAN", "REVISED DOCUMENT")("PLAN: x [END]\nREVISED DOCUMENT: [END]")


def test_numbered_texts_are_a_list_or_behind_their_labels():
    for text in (
        "Scenario 1: I am a nurse: at night. [END]\nScenario 2: I dive. [END]",
        "Scenario 1: I am a nurse:\nat night.\n\nScenario 2: I dive.",
        '["I am a nurse: at night.", "I dive."]',
    ):
        assert numbered("Scenario", 2)(text) == ["I am a nurse: at night.", "I dive."]
    for text, why in (
        ("Scenario 1: x [END]", "1 texts, and not 2"),
        ("I am a nurse.", "no JSON"),
        ("Scenario 1: [END]", "no J"),
    ):
        with pytest.raises(ValueError, match=why):
            numbered("Scenario", 2)(text)


def test_what_a_tag_holds_is_read_with_anything_around_it():
    for text in ("<Explanation>\nIt fits: 5 of 5.\n</Explanation>\n<Score>\n4\n</Score>", "<score>[4]</score>", "4"):
        assert tagged("Score", number(1, 5))(text) == 4
    with pytest.raises(ValueError, match="no whole number from 1 to 5: '6'"):
        tagged("Score", number(1, 5))("<Explanation>4</Explanation> <Score>6</Score>")
