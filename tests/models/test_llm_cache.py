import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from endpoint import Script, serving

from toolkit.core.errors import ToolkitError
from toolkit.files.store.keyed_cache import KeyedCache
from toolkit.models.llm import LLM, Answer, AnswerCache, Endpoint, Request, default_cache
from toolkit.models.llm.answer_cache import UNWRITTEN

ROOT = Path(__file__).resolve().parent.parent.parent
ASK_EIGHTY = """
import sys
from pathlib import Path
from toolkit.models.llm import LLM, AnswerCache, Endpoint, Request
llm = LLM(Endpoint("m", base_url=sys.argv[1], concurrency=2), cache=AnswerCache(Path(sys.argv[2])))
llm.complete([Request([{"role": "user", "content": str(number)}], {"max_tokens": 5}) for number in range(80)])
print(llm.usage.cached, llm.usage.asked)
"""


def ask(text="hello", **options):
    return Request([{"role": "user", "content": text}], {"max_tokens": 5, **options})


def model(script, path, name="m", **settings):
    return LLM(Endpoint(name, base_url=script.base, retries=0), cache=AnswerCache(path), **settings)


@pytest.fixture
def path(tmp_path, home):
    return tmp_path / "answers.sqlite"


def test_what_was_answered_is_not_asked_again(path):
    requests = [ask("a"), ask("b"), ask("a")]
    with serving(Script(lambda messages: messages[0]["content"] * 2)) as script:
        first, second = model(script, path), model(script, path)
        assert [answer.text for answer in first.complete(requests)] == ["aa", "bb", "aa"]
        assert (first.usage.requests, first.usage.cached, first.usage.asked) == (3, 0, 2)
        assert [answer.text for answer in second.complete([*requests, ask("c")])] == ["aa", "bb", "aa", "cc"]
        assert (second.usage.requests, second.usage.cached, second.usage.asked) == (4, 3, 1)
        assert second.usage.prompt_tokens == 100  # of what was asked now
        assert second.usage.models == {"scripted-2026": 4}
        assert len(script.bodies) == 3


def test_the_key_is_of_all_that_shapes_the_answer():
    facts = {"model": "m"}
    keys = {
        ask().key(facts),
        ask("other").key(facts),
        ask(temperature=0).key(facts),
        ask(temperature=1).key(facts),
        ask(seed=1).key(facts),
        ask().key({"model": "n"}),
        ask().key({"model": "m", "revision": "r"}),
        Request([{"role": "system", "content": "hello"}], {"max_tokens": 5}).key(facts),
        Request([{"role": "user", "content": "hello"}], {"max_tokens": 6}).key(facts),
    }
    assert len(keys) == 9
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
    assert ask(a=1, b=2).key(facts) == ask(b=2, a=1).key(facts)
    # worked out with sha256sum: an old cache is worth nothing once this changes
    assert ask().key(facts) == "03e57af6a8495f32dcdfd4b68382fa1eb2bf3cfafbfd48698b0bf430bbe84a4e"


def test_the_address_is_not_in_the_key_but_is_told(path):
    with serving(Script()) as first:
        model(first, path).complete([ask()])
    with serving(Script()) as second:
        llm = model(second, path)
        llm.complete([ask(), ask("new")])
        assert len(second.bodies) == 1
    assert llm.usage.servers == {first.base.removesuffix("/v1"): 1, second.base.removesuffix("/v1"): 1}


def test_a_call_reads_nothing_back_without_a_cache():
    with serving(Script()) as script:
        llm = LLM(Endpoint("m", base_url=script.base))
        llm.complete([ask()])
        llm.complete([ask()])
        assert (llm.usage.cached, llm.usage.asked) == (0, 2)


def test_replay_needs_no_server_and_fails_on_the_first_miss(path):
    with serving(Script()) as script:
        model(script, path).complete([ask("a")])
    replay = LLM(Endpoint("m"), cache=AnswerCache(path), replay=True)
    replay.check()
    assert replay.complete([ask("a")])[0].text == "fine"
    with pytest.raises(ToolkitError, match=rf"(?m)^1 of 2 answers of m are not in {re.escape(str(path))}$") as caught:
        replay.complete([ask("a"), ask("b")])
    assert len(caught.value.lines()) == 2
    assert caught.value.status == 1


def test_what_another_process_was_answered_first_is_what_both_have(path):
    def answer(messages):
        with AnswerCache(path).writer() as writer:
            writer.put(ask().key({"model": "m"}), Answer("theirs"))
        return "ours"

    with serving(Script(answer)) as script:
        assert model(script, path).complete([ask()])[0].text == "theirs"


def test_replay_downloads_no_checkpoint(path):
    class Elsewhere:
        here = False

        @property
        def facts(self):
            raise AssertionError("known only after a download")

    with pytest.raises(ToolkitError, match="--replay sends no request to the hub"):
        LLM(Elsewhere(), cache=AnswerCache(path), replay=True).check()


def test_looking_makes_no_file(path):
    llm = LLM(Endpoint("m"), cache=AnswerCache(path))
    assert llm.peek(ask()) is None
    assert not path.exists()


def test_the_cache_lies_in_the_home(home):
    assert default_cache() == home / "llm" / "answers.sqlite"


def test_answers_come_back_as_they_were(path):
    answer = Answer("Ünï\ncödé", "length", "model", "https://host", 1, 2)
    with AnswerCache(path).writer() as writer:
        writer.put("key", answer)
    assert AnswerCache(path).get("key") == answer
    assert AnswerCache(path).get("other") is None


def test_half_a_character_is_asked_and_kept(path):
    with serving(Script(lambda messages: "half \ud83d of it")) as script:
        assert [model(script, path).complete([ask("one \ud83d")])[0].text for _ in range(2)] == ["half ? of it"] * 2
        assert len(script.bodies) == 1


class Slow:
    """Answers one request after the other; the next one when the last answer is on disk."""

    facts, origin, here = {"model": "m"}, {}, True

    def __init__(self, path):
        self.path, self.seen = path, []

    def answers(self, requests):
        for position, request in enumerate(requests):
            yield position, Answer(f"{position}")
            until = time.monotonic() + 20
            while AnswerCache(self.path).get(request.key(self.facts)) is None and time.monotonic() < until:
                time.sleep(0.001)
            self.seen.append(AnswerCache(self.path).get(request.key(self.facts)))


def test_an_answer_is_on_disk_at_once_though_no_other_follows(path):
    slow = Slow(path)
    llm = LLM(slow, cache=AnswerCache(path))
    assert [answer.text for answer in llm.complete([ask("a"), ask("b")])] == ["0", "1"]
    assert slow.seen == [Answer("0"), Answer("1")]


def test_many_answers_are_read_in_one_go_and_written_in_few(path, monkeypatch):
    calls = []

    def counted(name):
        plain = getattr(KeyedCache, name)
        monkeypatch.setattr(KeyedCache, name, lambda self, *given: calls.append(name) or plain(self, *given))

    counted("get")
    counted("put")

    class Quick(Slow):
        def answers(self, requests):
            return ((position, Answer(str(position))) for position in range(len(requests)))

    requests = [ask(str(number)) for number in range(2000)]
    LLM(Quick(path), cache=AnswerCache(path)).complete(requests)
    assert calls.count("get") == 2  # what is there, and what others may have written meanwhile
    assert calls.count("put") < 1000
    calls.clear()
    again = LLM(Quick(path), cache=AnswerCache(path), replay=True)
    assert [answer.text for answer in again.complete(requests)] == [str(number) for number in range(2000)]
    assert calls == ["get"]


def test_answers_that_cannot_be_written_end_the_call(path, monkeypatch):
    def full(self, entries):
        raise ToolkitError("the disk is full", status=1)

    monkeypatch.setattr(KeyedCache, "put", full)
    with serving(Script()) as script, pytest.raises(ToolkitError, match="the disk is full"):
        model(script, path).complete([ask(str(number)) for number in range(3)])


def test_what_came_before_an_error_is_written(path):
    class Failing(Slow):
        def answers(self, requests):
            yield 0, Answer("first")
            raise ToolkitError("no more")

    with pytest.raises(ToolkitError, match="no more"):
        LLM(Failing(path), cache=AnswerCache(path)).complete([ask("a"), ask("b")])
    assert AnswerCache(path).get(ask("a").key({"model": "m"})) == Answer("first")
    assert AnswerCache(path).get(ask("b").key({"model": "m"})) is None


def test_the_first_answer_stays(path):
    cache = AnswerCache(path)
    for text in ("first", "second"):
        with cache.writer() as writer:
            writer.put("key", Answer(text))
    assert cache.get("key") == Answer("first")


WHOLE = {"text": "x", "finish": "stop", "model": "m", "server": "", "prompt_tokens": 1, "completion_tokens": 1}
NO_ANSWERS = [b"", b"no JSON", b"\xff", b"[" * 100_000, b"[]", b'{"txet": "fine"}']
OTHERS = ({"text": 1}, {"text": None}, {"prompt_tokens": "1"}, {"error": ""})
NO_ANSWERS += [json.dumps(WHOLE | other).encode() for other in OTHERS]


@pytest.mark.parametrize("entry", NO_ANSWERS, ids=range(len(NO_ANSWERS)))
def test_an_entry_that_is_no_answer_is_one_line(path, entry):
    KeyedCache(path, "answers").put({b"key": entry})
    with pytest.raises(ToolkitError, match=r"answers\.sqlite: the cache is damaged") as caught:
        AnswerCache(path).get("key")
    assert len(caught.value.lines()) == 2
    assert caught.value.status == 1


@pytest.mark.process
def test_a_killed_process_resumes_where_it_was(path):
    with serving(Script(delay=0.02)) as script:
        command = [sys.executable, "-c", ASK_EIGHTY, script.base, str(path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        while len(script.bodies) < 40:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = len(script.bodies)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        cached, asked = map(int, done.stdout.split())
        assert cached + asked == 80
        assert before - 3 - UNWRITTEN <= cached <= before  # two were under way, and one may have come without being put
        assert len(script.bodies) == before + asked
        again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert again.stdout.split() == ["80", "0"]


@pytest.mark.process
def test_an_interrupted_process_ends_though_the_server_is_silent(path):
    def kept():
        return sum(AnswerCache(path).get(ask(str(number)).key({"model": "m"})) is not None for number in range(40))

    with serving(Script(faults=[None] * 5, always="silence")) as script:
        process = subprocess.Popen([sys.executable, "-c", ASK_EIGHTY, script.base, str(path)], cwd=ROOT, stderr=subprocess.PIPE)
        while len(script.bodies) < 7 or kept() < 5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]  # the server would be waited for ten minutes
    assert kept() == 5
