"""Table 4 of InstructIR: what the systems are sent whose instruction the authors' code takes from before the separator."""

import pytest

from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.models import choose_system

QUERY_FIRST = Topic(query_id="1", text="wind power [SEP] Written for experts.", query="wind power [SEP] Written for experts.")


@pytest.mark.parametrize("name", ["instructor-base", "instructor-large", "instructor-xl"])
def test_instructor_takes_the_query_for_its_instruction_which_is_left_out_of_the_mean(name):
    sent = topic_input(choose_system(name, recipe="instructir").templates, QUERY_FIRST)
    assert (sent.prefix, sent.whole) == ("wind power  ", "wind power  Written for experts.")


def test_e5_mistral_has_the_query_in_its_header():
    sent = topic_input(choose_system("e5-mistral-7b-instruct", recipe="instructir").templates, QUERY_FIRST)
    assert sent.whole == "Instruct: wind power\nQuery: Written for experts.</s>"
