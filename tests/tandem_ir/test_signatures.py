"""What an editor has of the calls: every parameter by name, with a type that says something, as the command has it."""

import argparse
import builtins
import inspect
import typing
from collections.abc import Callable, Iterator
from importlib import import_module

import jedi
import pytest
from command import ROOT

import tandem_ir as tandem
from toolkit.datasets import accepted
from toolkit.parsers import TAKEN

# steps take what the systems that they name have, which entries of users may add to
OPEN = {"Retrieve": "parameters", "Rerank": "given", "Diversify": "how"}
# of a command alone: what it prints and how, what it does instead of its work, and by which name what is written is found
PRINTED = {*TAKEN, "format", "format_piped", "all", "notes", "sort", "percent", "decimals", "output", "dry_run", "show_prompt"}
MISSING = {"missing": (None, "worst")}  # a command knows that nobody chose it
NAMES = {
    "system": "systems",
    "benchmark": "benchmarks",
    "table": "tables",
    "own_index": "indexes",
}  # given once for each of them

# command -> its call; dest -> parameter where they differ; what the command alone has; dest -> both defaults where they differ
COMMANDS = {
    "search": (tandem.search, {}, set(), {"system": (None, "bm25")}),
    "rerank": (tandem.rerank, {}, set(), {}),
    "fuse": (tandem.fuse, {"run": "runs"}, set(), {}),
    # the call makes one run with one lambda, and tunes none
    "diversify": (tandem.diversify, {"runs": "run"}, {"tune", "qrels"}, {"tail": (None, "keep")}),
    "expand topics": (tandem.expand, {}, set(), {}),
    # what else the command does with a judge
    "judge": (
        tandem.judge,
        {"run": "runs", "judge": "system"},
        {"task", "score", "reference", "correct", "measures", "export"},
        {},
    ),
    "index": (tandem.index, {"what": "corpus"}, {"unpacked"}, {}),  # of `index fetch`
    "encode": (tandem.encode, {"what": "corpus"}, set(), {}),
    "experiment": (tandem.experiment, {}, set(), MISSING),
    "reproduce": (tandem.reproduce, NAMES, {"export", "verify"}, {}),
    # what else is printed; how differences are tested is a `Baseline` of the call
    "evaluate": (tandem.evaluate, {"run": "runs"}, {"explain", "published", "standing", "test", "samples", "seed"}, {}),
    "diff": (
        tandem.diff,
        {},
        {"relative", "html", "topics", "index", "docs", "exit_zero"},
        {**MISSING, "samples": (None, 10_000)},
    ),
    # `named` is the baseline where it is an option; `strict` is of `Gate.passed`
    "gate": (tandem.gate, {}, {"named", "strict", "json", "junit"}, MISSING),
    # `plot` and `report_site` are calls of their own
    "report": (tandem.report, {}, {"plots", "site", "pair"}, MISSING),
    "cite": (tandem.cite, NAMES, set(), {}),
    "measures sensitivity": (tandem.measure_sensitivity, {}, set(), {}),
    "measures discrimination": (tandem.measure_discrimination, {}, set(), {}),
    "measures references": (tandem.measure_references, {"ids": "names"}, set(), {}),
}


def calls() -> Iterator[tuple[str, Callable]]:
    for name in tandem.__all__:
        found = getattr(tandem, name)
        if inspect.isfunction(found):
            yield name, found
    for name, method in inspect.getmembers(tandem.Build, callable):
        if not name.startswith("_"):
            yield f"Build.{name}", method


def test_every_call_names_its_parameters_with_a_type():
    wrong = []
    for name, call in calls():
        signature = inspect.signature(call)
        for each in signature.parameters.values():
            shown = str(each.annotation)
            if each.kind is each.VAR_KEYWORD or (each.name != "self" and shown in ("Any", "typing.Any", str(each.empty))):
                wrong.append(f"{name}: {each}")
        if signature.return_annotation is signature.empty:
            wrong.append(f"{name} returns")
    assert wrong == []


def test_only_steps_take_what_has_no_name():
    classes = {
        name: found
        for name in tandem.__all__
        if inspect.isclass(found := getattr(tandem, name)) and found is not tandem.ToolkitError
    }
    unnamed = {
        name: each.name
        for name, found in classes.items()
        for each in inspect.signature(found).parameters.values()
        if each.kind is each.VAR_KEYWORD and not getattr(found, "_is_protocol", False)
    }
    assert unnamed == OPEN


class Known(dict):
    """The names of an annotation: of typing, of `accepted`, of Python; all others are classes of no interest here."""

    def __missing__(self, name):
        return getattr(builtins, name, typing.Any)


def choices(annotation) -> tuple:
    names = Known({**vars(typing), **vars(accepted)})
    found = eval(annotation, {}, names) if isinstance(annotation, str) else annotation
    return tuple(
        value
        for each in (found, *typing.get_args(found))
        if typing.get_origin(each) is typing.Literal
        for value in typing.get_args(each)
    )


def actions(command: str) -> dict[str, argparse.Action]:
    name, _, sub = command.partition(" ")
    parser = import_module(f"toolkit.{name}").parser()
    if sub:
        [subparsers] = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        parser = subparsers.choices[sub]
    return {each.dest: each for each in parser._actions}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_call_has_the_options_of_its_command_with_their_defaults_and_choices(command):
    call, renamed, of_command, defaults = COMMANDS[command]
    found, parameters = actions(command), inspect.signature(call).parameters
    names = {renamed.get(dest, dest) for dest in found.keys() - of_command - (PRINTED - parameters.keys())}
    assert (names, of_command - found.keys()) == (parameters.keys(), set())
    for dest, action in found.items():
        each = parameters.get(renamed.get(dest, dest))
        if each is None or each.kind is each.VAR_POSITIONAL or dest == "output":
            continue
        if each.default is not each.empty and action.option_strings:
            expected = defaults.get(dest, (each.default or None, each.default or None))
            default = tuple(action.default) if isinstance(action.default, list) else action.default
            assert (default or None, each.default or None) == tuple(one or None for one in expected), dest
        if isinstance(action.choices, tuple) and isinstance(action.choices[0], str):
            more = {"both"} if dest == "ori_unit" and call is tandem.evaluate else set()  # rows of both, which pages ask for
            assert set(choices(each.annotation)) == {*action.choices, *more}, dest


@pytest.mark.parametrize("name", ["search", "evaluate", "diff", "report", "experiment", "judge"])
def test_an_editor_completes_the_parameters_of_a_call(name):
    script = f"import tandem_ir as tandem\ntandem.{name}("
    where = {"project": jedi.Project(ROOT), "environment": jedi.InterpreterEnvironment()}  # no process
    found = jedi.Script(script, path=ROOT / "mine.py", **where).complete(2, len(f"tandem.{name}("))
    completed = {each.name.removesuffix("=") for each in found if each.name.endswith("=")}
    parameters = inspect.signature(getattr(tandem, name)).parameters.values()
    assert {each.name for each in parameters if each.kind is not each.VAR_POSITIONAL} <= completed
