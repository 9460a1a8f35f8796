"""Perspectives that a language model writes: what is asked, what is read, what fails."""

import json

import pytest
from endpoint import Script, serving

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.models import choose_system
from toolkit.models.llm import Answer
from toolkit.retrieval.expand import load_expander, read_answer

TOPICS = [Topic(f"q{n}", f"Question {n}?") for n in range(4)]
GOOD = json.dumps({"For": "It is good.", "Against": "It is\nbad."})


def question(messages):
    return next(n for n in range(4) if f"Question {n}?" in messages[-1]["content"])


@pytest.fixture
def expander(monkeypatch, tmp_path):
    """An expander that asks the server of a script, with a cache of the test's own."""

    def load(script):
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        return load_expander(choose_system("gpt-4-0613-expander"), cache=tmp_path / "answers.sqlite", retries=0)

    return load


def test_one_request_a_question_and_none_again(expander):
    with serving(Script(lambda messages: GOOD)) as script:
        found = expander(script).perspectives(TOPICS)
        assert found == {topic.query_id: ["It is good.", "It is bad."] for topic in TOPICS}
        assert len(script.bodies) == 4
        assert expander(script).perspectives(TOPICS) == found
        assert len(script.bodies) == 4
    assert {body["model"] for body in script.bodies} == {"gpt-4-0613"}


def test_an_unreadable_answer_is_asked_for_again_with_a_seed(expander):
    def answer(messages):
        return "I had rather not." if question(messages) == 2 and len(script.bodies) <= 4 else GOOD

    with serving(Script(answer)) as script:
        assert len(expander(script).perspectives(TOPICS)) == 4
    assert [body.get("seed") for body in script.bodies] == [None] * 4 + [1]


class LastFirst:
    """Units from the last to the first."""

    def map(self, compute, units):
        return reversed([compute(unit) for unit in reversed(list(units))])


def test_units_of_questions_give_the_same_perspectives_whoever_computes_them(expander, monkeypatch):
    def answer(messages):
        number, asked = question(messages), len(script.bodies)
        return "I had rather not." if number == 2 and asked <= 4 else json.dumps({"For": f"It is {number}."})

    monkeypatch.setattr("toolkit.retrieval.expand.UNIT", 3)
    with serving(Script(answer)) as script:
        found = expander(script).perspectives(TOPICS, executor=LastFirst())
    assert list(found.items()) == [(f"q{number}", [f"It is {number}."]) for number in range(4)]
    assert question(script.bodies[0]["messages"]) == 3
    assert [body.get("seed") for body in script.bodies] == [None] * 4 + [1]


def test_failures_are_named_and_the_rest_is_kept(expander):
    with serving(Script(lambda messages: "{" if question(messages) == 1 else GOOD)) as script:
        with pytest.raises(ToolkitError, match="gave no perspectives for 1 of 4 questions") as error:
            expander(script).perspectives(TOPICS, attempts=2)
        assert [problem.partition(":")[0] for problem in error.value.problems] == ["q1"]
        assert len(script.bodies) == 5
        script.answer = lambda messages: GOOD
        assert len(expander(script).perspectives(TOPICS, attempts=3)) == 4
    assert len(script.bodies) == 6  # the third attempt of q1 alone


def test_a_question_that_gets_no_answer_is_named_and_asked_again(expander):
    with serving(Script(lambda messages: GOOD, faults=[500])) as script:
        with pytest.raises(ToolkitError, match="for 1 of 4 questions"):
            expander(script).perspectives(TOPICS, attempts=1)
        assert len(expander(script).perspectives(TOPICS, attempts=1)) == 4
    assert len(script.bodies) == 5


@pytest.mark.parametrize("text", [GOOD, f" {GOOD}\n", f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```"])
def test_an_object_is_read(text):
    assert read_answer(Answer(text)) == ["It is good.", "It is bad."]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        (f"Here you are: {GOOD}", "no JSON object"),
        ('["a", "b"]', "no JSON object"),
        ('"a"', "no JSON object"),
        ("null", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ("{}", "without perspectives"),
        ('{"a": ""}', "'a' is no text"),
        ('{"a": ["b"]}', "'a' is no text"),
        ('{"a": {"b": "c"}}', "'a' is no text"),
        ('{"a": "b", "a": "c"}', "'a' comes twice"),
    ],
)
def test_anything_else_is_not(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_answer(Answer(text))


def test_a_truncated_answer_is_not_read():
    with pytest.raises(ValueError, match="truncated"):
        read_answer(Answer(GOOD, finish="length"))


def test_another_system_is_no_expander():
    with pytest.raises(ToolkitError, match="bm25 is of kind bm25, no expander"):
        load_expander(choose_system("bm25"))
