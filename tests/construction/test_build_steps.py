"""The framework of `tandem build`: what is read, run, resumed and made again, with a small kind of the test's own."""

import json
import os
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from workers import HereExecutor

from toolkit.construction import build_config, build_folder, kinds
from toolkit.construction.answer_forms import number
from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.core.errors import ToolkitError

PROMPT = """
kind: build
turns:
  - {role: user, content: "Rate {word}."}
"""


@dataclass(frozen=True)
class Words(Step):
    """Makes an item of each word."""

    name = "words"
    words: tuple[str, ...] = ("one", "two", "three")

    def run(self, items, tools):
        for word in self.words:
            yield Item(word, {"word": word})


@dataclass(frozen=True)
class Rate(Step):
    """Asks a model about each."""

    name = "rate"
    slots: ClassVar = {"prompt": ("word",)}
    model: str = "judge"
    prompt: str = "rate.yaml"
    above: int = 2

    def run(self, items, tools):
        made = tools.made("judged", self.model, self.prompt)
        rows = ({"word": item.fields["word"]} for item in items)
        for item, score in zip(items, tools.parsed(self.model, self.prompt, rows, number(1, 5)), strict=True):
            if score is None:
                yield item.reject(UNREADABLE)
            else:
                yield item.passed(score=score).by(made).reject("" if score > self.above else "too low")


@dataclass(frozen=True)
class Upper(Step):
    """Needs nobody."""

    name = "upper"
    suffix: str = "!"

    def run(self, items, tools):
        for item in items:
            word = item.fields["word"].upper() + self.suffix
            yield Item(word, {"word": word}, (item.id,))


@dataclass(frozen=True)
class Extra(Step):
    """Is left out unless it is named."""

    name = "extra"
    optional = True

    def run(self, items, tools):
        yield from (item.passed(extra=True) for item in items)


MINE = SimpleNamespace(STEPS=(Words, Rate, Upper, Extra), SEED_FILES=("names",), FUNNEL={"rate": 10, "upper": 5})


@pytest.fixture
def place(tmp_path, home, monkeypatch):
    """A build in `tmp_path/mine`; `write(**changes)` writes its build.yaml."""
    monkeypatch.setattr(build_config, "kind_module", lambda name: MINE if name == "mine" else kinds.kind_module(name))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "rate.yaml").write_text(PROMPT)
    (folder / "names.txt").write_text("x")

    def write(**changes):
        content = {"kind": "mine", "seeds": {"names": "names.txt"}, "models": {"judge": "http:m"}, **changes}
        (folder / "build.yaml").write_text(yaml.safe_dump(content))
        return BuildFolder(folder)

    return SimpleNamespace(folder=folder, write=write)


def length(messages):
    """One of the letters of the word: one 3, two 3, three 5."""
    return str(len(messages[0]["content"]) - len("Rate ."))


def asking(script, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", script.base)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in (folder / "steps").glob("*.jsonl")}


def test_steps_run_in_their_order_and_each_item_has_its_history(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        build = place.write(steps={"rate": {"above": 3}})
        states = build.run()
    assert [(state.step.name, state.state) for state in states] == [(name, "up to date") for name in ("words", "rate", "upper")]
    records = {state.step.name: state.record for state in states}
    assert (records["words"].entered, records["words"].left) == (3, 3)
    assert (records["rate"].entered, records["rate"].left, records["rate"].rejected) == (3, 1, {"too low": 2})
    asked = records["rate"].asked["judge"]
    assert (asked.requests, asked.cached, asked.failed, asked.prompt_tokens, asked.completion_tokens) == (3, 0, 0, 300, 30)
    assert [item.id for item in build.steps().passed("upper")] == ["THREE!"]
    digest = build.depends(1)["prompts"]["rate.yaml"]
    row = {"role": "judged", "by": "m", "family": "", "prompt": "rate.yaml", "sha256": digest, "step": "rate"}
    assert build.steps().made["upper"]["THREE!"] == (row,)
    found = build.steps().history("three")
    assert [(each.step, each.relation, each.item.id) for each in found] == [
        ("words", "itself", "three"),
        ("rate", "itself", "three"),
        ("upper", "descendant", "THREE!"),
    ]
    assert [each.relation for each in build.steps().history("THREE!")] == ["ancestor", "ancestor", "itself"]
    with pytest.raises(ToolkitError, match="no item 'thre'") as caught:
        build.steps().history("thre")
    assert "did you mean 'three'?" in caught.value.hint


def test_only_what_depends_on_a_change_is_made_again(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        place.write().run()
        assert len(script.bodies) == 3

        def again(steps, prompt=PROMPT):
            (place.folder / "rate.yaml").write_text(prompt)
            build = place.write(steps=steps)
            before = [state.state for state in build.states()]
            done = len(script.bodies)
            build.run()
            return before, len(script.bodies) - done

        assert again({}) == (["up to date"] * 3, 0)
        assert again({"upper": {"suffix": "?"}}) == (["up to date", "up to date", "changed: parameters"], 0)
        # one more word: one more question
        more = {"words": {"words": ["one", "two", "three", "four"]}, "upper": {"suffix": "?"}}
        assert again(more) == (["changed: parameters", "words is out of date", "rate is out of date"], 1)
        assert again(more, PROMPT.replace("Rate", "Mark")) == (["up to date", "changed: prompts", "rate is out of date"], 4)


def test_a_step_whose_input_came_out_the_same_is_not_run_again(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        place.write(steps={"rate": {"above": 1}}).run()
        stamp = (place.folder / "steps" / "upper.jsonl").stat().st_mtime_ns
        states = place.write(steps={"rate": {"above": 2}}).run()
    assert [state.is_done for state in states] == [True] * 3
    assert (place.folder / "steps" / "upper.jsonl").stat().st_mtime_ns == stamp


def test_a_changed_file_of_a_step_is_made_again(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        build = place.write()
        build.run()
        expected = bytes_of(place.folder)
        path = place.folder / "steps" / "rate.jsonl"
        path.write_bytes(path.read_bytes() + b'{"id": "mine"}\n')
        assert [state.state for state in build.states()] == ["up to date", "its file was changed", "changed: steps"]
        build.run()
    assert bytes_of(place.folder) == expected


def test_up_to_a_step_and_no_further(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        build = place.write()
        assert [state.step.name for state in build.run("rate")] == ["words", "rate"]
        assert [state.state for state in build.states()] == ["up to date", "up to date", "not run"]
        with pytest.raises(ToolkitError, match="no step 'rat'") as caught:
            build.run("rat")
    assert caught.value.hint == "did you mean 'rate'? known: words, rate, upper"


def test_replay_makes_the_same_bytes_without_a_server(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        place.write().run()
    expected = bytes_of(place.folder)
    for path in (place.folder / "steps").iterdir():
        path.unlink()
    monkeypatch.delenv("OPENAI_BASE_URL")
    states = place.write().run(replay=True)
    assert bytes_of(place.folder) == expected
    assert states[1].record.asked["judge"].cached == 3
    with pytest.raises(ToolkitError, match="1 of 4 answers of m are not in"):
        place.write(steps={"words": {"words": ["one", "two", "three", "four"]}}).run(replay=True)


def test_answers_of_workers_give_the_same_bytes(place, home, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        place.write().run()
        expected = bytes_of(place.folder)
        shutil.rmtree(place.folder / "steps")
        shutil.rmtree(home)
        workers = HereExecutor()
        monkeypatch.setattr(build_folder, "opened", lambda **how: nullcontext(workers))
        states = place.write().run(engine="ray")
        assert (workers.units, len(script.bodies)) == (1, 6)
    assert bytes_of(place.folder) == expected
    assert states[1].record.asked["judge"].cached == 0


def test_without_a_server_nothing_is_asked_and_nothing_is_written(place):
    with pytest.raises(ToolkitError, match="no server for m"):
        place.write().run()
    assert not (place.folder / "steps").exists()


def test_an_answer_in_another_form_is_asked_for_once_more_and_then_rejected(place, monkeypatch):
    def answer(messages):
        if len(messages) == 1:
            return "3" if "one" in messages[0]["content"] else "three, I think"
        assert messages[1] == {"role": "assistant", "content": "three, I think"}
        assert "no whole number from 1 to 5: 'three, I think'" in messages[2]["content"]
        return "4." if "two" in messages[0]["content"] else "three"

    with serving(Script(answer)) as script:
        asking(script, monkeypatch)
        build = place.write()
        build.run()
        items = {item.id: item for item in build.steps().items("rate")}
    assert (items["one"].fields["score"], items["two"].fields["score"]) == (3, 4)
    assert items["three"].rejected == UNREADABLE == "no answer in the form asked for"
    # it was rejected as it came: it has no history of this step but where it is from
    assert (items["three"].sources, items["three"].made) == (("three",), ())
    assert build.states()[1].record.asked["judge"].requests == 5


def test_what_a_server_refuses_is_asked_again_by_the_next_run(place, monkeypatch):
    def refusing(messages):
        return ("status", 400) if "two" in messages[0]["content"] else "4"

    with serving(Script(refusing)) as script:
        asking(script, monkeypatch)
        states = place.write().run()
        assert states[1].record.rejected == {UNREADABLE: 1}
        assert states[1].state == "1 requests unanswered"
        script.answer = length
        assert [state.state for state in place.write().run()] == ["up to date"] * 3
    assert states[1].record.failed == 1


def test_a_server_that_is_not_there_ends_the_run_and_leaves_no_file(place):
    build = place.write(models={"judge": "http:m@http://127.0.0.1:1/v1"})
    with pytest.raises(ToolkitError, match="none of its requests was answered: http://127"):
        build.run(retries=0)
    assert [state.state for state in build.states()] == ["up to date", "not run", "not run"]
    assert not build.files["rate"].path.exists()


def test_a_build_of_which_every_item_was_rejected_ends_with_status_1(place, monkeypatch):
    monkeypatch.setattr(Words, "run", lambda self, items, tools: iter([Item("a", {"word": "a"}, rejected="too short")]))
    place.write(models={"judge": "http:m@http://127.0.0.1:1/v1"})
    done = tandem("build", "run", place.folder)
    assert done.returncode == 1
    assert "error: no item is left: all were rejected" in done.stderr
    monkeypatch.setattr(Words, "run", lambda self, items, tools: iter([Item("a", {"word": "a"}, waiting=True)]))
    place.folder.joinpath("steps", "words.jsonl").unlink()
    assert tandem("build", "run", place.folder).returncode == 0  # it waits for people


def test_a_waiting_item_goes_no_further(place, monkeypatch):
    monkeypatch.setattr(Words, "run", lambda self, items, tools: iter([Item("a", {"word": "a"}, waiting=True)]))
    build = place.write(models={"judge": "http:m@http://127.0.0.1:1/v1"})
    states = build.run()
    assert (states[0].record.waiting, states[0].record.left, states[1].record.entered) == (1, 0, 0)


def test_an_optional_step_is_run_where_it_is_named(place):
    assert place.write().config.names == ("words", "rate", "upper")
    assert place.write(steps={"extra": {}}).config.names == ("words", "rate", "upper", "extra")
    assert place.write(steps={"extra": False}).config.names == ("words", "rate", "upper")


def test_a_key_with_nothing_below_it_is_as_if_left_out(place):
    assert place.write(steps=None, systems=None).config == place.write(steps={}).config


def test_everything_that_is_wrong_is_said_at_once(place):
    (place.folder / "rate.yaml").write_text(PROMPT.replace("{word}", "{wrod}"))
    with pytest.raises(ToolkitError) as caught:
        place.write(
            seeds={"name": "names.txt"},
            models={"juge": {"system": "http:m", "temprature": 1}, "other": 3, "third": {"system": "no-such-system"}},
            steps={"rate": {"abov": 3, "above": "x"}, "uper": {}, "upper": {"suffix": 3}, "words": False},
            kinds="x",
        )
    said = list(map(str, caught.value.problems))
    for expected in (
        "unknown key 'kinds' (did you mean 'kind'? known: kind, seeds, models, steps, systems)",
        "seeds: unknown key 'name' (did you mean 'names'?",
        "models: juge: unknown key 'temprature' (did you mean 'temperature'?",
        "models: other: expected a system or keys, found 3",
        "models: third: no system 'no-such-system'",
        "steps: no step 'uper' (did you mean 'upper'?",
        "steps: rate: unknown key 'abov' did you mean 'above'?",
        "steps: rate: key 'above': expected a whole number, found 'x'",
        "steps: upper: key 'suffix': expected text, found 3",
    ):
        assert any(line.startswith(expected) for line in said), (expected, said)
    assert caught.value.status == 2


def test_prompts_and_models_are_checked_before_anything_is_asked(place):
    (place.folder / "rate.yaml").write_text(PROMPT.replace("{word}", "{wrod}"))
    with pytest.raises(ToolkitError) as caught:
        place.write(models={"juge": "http:m"})
    assert list(caught.value.problems) == [
        "steps: rate: no model 'judge' under models (did you mean 'juge'? known: juge)",
        "steps: rate: prompt rate.yaml: slot {word} is missing",
        "steps: rate: prompt rate.yaml: slot {wrod} is unknown here",
    ]
    with pytest.raises(ToolkitError) as caught:
        place.write(steps={"rate": {"prompt": "rte.yaml"}})
    assert str(caught.value.problems[0]).startswith("steps: rate: no prompt 'rte.yaml'")


@pytest.mark.parametrize("content", ["", "[]", "kind: infosearc\n", "kind: [a]\nseeds: 3\nmodels: 4\nsteps: 5\nsystems: 6\n"])
def test_a_file_of_another_form_is_one_error(place, content):
    (place.folder / "build.yaml").write_text(content)
    with pytest.raises(ToolkitError):
        BuildFolder(place.folder)


def test_the_same_id_twice_in_a_step_is_an_error_and_leaves_no_file(place, monkeypatch):
    monkeypatch.setattr(Words, "run", lambda self, items, tools: iter([Item("a"), Item("a")]))
    with pytest.raises(ToolkitError, match="the item 'a' comes twice"):
        place.write(models={"judge": "http:m@http://127.0.0.1:1/v1"}).run("words")
    assert list((place.folder / "steps").iterdir()) == []


def test_a_damaged_line_names_its_place(place, monkeypatch):
    build = place.write()
    path = build.files["words"].path
    path.parent.mkdir()
    path.write_bytes(b'{"id": "a"}\n{"id": 3}\n')
    with pytest.raises(ToolkitError, match=r"words\.jsonl, line 2: no item"):
        build.steps().passed("words")


def test_prices_of_a_million_tokens_give_the_cost(place, monkeypatch):
    from toolkit.construction.build_tables import status_tables

    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        entry = {"system": "http:m", "prices": {"prompt": 2.0, "completion": 10.0}, "family": "mine"}
        build = place.write(models={"judge": entry})
        build.run()
    steps, funnel = status_tables(build.config, build.states())
    row = dict(zip([column.name for column in steps.columns], steps.rows[1], strict=True))
    assert row["cost"].value == pytest.approx(300 * 2e-6 + 30 * 10e-6)
    assert (row["requests"], row["tokens"]) == (3, 330)
    assert [each[0] for each in funnel.rows] == ["rate", "upper"]
    assert build.config.models["judge"].family == "mine"
    models = place.write(models={"judge": "http:gpt-4o-mini", "small": "smollm2-135m-instruct"}).config.models
    assert [(model.model, model.family) for model in models.values()] == [
        ("gpt-4o-mini", "gpt"),
        ("smollm2-135m-instruct", "smollm"),
    ]


def test_waiting_and_rejected_items_come_back_as_they_were(tmp_path):
    from toolkit.construction.steps import read_items, to_line

    items = [
        Item("a", {"text": 'x "y": z\n', "n": 1, "list": ["1", "2"]}, ("s",), ({"role": "wrote", "by": "m"},), "why"),
        Item("ü", waiting=True),
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(map(to_line, items)))
    assert list(read_items(path)) == items


def test_nothing_but_json_values_reaches_a_record(place, monkeypatch):
    with serving(Script(length)) as script:
        asking(script, monkeypatch)
        place.write().run()
    record = yaml.safe_load((place.folder / "steps" / "rate.jsonl.yaml").read_text())
    assert json.loads(json.dumps(record)) == record
    assert os.listdir(place.folder / "steps") != []
