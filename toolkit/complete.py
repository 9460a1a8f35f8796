"""What a shell asks at a key press: argcomplete answers from the parser of the command, which alone is made."""

import argparse
import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry import completions

Complete = Callable[[str], list[str]]
TABLE = Path(completions.__file__).with_suffix(".yaml")


@cache
def kinds() -> dict[str, str]:
    """Option or positional, of every command or after the name of one -> the function of `completions` that completes it."""
    return read_yaml(TABLE)


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
    kind = kinds().get(f"{command} {called}") or kinds().get(called)
    return getattr(completions, kind) if kind and not action.choices else None


def _completer(complete: Complete) -> Callable[..., list[str]]:
    """As argcomplete calls it."""
    return lambda prefix, **_: complete(prefix)
