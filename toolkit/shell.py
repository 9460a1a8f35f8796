"""What every command shares: its parser, exit status, and the one line that an error gets."""

from __future__ import annotations

import argparse
import atexit
import difflib
import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from toolkit.core.errors import ToolkitError, missing_module
from toolkit.core.specs import ENGINE
from toolkit.core.system.progress import each_once, say, set_quiet
from toolkit.core.system.terminal import has_colour, raw, safe_streams, width_of, wrapped
from toolkit.options import common

if TYPE_CHECKING:
    from toolkit.core.tables.aligned_table import Table
    from toolkit.jobs import Job, RunJob

Product = TypeVar("Product")
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
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, what a file may have


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

    def options(self) -> list[str]:
        """The options of the command and, where it has them, of its subcommands."""
        below = [sub for action in self._actions if isinstance(action.choices, dict) for sub in action.choices.values()]
        return [*self._option_string_actions, *(option for sub in below for option in sub.options())]


def command(name: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """The parser of `python -m toolkit.<name>`, with the options that every command has."""
    parser = _Parser(
        prog=f"tandem {name}", description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    common(parser)
    return parser


def make(job: Job[Product], args: argparse.Namespace, name: Callable[[Any], str] | None = None) -> Product | None:
    """What a job makes; None where only what it would do is printed (`--dry-run`).

    name  of its file in `runs/`, where `--output` names none
    """
    from toolkit.jobs import Output

    if name and args.output is None:
        job.output = Output.at(Path("runs", name(job)), args.metadata)
    if getattr(args, "dry_run", False):
        write_lines(job.describe())
        return None
    if given := {name: value for name in ENGINE if (value := getattr(args, name, None)) is not None}:
        from toolkit.jobs.engines import make as make_by

        return make_by(job, **given)
    return job.make()


def make_runs(job: RunJob, args: argparse.Namespace, name: Callable[[RunJob], str] | None = None) -> None:
    """The same of runs; what was written is noted."""
    for made in make(job, args, name) or ():
        if str(path := job.place(made).path) != "-":
            note(f"{path}: {len(made.run.query_ids):,} queries, {len(made.run):,} documents")


def report(folder: Path, problems: Sequence[str]) -> int:
    """Print what is wrong with a folder that was verified; the exit status."""
    write_lines(f"{folder}: {problem}" for problem in problems)
    if not problems:
        note(f"{folder}: as its record says")
    return int(bool(problems))


def subcommands(parser: argparse.ArgumentParser, dest: str = "subcommand") -> Callable[..., argparse.ArgumentParser]:
    """`add(name, help, run)` makes the parser of a subcommand; `run(args)` is called by `guard`.

    dest  another name for those of a subcommand: `args.run_<dest>` is what they run
    """
    commands = parser.add_subparsers(dest=dest, metavar="COMMAND", required=True, parser_class=_Parser)

    def add(name: str, help: str, run: Callable[[argparse.Namespace], int | None], epilog: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=help, description=help, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        common(sub)
        sub.set_defaults(**{f"run_{dest}": run})
        return sub

    return add


@contextmanager
def refusals() -> Iterator[None]:
    """What goes wrong within it ends with status 2, also where it is no wrong input: for a command whose 1 is an answer."""
    try:
        yield
    except (ToolkitError, OSError, MemoryError) as error:
        read_as = {OSError: from_os_error, MemoryError: from_memory_error}
        refused = next((of(error) for kind, of in read_as.items() if isinstance(error, kind)), error)
        refused.status = 2
        raise refused from error


def note(message: str) -> None:
    """A line on standard error that `--quiet` silences (results alone go to standard output); said once in a command."""
    say(message)


def write_lines(lines: Iterable[str], indent: int = 2, file: TextIO | None = None, *, exact: bool = False) -> None:
    """Print lines of words, to standard output where no `file` is given; a terminal gets them wrapped.

    indent  by how many characters more than itself what follows a line is set in
    exact   no blank is lost where a line ends
    """
    file = file or sys.stdout
    width = width_of(file)
    for line in lines:
        own = len(line) - len(line.lstrip())
        print(
            *(wrapped(line, width, rest=" " * (own + indent), exact=exact) if width else [line]),
            sep="\n",
            file=file,
            flush=True,
        )


def write_tables(
    tables: Table | Sequence[Table],
    args: argparse.Namespace,
    *,
    forms: Mapping[str, Callable[[], str]] | None = None,
    heads: bool = True,
    output: str | None = None,
) -> None:
    """Print what a command shows as `options.table_options` say.

    On a terminal columns that do not fit are left out; `--all`, a pipe and `--output` give all of them.

    forms  format -> its text, for those that have other rows than the table (`evaluate --format csv` is a row a number)
    heads  whether tab-separated lines have heads
    output where to write, otherwise to `--output`
    """
    from toolkit.core.system.files import open_output
    from toolkit.core.tables.aligned_table import Table, TableStyle, prepared, to_text, without_notes
    from toolkit.core.tables.table_forms import FORMS, to_json

    tables = [tables] if isinstance(tables, Table) else list(tables)
    output = output or args.output or "-"
    terminal = sys.stdout if output == "-" and sys.stdout.isatty() else None
    style = TableStyle(
        width_of(terminal) if terminal else None,
        args.all,
        getattr(args, "percent", False),
        getattr(args, "decimals", None),
        args.sort or "",
        terminal is not None and has_colour(terminal),
        args.notes,
    )
    chosen = args.format or ("table" if terminal else args.format_piped)
    programs = chosen in ("json", "csv")
    tables = prepared(tables, style._replace(percent=style.percent and not programs))
    if chosen == "table":
        text = to_text(list(map(without_notes, tables)) if _settings["quiet"] else tables, style, terse=_settings["quiet"])
        if terminal:  # what stands in cells is visible there by now, and colours are to get through
            raw(terminal).write(text)
            return
    elif forms and chosen in forms:
        text = forms[chosen]()
    elif chosen == "json":
        text = to_json(*tables)
    else:
        how = {"heads": heads} if chosen == "tsv" else {}
        text = "\n".join(FORMS[chosen](table, style, **how) for table in tables)
    if chosen not in ("table", "json"):  # they have no place for notes
        for line in (line for table in tables for line in table.notes):
            note(line)
    if terminal:
        sys.stdout.write(text)
        return
    with open_output(output) as file:
        file.write(text.encode())


_settings: dict[str, Any] = {"quiet": False, "status": None}


def guard(
    parser: Callable[[], argparse.ArgumentParser],
    run: Callable[[argparse.Namespace], int | None],
    argv: list[str] | None = None,
) -> int:
    """Parse, run, and turn what goes wrong into one line and an exit status.

    0 (or what `run` returns) when all went well, 1 for a failure, 2 for wrong usage or input; 130 after Ctrl-C, 143 and 129
    after SIGTERM and SIGHUP, which end a command in the same way: what is temporary is removed.
    With `--debug` an error keeps its traceback.
    """
    _speak_utf8()
    _settings["status"] = None  # an exception that is let through has Python's own
    with safe_streams(), each_once():
        _settings["status"] = status = _guarded(parser, run, sys.argv[1:] if argv is None else argv)
    return status


def _guarded(
    parser: Callable[[], argparse.ArgumentParser], run: Callable[[argparse.Namespace], int | None], argv: list[str]
) -> int:
    debug = "--debug" in argv
    try:
        with _signals_as_interrupts():
            args = parser().parse_args(argv)
            _quieten(args.quiet)
            from toolkit.core.system.python_names import importing  # loaded with what a command needs, not for its --help

            dry = getattr(args, "dry_run", False) or getattr(args, "show_prompt", False)
            with importing(named=getattr(args, "trust_python", ()), dry=dry):
                status = run(args) or 0
            sys.stdout.flush()
            return status
    except ToolkitError as error:
        if debug:
            raise
        return _fail(error)
    except KeyboardInterrupt as end:
        print("; ".join(["interrupted", *getattr(end, "__notes__", ())]), file=sys.stderr)
        return 128 + (end.signal if isinstance(end, _Ended) else signal.SIGINT)
    except BrokenPipeError:
        # the reader of a pipe (`| head`) has gone: not an error, but nothing more may be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        missing = missing_module(error)
        if debug or missing is None:
            raise
        return _fail(missing)
    except MemoryError as error:
        if debug:
            raise
        return _fail(from_memory_error(error))
    except OSError as error:
        if debug:
            raise
        return _fail(from_os_error(error))
    finally:
        _quieten(False)


@atexit.register
def _leave() -> None:
    """End the process of a command at once, where arrow was loaded: the destructors of its thread pools, which C++ runs last
    of all, end it in an abort every now and then when the machine is busy (https://github.com/apache/arrow/issues/34314).

    What is registered later, by whatever a command loads, has run by now.
    """
    main = sys.modules["__main__"]
    module, file = getattr(getattr(main, "__spec__", None), "name", ""), getattr(main, "__file__", None) or ""
    is_command = module.startswith("toolkit.") or Path(file).name == "tandem"
    if not is_command or _settings["status"] is None or "pyarrow" not in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(_settings["status"])


class _Ended(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number: int):
        super().__init__()
        self.signal = number


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """SIGTERM (batch systems) and SIGHUP (a terminal that is closed) as Ctrl-C, where nobody else handles or ignores them."""
    ends = (signal.SIGTERM, signal.SIGHUP)
    in_main = threading.current_thread() is threading.main_thread()  # only there Python handles signals
    ours = [number for number in ends if in_main and signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)  # what is left is to clean up
        raise _Ended(number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _quieten(quiet: bool) -> None:
    _settings["quiet"] = quiet
    set_quiet(quiet)


def _speak_utf8() -> None:
    """Print ids and file names whatever the locale is: files are UTF-8 everywhere, and so is what is printed of them."""
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):  # a notebook's has not
            stream.reconfigure(encoding="utf-8", errors=errors)


def from_memory_error(error: MemoryError) -> ToolkitError:
    """The line for what does not fit into memory."""
    said = f": {error}" if str(error) else ""
    return ToolkitError(f"not enough memory{said}", "close other programs, or give it less at once", status=1)


def from_os_error(error: OSError) -> ToolkitError:
    """The one line for what the operating system refuses: a full disk, a missing permission, a missing file."""
    name = f" ({error.filename})" if error.filename else ""
    # numpy says how many items of an array it has written, and not why no more
    if error.errno in FULL or (error.errno is None and re.search(r"\d+ requested and \d+ written", str(error))):
        hint = "free some space, or set TANDEM_HOME or --output to another disk"
        return ToolkitError(f"no space left on the disk{name}", hint, status=1)
    wrong_path = FileNotFoundError | FileExistsError | IsADirectoryError | NotADirectoryError | PermissionError
    if isinstance(error, wrong_path) or error.errno in (errno.ENAMETOOLONG, errno.EROFS):
        return ToolkitError(f"{error.strerror.lower()}{name}", "check the path")
    return ToolkitError(f"{error}", "run again with --debug for details", status=1)


def _fail(error: ToolkitError) -> int:
    print("\n".join(error.lines()), file=sys.stderr, flush=True)
    return error.status
