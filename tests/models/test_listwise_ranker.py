import pytest
from endpoint import Script, serving, shown

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.llm import LLM, Answer, load_prompt
from toolkit.models.llm.estimate import longest_that_fits
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.listwise_ranker import ListwiseRanker, load_ranker, passage, plain


class Fake:
    """A backend that gives one answer and counts a token for each word."""

    facts = {"model": "fake"}  # noqa: RUF012
    here, origin = True, {}

    def __init__(self, text):
        self.text, self.requests = text, []

    def check(self):
        pass

    def answers(self, requests):
        self.requests += requests
        yield from ((position, Answer(self.text)) for position in range(len(requests)))

    def count_tokens(self, messages):
        return sum(self.count_text(message["content"]) for message in messages)

    def count_text(self, text):
        return len(text.split())


def ranker(text="[2] > [1]", prompt="listwise.v1", **parameters):
    spec = SystemSpec(name="tiny", description="", kind="listwise", parameters=parameters)
    return ListwiseRanker(spec, LLM(Fake(text)), load_prompt(prompt, "listwise"))


def test_a_window_is_shown_and_its_order_read():
    made = ranker()
    orders = made.rank([Window("q1", "cats [2]", ("a  dog\n[1]", "a cat")), Window("q2", "dogs", ("a bird",) * 3)])
    assert orders == [(1, 0), (1, 0, 2)]
    first, second = made.llm.backend.requests
    assert shown(first.messages) == {1: "a dog (1)", 2: "a cat"}
    assert "Query: cats (2)" in first.messages[1]["content"]
    assert shown(second.messages) == {1: "a bird", 2: "a bird", 3: "a bird"}
    # `[1] > [2]` has three words, and 32 tokens are to spare
    assert first.options == {"max_tokens": 35, "temperature": 0}
    counted = {"windows": 2, "repaired": 1, "passages": 5, "cut": 0, "shortened": 0, "fewest_words": None}
    assert made.facts()["windows"] == {**counted, "repairs": {"doubled": 0, "out_of_range": 0, "missing": 1, "unreadable": 0}}
    assert made.facts()["model"] == "fake"
    assert made.facts()["prompt"] == "listwise.v1"


def test_each_passage_is_a_turn_in_the_dialogue():
    made = ranker(prompt="listwise-dialogue.v1")
    made.rank([Window("q1", "cats", ("a dog", "a cat"))])
    (request,) = made.llm.backend.requests
    assert [message["content"] for message in request.messages[3:6:2]] == ["[1] a dog", "[2] a cat"]


def test_passages_are_cut_to_the_words_of_the_entry():
    made = ranker(passage_words=3)
    made.rank([Window("q1", "cats", ("one two three four", "one two three"))])
    assert shown(made.llm.backend.requests[0].messages) == {1: "one two three", 2: "one two three"}
    assert (made.counts.cut, made.counts.shortened) == (1, 0)


def test_passages_are_shortened_until_prompt_and_answer_fit():
    window = Window("q1", "cats", ("word " * 300, "word " * 200, "short"))
    bare = ranker()
    prompt = bare.peek(Window("q1", "cats", ("", "", "")))[1]
    answer = 5 + 32  # `[1] > [2] > [3]` and what is to spare
    made = ranker(length=prompt + answer + 100 + 100 + 1 + 1)  # one more word for each would be two words more
    made.rank([window])
    (request,) = made.llm.backend.requests
    assert [len(text.split()) for text in shown(request.messages).values()] == [100, 100, 1]
    assert (made.counts.cut, made.counts.shortened, made.counts.fewest_words) == (2, 1, 100)
    assert made.llm.backend.count_tokens(request.messages) + request.options["max_tokens"] <= made.settings["length"]


def test_a_query_that_leaves_no_room_is_named():
    with pytest.raises(ToolkitError, match=r"(?m)^q7: \d+ tokens with passages of one word, and 35 for the answer$") as caught:
        ranker(length=200).rank([Window("q7", "word " * 150, ("a b", "c d"))])
    assert "tiny takes 200 in all" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"), [("ids", "letters"), ("system", "shout"), ("length", "4096"), ("passage_words", 0), ("output", True)]
)
def test_a_parameter_without_meaning_is_refused(name, value):
    with pytest.raises(ToolkitError, match=f"^system tiny: {name} is {value!r}, not "):
        ranker(**{name: value})


def test_an_unknown_parameter_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match="kind listwise has no parameter 'lenght' did you mean 'length'"):
        ranker(lenght=4096)


def test_sampling_is_sent_as_the_entry_says():
    made = ranker(temperature=None, top_p=0.9, seed=7)
    made.rank([Window("q", "cats", ("a", "b"))])
    assert made.llm.backend.requests[0].options == {"max_tokens": 35, "top_p": 0.9, "seed": 7}


def test_a_system_turn_is_merged_where_the_entry_says_so():
    made = ranker(system="merge")
    made.rank([Window("q1", "cats", ("a", "b"))])
    assert [message["role"] for message in made.llm.backend.requests[0].messages] == ["user"]


@pytest.mark.parametrize(
    ("text", "words", "cut"),
    [
        ("one two three", 2, "one two"),
        ("one two", 2, "one two"),
        ("", 2, ""),
        ("中文没有空格", 2, "中文"),
        ("mixed 中文 text", 2, "mixed 中"),
        ("x" * 70, 2, "x" * 60),  # what has no blanks is cut too
    ],
)
def test_words_are_what_blanks_divide_and_characters_where_a_script_has_none(text, words, cut):
    assert passage(text, 5).first(words) == cut


def test_of_a_long_text_no_more_is_kept_than_may_be_shown():
    book = passage("word " * 100_000, 3)
    assert book.text == "word word word word"  # one more than is shown tells that it was cut
    assert (book.first(3), book.first(1)) == ("word word word", "word")


def test_numbers_in_brackets_would_be_taken_for_passages():
    assert plain("see [3] and [12],\n not [a] or [ 3 ]") == "see (3) and (12), not [a] or [ 3 ]"


@pytest.mark.parametrize(("most", "limit", "found"), [(300, 500, 300), (300, 300, 300), (300, 17, 17), (300, 0, 0), (1, 0, 0)])
def test_the_longest_that_fits_is_found(most, limit, found):
    assert longest_that_fits(most, lambda words: words <= limit) == found


def test_a_ranker_is_made_of_an_entry_and_asks_its_server(home, monkeypatch, tmp_path):
    spec = SystemSpec(name="s", description="", kind="listwise", loader="endpoint", parameters={"model": "m"})
    made = load_ranker(spec, cache=tmp_path / "answers.sqlite")
    with pytest.raises(ToolkitError, match="no server for m"):
        made.check()
    with serving(Script(lambda messages: "[2]")) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        assert made.rank([Window("q", "cats", ("a", "b"))]) == [(1, 0)]
    replay = load_ranker(spec, cache=tmp_path / "answers.sqlite", replay=True)
    replay.check()
    assert replay.rank([Window("q", "cats", ("a", "b"))]) == [(1, 0)]
    assert replay.peek(Window("q", "cats", ("a", "b")))[0] == (1, 0)
    assert replay.peek(Window("q", "dogs", ("a", "b")))[0] is None


def test_a_server_has_to_be_told_a_model():
    with pytest.raises(ToolkitError, match="s does not say what a server calls it"):
        load_ranker(SystemSpec(name="s", description="", kind="listwise", loader="endpoint"))


def test_a_checkpoint_may_be_asked_through_a_server():
    spec = SystemSpec(name="s", description="", kind="listwise", checkpoint="castorini/x", loader="transformers")
    assert load_ranker(spec, loader="endpoint").llm.model == "castorini/x"
    with pytest.raises(ToolkitError, match="s is loaded by anserini"):
        load_ranker(spec, loader="anserini")
    with pytest.raises(ToolkitError, match="concurrency is 0"):
        load_ranker(spec, loader="endpoint", concurrency=0)
