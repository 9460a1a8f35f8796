"""Other wordings of an instruction, as the benchmark has them."""

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.retrieval.instructions import with_instructions

WORDINGS = {"short": "Persian only.", "keywords": "persian"}
FULL = Topic("1-og", "wind Pages in Persian, no others.", "wind", "Pages in Persian, no others.", wordings=WORDINGS)
FIRST = Topic("2-og", "Pages in Persian. wind", "wind", "Pages in Persian.", wordings=WORDINGS)
PLAIN = Topic("3-og", "wind", "wind")


@pytest.mark.parametrize(("how", "text"), list(WORDINGS.items()))
def test_a_wording_stands_where_the_instruction_stood(how, text):
    changed = with_instructions([FULL, FIRST, PLAIN], how)
    assert [topic.text for topic in changed] == [f"wind {text}", f"{text} wind", "wind"]
    assert [topic.instruction for topic in changed] == [text, text, ""]
    assert [topic.query_id for topic in changed] == ["1-og", "2-og", "3-og"]


def test_a_wording_that_the_data_lack_is_refused_with_what_they_have():
    only_short = Topic("4-og", "wind No oil.", "wind", "No oil.", wordings={"short": "No oil."})
    with pytest.raises(ToolkitError) as caught:
        with_instructions([FULL, only_short, PLAIN], "keywords")
    assert caught.value.message == "1 of 2 instructions have no wording 'keywords' (4-og)"
    assert caught.value.hint == "the data have: full, keywords, short"


def test_data_without_other_wordings_have_the_full_one_alone():
    with pytest.raises(ToolkitError) as caught:
        with_instructions([Topic("5-ins", "wind No oil.", "wind", "No oil.")], "short")
    assert caught.value.hint == "the data have: full"


def test_a_text_that_is_not_query_and_instruction_is_refused():
    odd = Topic("6-og", "No oil, but wind.", "wind", "No oil.", wordings=WORDINGS)
    with pytest.raises(ToolkitError, match="query 6-og: its text is not its query and its instruction"):
        with_instructions([odd], "short")
