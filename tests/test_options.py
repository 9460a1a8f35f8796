"""The options of all commands together: one name is one thing, and summaries have one form."""

import argparse
import importlib
import re
import sys
from collections import defaultdict

import pytest

from tests.command import tandem
from toolkit import parsers
from toolkit.__main__ import commands
from toolkit.complete import with_subcommands
from toolkit.core.specs import ENDPOINT

ANALYSES = ("order", "paraphrase", "overlap", "diversity", "dimensions", "coverage", "stance", "crosslingual", "measures")
# option -> commands in which the name means something else, and why
OTHER = {
    "--all": {"regress run": "runs", "runs verify": "problems"},
    "--baseline": {"evaluate": "may be repeated", "gate": "a file alone, in place of the first argument"},
    "--benchmark": {
        **dict.fromkeys(("report", "analyze dimensions", "cite"), "takes several"),
        **dict.fromkeys(("runs verify", "runs convert"), "what a file is compared with or translated by"),
    },
    "--export": {"judge": "training pairs", "reproduce": "an archive"},
    "--fix": {"runs verify": "names a file", "cache verify": "removes what is left over"},
    "--format": {
        **dict.fromkeys(("evaluate", "report", "expand merge", "expand run", "benchmarks published"), "what can be written"),
        "build show": "what can be written",
        **dict.fromkeys(("diff", *(f"analyze {name}" for name in ANALYSES)), "what can be written"),
    },
    "--from": {
        "benchmarks fetch": "a folder",
        "published prompts": "texts",
        "runs convert": "a form",
        **dict.fromkeys(("expand topics", "expand run"), "who writes perspectives"),
    },
    "--judge": {"analyze dimensions": "asked where rules give nothing"},
    "--kind": {"systems list": "a filter", "rerank": "rerankers alone"},
    "--language": {"systems check": "of queries and texts"},
    "--output": {
        **dict.fromkeys(("encode", "experiment", "index", "reproduce"), "a folder"),
        **dict.fromkeys(("expand topics", "judge"), "topics, qrels"),
        **dict.fromkeys(("diversify", "search", "rerank", "fuse", "expand merge", "expand run"), "a run"),
        **dict.fromkeys(("runs convert", "runs pool"), "a run"),
        "report": "a page, or nothing beside figures",
        "build review export": "a page",
    },
    "--perspectives": {"report": "of several runs", "analyze stance": "of one"},
    "--published": {"evaluate": "may name a system"},
    "--qrels": {"diversify": "of --tune", "runs verify": "is itself verified"},
    "--query": {"systems explain": "an id"},
    "--rerank": {"experiment": "several"},
    "--run": {"evaluate": "several", "analyze power": "several, whose differences are drawn"},
    "--seed": {"judge": "none, unless given"},
    "--step": {"rerank": "of a window"},
    "--system": {
        "benchmarks published": "of a paper's table",
        "search": "several with --fuse",
        "cite": "several",
        "reproduce": "several",
    },
    "--table": {"reproduce": "several"},
    "--verify": {"reproduce": "a folder"},
    "--to": {
        **dict.fromkeys(("benchmarks export", "build benchmark", "published prompts"), "a folder"),
        "runs convert": "a form",
    },
}
# what stands for a default in brackets is the command's own, and so may be the default
DEFAULT = re.compile(r" \(default: [^()]*\)$")
VERBS = {
    *("build", "check", "compare", "convert", "count", "do", "download", "encode", "export", "find", "fuse", "judge", "list"),
    *("make", "measure", "merge", "pool", "print", "register", "remove", "reorder", "report", "rerank", "score", "search"),
    *("show", "verify", "write", "check", "complete", "let", "take"),
}
# what a help may begin with in upper case: names
NAMES = ("TREC", "BM25's", "Kendall's", "FAISS")


def _parsers():
    """(command, its parser) of every command and subcommand."""
    for name in commands():
        yield from with_subcommands(name, importlib.import_module(f"toolkit.{name}").parser())
        del sys.modules[f"toolkit.{name}"]  # what a test runs as a command is loaded anew


PARSERS = dict(_parsers())
ACTIONS = [(name, action) for name, parser in PARSERS.items() for action in parser._actions]


def _shape(action):
    """What an option of one name has alike everywhere."""
    own = bool(DEFAULT.search(action.help or ""))
    return (
        DEFAULT.sub("", action.help or ""),
        *(action.type, action.metavar, str(action.nargs), tuple(action.choices or ()), type(action)),
        "None" if own else repr(action.default),
    )


def _by_option(*, others):
    found = defaultdict(lambda: defaultdict(list))
    for name, action in ACTIONS:
        if action.option_strings and (others or name not in OTHER.get(action.option_strings[-1], {})):
            found[action.option_strings[-1]][_shape(action)].append(name)
    return found


def test_an_option_of_one_name_is_the_same_in_every_command():
    assert {option: dict(shapes) for option, shapes in _by_option(others=False).items() if len(shapes) > 1} == {}


def test_no_exception_is_stale():
    several = {option for option, shapes in _by_option(others=True).items() if len(shapes) > 1}
    assert set(OTHER) <= several
    known = {(action.option_strings[-1], name) for name, action in ACTIONS if action.option_strings}
    assert {(option, name) for option, names in OTHER.items() for name in names} <= known


@pytest.mark.parametrize("name", ["search", "rerank", "judge", "expand topics", "expand run", "analyze dimensions"])
def test_a_command_that_may_ask_a_server_has_the_options_of_an_endpoint(name):
    assert set(ENDPOINT) <= {action.dest for action in PARSERS[name]._actions}


def test_summaries_of_commands_are_imperative_in_lower_case_without_full_stop():
    summaries = commands() | {
        f"{name} {choice.dest}": choice.help
        for name, parser in PARSERS.items()
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }
    assert {
        name: text for name, text in summaries.items() if text.split()[0].rstrip(",") not in VERBS or text.endswith(".")
    } == {}


def test_every_option_says_what_it_is_in_lower_case_without_full_stop():
    wrong = {}
    for name, action in ACTIONS:
        text = action.help or ""
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        first = text.partition(" ")[0]
        if not text or text.endswith(".") or (first[:1].isupper() and first not in NAMES):
            wrong[name, action.dest] = text
    assert wrong == {}


def test_an_option_with_one_value_is_not_given_twice():
    done = tandem("fuse", "a.trec", "b.trec", "--output", "a", "--output=b")
    assert (done.returncode, done.stderr) == (2, "error: --output is given twice (a, b)\nhint:  give it once\n")
    done = tandem("regress", "add", "run.trec", "--id", "a", "--id", "b")
    assert done.stderr.startswith("error: --id is given twice (a, b)\n")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("regress lst", "no command 'tandem regress lst'", "did you mean 'list'? Known: list, show, run, cite, add"),
        ("report r --format latx", "--format is 'latx'", "did you mean 'latex'? Known: html, latex, markdown, csv"),
        ("search --topics", "--topics has no value", "tandem search --help"),
        ("search --topics t --hits x", "--hits is 'x', and not a whole number", "tandem search --help"),
        ("search --topics t --k1 x", "--k1 is 'x', and not a number", "tandem search --help"),
        ("evaluate r -m", "--measure has no value", "tandem evaluate --help"),
        ("benchmarks show", "missing: ID", "tandem benchmarks show --help"),
        ("fuse a b", "missing: --output", "tandem fuse --help"),
        ("benchmarks show a b", "one argument too many: b", "tandem benchmarks --help"),
        ("search --topcs t --topics t", "no option --topcs t", "did you mean --topics? Or see tandem search --help"),
    ],
)
def test_a_usage_error_is_a_sentence(line, message, hint):
    assert tandem(*line.split()).stderr == f"error: {message}\nhint:  {hint}\n"


def test_options_that_may_be_repeated_add_up():
    made = PARSERS["evaluate"].parse_args(
        ["run.trec", "-m", "nDCG@10", "--measure", "WISE", "pMRR", "--qrels", "a", "--qrels", "b"]
    )
    assert (made.measures, made.qrels) == (["nDCG@10", "WISE", "pMRR"], ["a", "b"])
    assert PARSERS["search"].parse_args(["--topics", "a", "--topics", "b", "--system", "x", "--system", "y"]).topics == [
        "a",
        "b",
    ]


def test_one_parser_may_parse_twice():
    parser = parsers.command("example", "show an example")
    parser.add_argument("--hits", type=int)
    assert [parser.parse_args(["--hits", "5"]).hits for _ in range(2)] == [5, 5]
