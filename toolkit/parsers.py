"""The parser of a command: its errors are ours, and an option is given once."""

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENGINE
from toolkit.options import common

# argparse's messages, and what is said instead
REWORDED = {
    r"^argument (?:.*/)?(\S+): invalid int value: ('.*')$": r"\1 is \2, and not a whole number",
    r"^argument (?:.*/)?(\S+): invalid float value: ('.*')$": r"\1 is \2, and not a number",
    r"^argument (?:.*/)?(\S+): expected (?:one|at least one) argument$": r"\1 has no value",
    r"^argument (?:.*/)?(\S+): (?!invalid)": r"\1: ",
    r"^the following arguments are required: ": "missing: ",
    r"^unrecognized arguments: (?=--)": "no option ",
    r"^unrecognized arguments: ": "one argument too many: ",
}
INVALID = re.compile(r"argument (?:.*/)?(?P<name>\S+): invalid choice: '(?P<wrong>.*?)' \(choose from (?P<known>.*)\)")
TAKEN = ("help", "version", "quiet", "debug", "trust_python")  # by argparse and `shell.guard`, of every command


class _Once(argparse._StoreAction):
    """An option that has one value: given twice, one of the two would be passed over silently."""

    def __call__(self, parser, namespace, values, option_string=None):
        first = self.given
        super().__call__(parser, namespace, values, option_string)
        self.given = [*first, values]
        if first and self.option_strings:
            shown = ", ".join(str(value) for value in self.given)
            raise ToolkitError(f"{self.option_strings[-1]} is given twice ({shown})", "give it once")

    given: Sequence[Any] = ()


class _Parser(argparse.ArgumentParser):
    """argparse with our form of an error: one `error:` line, one `hint:` line, which has the nearest option, status 2."""

    def __init__(self, **how: Any):
        super().__init__(**how)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def parse_known_args(self, args=None, namespace=None):
        for action in self._actions:
            if isinstance(action, _Once):
                action.given = ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> None:
        if choice := INVALID.fullmatch(message):
            name, wrong, known = choice["name"], choice["wrong"], re.findall(r"'(.*?)'", choice["known"])
            near = difflib.get_close_matches(wrong, known, n=1)
            what = f"no command '{self.prog} {wrong}'" if name == "COMMAND" else f"{name} is {wrong!r}"
            raise ToolkitError(what, f"{f'did you mean {near[0]!r}? ' if near else ''}Known: {', '.join(known)}")
        wrong = message.removeprefix("unrecognized arguments: ").split()[0] if "unrecognized" in message else ""
        near = difflib.get_close_matches(wrong.partition("=")[0], self.options(), n=1) if wrong.startswith("--") else []
        for pattern, words in REWORDED.items():
            message = re.sub(pattern, words, message)
        raise ToolkitError(message, f"did you mean {near[0]}? Or see {self.prog} --help" if near else f"{self.prog} --help")

    def names(self) -> list[str]:
        """What the values of its arguments are called, but for those that argparse or `shell.guard` take."""
        return [action.dest for action in self._actions if action.dest not in TAKEN]

    def options(self) -> list[str]:
        """The options of the command and, where it has them, of its subcommands."""
        below = [sub for action in self._actions if isinstance(action.choices, dict) for sub in action.choices.values()]
        return [*self._option_string_actions, *(option for sub in below for option in sub.options())]


def command(name: str, doc: str | None, epilog: str = "") -> argparse.ArgumentParser:
    """The parser of `python -m toolkit.<name>`, with the options that every command has.

    doc     of its module: a summary and, after a blank line, what stands below the options
    epilog  in the place of that, where it is made
    """
    summary, _, examples = (doc or "").partition("\n\n")
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog=f"tandem {name}", description=summary, epilog=epilog or examples, formatter_class=form)
    common(parser)
    return parser


def subcommands(parser: argparse.ArgumentParser, dest: str = "subcommand") -> Callable[..., argparse.ArgumentParser]:
    """`add(name, help, run)` makes the parser of a subcommand; `main` calls `run(args)`.

    dest  another name for those of a subcommand: `args.run_<dest>` is what they run
    """
    commands = parser.add_subparsers(dest=dest, metavar="COMMAND", required=True, parser_class=_Parser)

    def add(name: str, help: str, run: Callable[[argparse.Namespace], int | None], epilog: str = "") -> argparse.ArgumentParser:
        form = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(name, help=help, description=help, epilog=epilog, formatter_class=form)
        common(sub)
        sub.set_defaults(**{f"run_{dest}": run})
        return sub

    return add


def main(args: argparse.Namespace) -> int | None:
    """Run the subcommand that is named: what a command with subcommands does."""
    return args.run_subcommand(args)


def options_of(args: argparse.Namespace, call: Callable[..., Any]) -> dict[str, Any]:
    """What a command was given of what a call takes, without who computes; roles of modes as a mapping."""
    names = [name for name in signature(call).parameters if name not in ENGINE and getattr(args, name, None) is not None]
    return {name: dict(args.modes) if name == "modes" else getattr(args, name) for name in names}
