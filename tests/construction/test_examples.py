"""What `build new` writes runs at once, without a network and a model, by answers that a script has given."""

import gzip
import json
import re
import socket
import time

import pytest
from command import tandem

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.examples import ANSWERS, FOLDER, RECORDED
from toolkit.construction.kinds import KINDS
from toolkit.models.llm.answer_cache import AnswerCache

RECORDS = "record them again: scripts/record_build_answers"
SEARCHING = ("berds", "followir", "infosearch")
EXAMPLES = sorted(path.name for path in FOLDER.iterdir())
MARKED = [pytest.param(kind, marks=[pytest.mark.lucene] if kind in SEARCHING else []) for kind in EXAMPLES]


@pytest.fixture
def alone(home, tmp_path, monkeypatch):
    """A home without anything, no server that is named, and none that can be reached; its folder is the working folder."""

    def refused(*_):
        raise AssertionError("a connection was tried")

    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*words):
    ended = tandem(*words)
    assert ended.returncode == 0, f"{ended.stderr}\n{RECORDS}"
    return ended.stdout + ended.stderr


def recorded(kind):
    path = FOLDER / kind / RECORDED
    return dict(map(json.loads, gzip.open(path, "rt", encoding="utf-8"))) if path.is_file() else {}


@pytest.mark.parametrize("kind", MARKED)
def test_a_new_build_becomes_a_benchmark_in_a_minute_and_uses_every_recorded_answer(kind, alone, monkeypatch):
    started, asked, get_all = time.monotonic(), set(), AnswerCache.get_all
    monkeypatch.setattr(AnswerCache, "get_all", lambda cache, keys: asked.update(keys) or get_all(cache, keys))
    said = done("build", "new", kind, "mine")
    assert ("by a script (`scripted`), not by a language model" in said) == bool(recorded(kind))
    done("build", "run", "mine")
    assert asked == set(recorded(kind)), RECORDS
    done("build", "benchmark", "mine", "--to", "out")
    done("benchmarks", "check", "out")
    done("build", "check", "out")
    assert time.monotonic() - started < 60
    made = [row for line in (alone / "out" / "provenance.jsonl").open() for row in json.loads(line)["made"]]
    assert {row["by"] for row in made} <= {"rule", "person", *["scripted"] * bool(recorded(kind))}
    assert {path.name for path in (alone / "mine").glob(f"{ANSWERS}*")} == ({ANSWERS} if recorded(kind) else set())


@pytest.mark.parametrize("kind", [kind for kind in EXAMPLES if recorded(kind)])
def test_the_file_says_whose_answers_these_are(kind, alone):
    done("build", "new", kind, "mine")
    head = (alone / "mine" / "build.yaml").read_text().partition("\nkind: ")[0]
    assert "written by a script that is called `scripted`, not by a language model" in head.replace("\n# ", " ")
    assert {model.model for model in BuildFolder("mine").config.models.values()} == {"scripted"}


def edited(*changes):
    path = BuildFolder("mine").path / "build.yaml"
    text = path.read_text()
    for before, after in changes:
        text, count = re.subn(before, after, text)
        assert count
    path.write_text(text)


def test_other_seeds_need_a_model_of_ones_own(alone):
    done("build", "new", "instructir", "mine")
    edited(("count: 10}", "count: 9}"))
    ended = tandem("build", "run", "mine")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-2:] == [
        "error: 12 of 12 answers of scripted are not in mine/answers.sqlite",
        "hint:  recorded answers are to the seeds and steps they came with: name your model under `models`, without `replay`",
    ]
    edited(("http:scripted, replay: true", "http:gpt-4o"))
    assert tandem("build", "run", "mine").stderr.splitlines()[-2].startswith("error: no server")


def test_a_build_asks_its_own_file_of_answers_where_it_has_one_and_no_other_is_named(alone):
    done("build", "new", "instructir", "mine")
    BuildFolder("mine").run("scenarios", cache=alone / "mine" / ANSWERS)
    (alone / "mine" / ANSWERS).rename("elsewhere.sqlite")
    ended = tandem("build", "run", "mine")
    assert f"error: 120 of 120 answers of scripted are not in {alone / 'home' / 'llm' / ANSWERS}" in ended.stderr
    assert all(state.is_done for state in BuildFolder("mine").run(cache=alone / "elsewhere.sqlite"))


def test_what_is_no_switch_is_refused(alone):
    done("build", "new", "instructir", "mine")
    edited(("replay: true, temperature: 1.0", "replay: always, temperature: 1.0"))
    said = "models: writer: replay is 'always': expected true where all answers are recorded, otherwise false"
    assert said in tandem("build", "run", "mine").stderr


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_of_the_users_is_replaced(kind, alone):
    (alone / "mine").mkdir()
    for name in [path.name for path in (FOLDER / kind).glob("*") if path.name != RECORDED] or ["build.yaml"]:
        (alone / "mine" / name).write_text("x")
        ended = tandem("build", "new", kind, "mine")
        assert (ended.returncode, ended.stderr.splitlines()[0]) == (2, f"error: mine/{name} is there already")
        assert [path.name for path in (alone / "mine").iterdir()] == [name]
        (alone / "mine" / name).unlink()
