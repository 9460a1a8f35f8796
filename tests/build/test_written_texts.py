from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.build.posts import split_post
from toolkit.build.written_texts import read_document, read_instruction, read_keywords, read_verdict


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Give me plain words. No jargon, please!", "Give me plain words. No jargon, please!"),
        ('"Give me\nplain words.  No jargon." ', "Give me plain words. No jargon."),
        ("请给我中文的文章。不要英文的。", "请给我中文的文章。不要英文的。"),
    ],
)
def test_an_instruction_is_two_sentences_in_a_line(answer, text):
    assert read_instruction(answer) == text


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "no end"),
        ("Give me plain words. And then", "no end"),
        ("One sentence only.", "1 sentences"),
        ("One. Two. Three.", "3 sentences"),
        ("Sure! Give me plain words.", "it speaks of the text"),
        ("Here are two sentences: A b. C d.", "it speaks of the text"),
        ("word " * 80 + "end. Two.", "more than 80 words"),
    ],
)
def test_another_form_of_instruction_is_none(answer, problem):
    with pytest.raises(ValueError, match=problem):
        read_instruction(answer)


def test_a_document_is_a_text_that_does_not_speak_of_itself():
    assert read_document("```\nKettles lime up with time.\n```") == "Kettles lime up with time."
    assert read_document("“Kettles lime up.”") == "Kettles lime up."
    assert read_document("水壶会结垢") == "水壶会结垢"
    for answer in ("", "two words", "Here is the rewritten text: Kettles lime up.", "I cannot do that, sorry."):
        with pytest.raises(ValueError, match=r"words|speaks of|empty"):
            read_document(answer)


def test_keywords_are_lines():
    assert read_keywords("1. limescale\n- citric acid\n\n* limescale\n2) “vinegar”,") == ["limescale", "citric acid", "vinegar"]
    for answer in ("", "limescale, vinegar", "The words are: a", "a word of many words here", "Done."):
        with pytest.raises(ValueError, match=r"no words|no word"):
            read_keywords(answer)


@pytest.mark.parametrize(("answer", "holds"), [("Yes", True), (" yes.", True), ("**No**", False), ("NO, it is a list.", False)])
def test_a_verdict_begins_with_yes_or_no(answer, holds):
    assert read_verdict(answer) is holds


@pytest.mark.parametrize("answer", ["", "Maybe", "Yesterday", "Yes or No", "No... well, yes", "The answer is yes"])
def test_what_is_neither_or_both_is_no_verdict(answer):
    with pytest.raises(ValueError, match="Yes"):
        read_verdict(answer)


@given(st.text())
def test_readers_read_or_refuse_any_answer(answer):
    for read in (read_instruction, read_document, read_keywords, read_verdict):
        with suppress(ValueError):
            assert read(answer) is not None


def test_a_post_is_split_into_prose_and_code():
    text = (
        "I tried this:\n\n    for row in rows:\n        print(row)\n\nand it is slow.\n\n```py\nrows = set(rows)\n```\nThanks!"
    )
    assert split_post(text) == (
        "I tried this:\n\nand it is slow.\n\nThanks!",
        "    for row in rows:\n        print(row)\n\nrows = set(rows)",
    )


def test_code_of_html_is_unescaped_and_other_tags_are_left_out():
    text = "<p>Hello &amp; all, see <code>sort</code>:</p>\n<pre><code>if a &lt; b:\n    sort()\n</code></pre>\n<p>Bye.</p>"
    assert split_post(text) == ("Hello & all, see sort:\n\nBye.", "if a < b:\n    sort()")


def test_an_indented_quotation_is_prose():
    assert split_post("He said:\n\n    I have never seen that.\n    Nor has she.\n\nHm.").code == ""


def test_a_post_without_code_has_none():
    assert split_post("Only words here.") == ("Only words here.", "")
