"""Placebo instructions: as long as the instruction, and without anything to say."""

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.datasets import resolve_topics
from toolkit.models.lucene.language_id import script
from toolkit.retrieval.instructions import neutral_text, placebo, with_instructions, without_instructions
from toolkit.retrieval.search.rules import understand

TOPICS = [*resolve_topics("infosearch-mini").topics, *resolve_topics("mfollowir-mini").topics]
INSTRUCTED = [topic for topic in TOPICS if topic.instruction]


def test_only_text_and_instruction_change_and_only_where_there_is_one():
    for old, new in zip(TOPICS, placebo(TOPICS), strict=True):
        if not old.instruction:
            assert new == old
            continue
        assert new.text == f"{old.query} {new.instruction}" != old.text
        kept = ("query_id", "query", "condition", "mode", "group_id", "original_id", "released")
        assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]


def test_a_placebo_has_as_many_words_and_nearly_as_many_characters():
    far = []
    for topic in INSTRUCTED:
        text = neutral_text(topic.instruction)
        if script(topic.instruction) == "han":
            assert len(text) == len(topic.instruction)
        else:
            assert len(text.split()) == len(topic.instruction.split())
        far.append(abs(len(text) - len(topic.instruction)))
    assert sum(far) / len(far) < 3  # characters
    assert sorted(far)[len(far) // 2] <= 1


def test_a_placebo_is_in_the_script_of_its_instruction():
    assert {script(topic.instruction) for topic in INSTRUCTED} == {"latin", "han", "cyrillic", "arabic"}
    for topic in INSTRUCTED:
        assert script(neutral_text(topic.instruction)) == script(topic.instruction)


def test_a_placebo_asks_for_nothing_that_a_rule_understands():
    texts = {neutral_text(topic.instruction) for topic in INSTRUCTED}
    assert {text: understand(text) for text in texts if understand(text)} == {}
    assert len(texts) > len(INSTRUCTED) / 2  # different instructions mostly get different placebos


def test_the_same_instruction_always_gets_the_same_placebo():
    one, two = (Topic(name, f"{name} Pages in English only.", name, "Pages in English only.") for name in ("a", "b"))
    assert placebo([one])[0].instruction == placebo([two, one])[0].instruction


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 15, 64, 700])
def test_any_number_of_words_is_met(words):
    instruction = " ".join(["word"] * (words - 1) + ["end."])
    assert len(neutral_text(instruction).split()) == words


def test_sentences_do_not_come_twice_before_all_have_come():
    text = neutral_text(" ".join(["instruction"] * 100))
    sentences = [sentence for sentence in text.split(". ") if sentence]
    assert len(sentences) == len(set(sentences)) > 5


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("wind power Pages in English only.", "wind power ", ""),
        ("wind power\nPages in English only.", "wind power\n", ""),
        ("Pages in English only. [SEP] wind power", "", " [SEP] wind power"),
    ],
)
def test_query_and_placebo_are_joined_as_query_and_instruction_were(text, begins, ends):
    (topic,) = placebo([Topic("1", text, "wind power", "Pages in English only.")])
    assert topic.text == begins + topic.instruction + ends


def test_what_has_no_placebo_is_refused_and_named():
    with pytest.raises(ToolkitError, match="query 7: there is no placebo for an instruction in kana script"):
        placebo([Topic("7", "かぜ ひらがなだけ。", "かぜ", "ひらがなだけ。")])
    with pytest.raises(ToolkitError, match="query 8: its text is not its query and its instruction"):
        placebo([Topic("8", "wind In English. power", "wind power", "In English.")])


def test_without_instructions_every_mode_sends_the_core_query():
    topics = [Topic("1-ins", "wind In English.", "wind", "In English."), Topic("1-ori", "wind", "wind", released="All.")]
    assert [(t.text, t.instruction, t.released) for t in without_instructions(topics)] == [("wind", "", "")] * 2
    assert with_instructions(topics, "full") == topics
    assert with_instructions(topics, "none") == without_instructions(topics)
    assert with_instructions(topics, "placebo") == placebo(topics)
    with pytest.raises(ToolkitError, match="cannot be 'some'") as error:
        with_instructions(topics, "some")
    assert error.value.hint == "known: full, short, keywords, placebo, shuffled, swapped, none"
