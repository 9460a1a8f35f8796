"""What a shell asks at a key press: argcomplete answers from the parser of the command, which alone is made."""

import argparse
import importlib
from collections.abc import Callable, Iterator, Mapping

from toolkit.registry import completions

Complete = Callable[[str], list[str]]
# option or positional -> what completes it, in every command; files complete all others that take a value
BY_NAME: dict[str, Complete] = {
    "--baseline": completions.runs,
    "--benchmark": completions.benchmarks,
    "--index": completions.indexes,
    "--judge": completions.systems,
    "--measure": completions.measures,
    "--perspectives": completions.runs,
    "--rerank": completions.systems,
    "--run": completions.runs,
    "--system": completions.systems,
    "--topics": completions.topics,
    "RUN": completions.runs,
}
# command and positional -> what completes it there
BY_COMMAND: dict[tuple[str, str], Complete] = {
    **{(f"benchmarks {each}", "ID"): completions.benchmarks for each in ("show", "export", "fetch", "verify", "published")},
    **{(f"regress {each}", "ID"): completions.regressions for each in ("show", "run", "cite")},
    **{(f"systems {each}", "NAME"): completions.systems for each in ("show", "explain", "fetch", "convert")},
    **{(f"runs {each}", "F"): completions.runs for each in ("show", "verify", "convert", "pool")},
    ("measures show", "NAME"): completions.cards,
    ("measures references", "ID"): completions.benchmarks,
    ("encode", "CORPUS"): completions.topics,
    ("index", "CORPUS"): completions.indexes,
    ("expand prompt", "S"): completions.systems,
    ("systems check", "NAME"): completions.systems,
    ("analyze order", "RUN_INSTRUCTION_FIRST"): completions.runs,
    ("analyze order", "RUN_QUERY_FIRST"): completions.runs,
    ("analyze paraphrase", "PARAPHRASE_RUN"): completions.runs,
    ("analyze overlap", "--filter-run"): completions.runs,
    ("analyze crosslingual", "MULTI"): completions.runs,
    ("analyze crosslingual", "CROSS"): completions.runs,
}


def answer(commands: Mapping[str, str], line: str, point: int) -> None:
    """Print what completes a command line up to `point` for the shell's function, and end the process."""
    import argcomplete

    complete = argcomplete.CompletionFinder(default_completer=_completer(completions.files))
    complete(parser(commands, line[:point]), always_complete_options=False)


def parser(commands: Mapping[str, str], line: str) -> argparse.ArgumentParser:
    """`tandem` as one parser, in which the command that a line has is complete, and the others have a name and a summary."""
    top = argparse.ArgumentParser(prog="tandem")
    top.add_argument("--version", action="store_true", help="print the version, and exit")
    choices = top.add_subparsers()
    for name, summary in commands.items():
        choices.add_parser(name, help=summary)
    choices.add_parser("help", help="show what a command does").add_argument("command", choices=tuple(commands))
    words = line.split()
    written_out = len(words) > 2 or (len(words) == 2 and line[-1:].isspace())
    if written_out and words[1] in commands:
        chosen = importlib.import_module(f"toolkit.{words[1]}").parser()
        for command, below in with_subcommands(words[1], chosen):
            for action in below._actions:
                if found := completer_of(command, action):
                    action.completer = _completer(found)
        choices.choices[words[1]] = chosen
    return top


def with_subcommands(name: str, made: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """A command and its subcommands, each with its parser."""
    yield name, made
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub, below in action.choices.items():
                yield from with_subcommands(f"{name} {sub}", below)


def completer_of(command: str, action: argparse.Action) -> Complete | None:
    """What completes an option or a positional; None where that is its choices, or files."""
    called = action.option_strings[-1] if action.option_strings else str(action.metavar)
    return None if action.choices else BY_COMMAND.get((command, called)) or BY_NAME.get(called)


def _completer(complete: Complete) -> Callable[..., list[str]]:
    """As argcomplete calls it."""
    return lambda prefix, **_: complete(prefix)
