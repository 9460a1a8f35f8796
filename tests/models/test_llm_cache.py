import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from endpoint import Script, serving

from toolkit.core.errors import ToolkitError
from toolkit.models.llm import LLM, Answer, AnswerCache, Endpoint, Request, default_cache

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parent.parent.parent
ASK_FORTY = """
import sys
from pathlib import Path
from toolkit.models.llm import LLM, AnswerCache, Endpoint, Request
llm = LLM(Endpoint("m", base_url=sys.argv[1], concurrency=2), cache=AnswerCache(Path(sys.argv[2])))
llm.complete([Request([{"role": "user", "content": str(number)}], {"max_tokens": 5}) for number in range(40)])
print(llm.usage.cached, llm.usage.asked)
"""
UNTIL_FULL = """
import resource, sys
from pathlib import Path
from toolkit.core.errors import ToolkitError
from toolkit.models.llm import Answer, AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
cache.put("first", Answer("kept"))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file may grow beyond
try:
    for number in range(1000):
        cache.put(str(number), Answer("a long answer " * 100))
except ToolkitError as error:
    print(number, *error.lines(), sep="\\n")
"""
PUT_200 = """
import sys
from pathlib import Path
from toolkit.models.llm import Answer, AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
for number in range(200):
    cache.put(f"{number % 150}-{sys.argv[2] if number < 100 else ''}", Answer(text=str(number)))
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
    with pytest.raises(ToolkitError, match=rf"^1 of 2 answers of m are not in {re.escape(str(path))}$") as caught:
        replay.complete([ask("a"), ask("b")])
    assert len(caught.value.lines()) == 2
    assert caught.value.status == 1


def test_what_another_process_was_answered_first_is_what_both_have(path):
    def answer(messages):
        AnswerCache(path).put(ask().key({"model": "m"}), Answer("theirs"))
        return "ours"

    with serving(Script(answer)) as script:
        assert model(script, path).complete([ask()])[0].text == "theirs"


def test_replay_downloads_no_checkpoint(path):
    class Elsewhere:
        here = False

        @property
        def facts(self):
            raise AssertionError("known only after a download")

    with pytest.raises(ToolkitError, match="replay asks no hub for a checkpoint"):
        LLM(Elsewhere(), cache=AnswerCache(path), replay=True).check()


def test_looking_makes_no_file(path):
    llm = LLM(Endpoint("m"), cache=AnswerCache(path))
    assert llm.peek(ask()) is None
    assert not path.exists()


def test_the_cache_lies_in_the_home(home):
    assert default_cache() == home / "llm" / "answers.sqlite"


def test_answers_come_back_as_they_were(path):
    answer = Answer("Ünï\ncödé", "length", "model", "https://host", 1, 2)
    AnswerCache(path).put("key", answer)
    assert AnswerCache(path).get("key") == answer
    assert AnswerCache(path).get("other") is None


def test_half_a_character_is_asked_and_kept(path):
    with serving(Script(lambda messages: "half \ud83d of it")) as script:
        assert [model(script, path).complete([ask("one \ud83d")])[0].text for _ in range(2)] == ["half ? of it"] * 2
        assert len(script.bodies) == 1


def test_the_first_answer_stays(path):
    cache = AnswerCache(path)
    cache.put("key", Answer("first"))
    assert cache.put("key", Answer("second")) == Answer("first")
    assert cache.get("key").text == "first"


@pytest.mark.parametrize("damage", ["text", "head", "middle", "empty table"])
def test_a_damaged_cache_is_one_line(path, damage):
    cache = AnswerCache(path)
    for number in range(500):
        cache.put(f"{number:064}", Answer("a long answer " * 20))
    cache._open().execute("pragma wal_checkpoint(truncate)")
    cache.close()
    if damage == "text":
        path.write_text("no database, but long enough to be read as one " * 100)
    elif damage == "empty table":
        sqlite3.connect(path).execute("drop table answers").connection.commit()
        sqlite3.connect(path).execute("create table answers (something text)").connection.commit()
    else:
        content = bytearray(path.read_bytes())
        start = 0 if damage == "head" else 4096
        content[start : start + 60_000] = b"\xff" * 60_000
        path.write_bytes(content)
    with pytest.raises(ToolkitError) as caught:
        AnswerCache(path).get(f"{250:064}")
    lines = caught.value.lines()
    assert len(lines) == 2
    assert str(path) in lines[0]


def test_a_database_of_something_else_is_left_alone(path):
    other = sqlite3.connect(path)
    other.execute("create table mine (value)")
    other.commit()
    before = path.read_bytes()
    with pytest.raises(ToolkitError, match="is an SQLite file of something else"):
        AnswerCache(path).put("key", Answer("text"))
    assert path.read_bytes() == before


@pytest.mark.process
def test_a_disk_that_is_full_is_one_line_and_what_was_kept_stays(path):
    done = subprocess.run([sys.executable, "-c", UNTIL_FULL, str(path)], cwd=ROOT, capture_output=True, text=True)
    number, *lines = done.stdout.splitlines()
    assert (len(lines), done.stderr) == (2, "")
    assert lines[0].startswith(f"error: cannot use the cache {path}: ")
    cache = AnswerCache(path)
    assert cache.get("first") == Answer("kept")
    assert cache.get(str(int(number) - 1)) == Answer("a long answer " * 100)
    assert cache.put("again", Answer("room")) == cache.get("again")


@pytest.mark.process
def test_two_processes_share_a_cache(path):
    commands = [[sys.executable, "-c", PUT_200, str(path), name] for name in ("a", "b", "c")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT) for command in commands]
    for process in running:
        assert b"rror" not in process.communicate()[1]
        assert process.returncode == 0
    cache = AnswerCache(path)
    # 100 of each process alone, and 100 that all three have
    assert cache._open().execute("select count(*) from answers").fetchone()[0] == 3 * 100 + 100
    assert cache.get("149-").text == "149"


@pytest.mark.process
def test_a_killed_process_goes_on_where_it_was(path):
    with serving(Script(delay=0.05)) as script:
        command = [sys.executable, "-c", ASK_FORTY, script.base, str(path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        while len(script.bodies) < 12:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = len(script.bodies)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        cached, asked = map(int, done.stdout.split())
        assert cached + asked == 40
        assert before - 3 <= cached <= before  # two were under way, and one may have come without being kept
        assert len(script.bodies) == before + asked
        again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert again.stdout.split() == ["40", "0"]


@pytest.mark.process
def test_an_interrupted_process_ends_though_the_server_is_silent(path):
    def kept():
        return sum(AnswerCache(path).get(ask(str(number)).key({"model": "m"})) is not None for number in range(40))

    with serving(Script(faults=[None] * 5, always="silence")) as script:
        process = subprocess.Popen([sys.executable, "-c", ASK_FORTY, script.base, str(path)], cwd=ROOT, stderr=subprocess.PIPE)
        while len(script.bodies) < 7 or kept() < 5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]  # the server would be waited for ten minutes
    assert kept() == 5
