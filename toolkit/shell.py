"""What every command shares: option groups, exit status, and the one line that an error gets."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolkit import __version__
from toolkit.core.errors import ToolkitError, missing_module
from toolkit.core.progress import set_quiet
from toolkit.core.terminal import safe_streams

if TYPE_CHECKING:
    from toolkit.jobs import Job, RunJob

Product = TypeVar("Product")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, what a file may have


class _Parser(argparse.ArgumentParser):
    """argparse with our form of an error: one `error:` line, one `hint:` line, which has the nearest option, status 2."""

    def error(self, message: str) -> None:
        wrong = message.removeprefix("unrecognized arguments: ").split()[0] if "unrecognized" in message else ""
        near = difflib.get_close_matches(wrong.partition("=")[0], self.options(), n=1) if wrong.startswith("--") else []
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


def common(parser: argparse.ArgumentParser) -> None:
    """`--quiet`, `--debug`, `--version`."""
    group = parser.add_argument_group("everywhere")
    group.add_argument("--quiet", action="store_true", help="no progress and no notes on standard error")
    group.add_argument("--debug", action="store_true", help="tracebacks, and the log of Anserini and other libraries")
    group.add_argument("--version", action="version", version=f"tandem-ir {__version__}")


def topics_option(group: argparse._ActionsContainer, help: str, **how: bool) -> None:
    """`--topics`, which may be repeated: a list, or None."""
    group.add_argument("--topics", action="append", metavar="T", help=f"{help}; may be repeated", **how)


def model_options(group: argparse._ArgumentGroup) -> None:
    """How a model computes: `--batch-size`, `--device`, `--precision`, `--trust-remote-code`; the model's own where None."""
    group.add_argument("--batch-size", type=int, metavar="N", help="texts of 128 tokens at once (default: 32)")
    group.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1; encoders: cuda:0,cuda:1 too (default: the first GPU)")
    precisions = ("fp32", "bf16", "fp16")
    group.add_argument("--precision", choices=precisions, help="default: the system's own on a GPU, fp32 on a CPU")
    remote_code_option(group)


def remote_code_option(group: argparse._ActionsContainer) -> None:
    """`--trust-remote-code`."""
    group.add_argument("--trust-remote-code", action="store_true", help="run the code that a checkpoint's repository brings")


def llm_options(group: argparse._ArgumentGroup) -> None:
    """How a language model is asked: `--loader`, `--concurrency`, `--replay`."""
    group.add_argument("--loader", choices=("endpoint", "transformers"), help="a server (OPENAI_BASE_URL), or this machine")
    group.add_argument("--concurrency", type=int, metavar="N", help="requests to a server at the same time (default: 16)")
    group.add_argument("--replay", action="store_true", default=None, help="answers from the cache alone")


def instruction_option(group: argparse._ActionsContainer) -> None:
    """`--instruction`: what the topics' instructions become."""
    group.add_argument(
        "--instruction",
        choices=("full", "short", "keywords", "placebo", "none"),
        default="full",
        help="the topics' instructions as they are (default), in the benchmark's own short wording or keywords (FollowIR has "
        "them), as sentences of that length that ask for nothing, or left out",
    )


def systems_option(group: argparse._ActionsContainer) -> None:
    """`--systems`, which may be repeated."""
    group.add_argument("--systems", action="append", default=[], metavar="F", help="a YAML file with systems of your own")


def recipe_options(group: argparse._ActionsContainer) -> None:
    """Which entry of the registry is meant: `--systems`, `--recipe`."""
    systems_option(group)
    group.add_argument("--recipe", metavar="R", help="a paper's way of using the system (default: its model card's)")


def text_options(group: argparse._ActionsContainer, default: str) -> None:
    """Where the texts of documents are: `--index`, `--docs`."""
    index = f"where texts are stored: a folder, a prebuilt index, or a benchmark (default: {default})"
    group.add_argument("--index", metavar="I", help=index)
    group.add_argument("--docs", metavar="F", help="the texts in files: JSONL, TSV or TREC text")


def judgment_options(parser: argparse.ArgumentParser, *, benchmarks: bool = False) -> None:
    """What runs are evaluated against, and to which depth: evaluate, diff and report; `benchmarks`: one or more of them."""
    several = {"nargs": "+", "action": "extend"} if benchmarks else {}
    which = "a benchmark, one of its groups or modes, or an ir_datasets id"
    parser.add_argument("--benchmark", metavar="ID", help=f"{which}; one or more" if benchmarks else which, **several)
    qrels = "TREC qrels files: [MODE=]F; also of a benchmark's queries"
    parser.add_argument("--qrels", nargs="+", action="extend", metavar="QRELS", help=qrels)
    mode_option(parser)
    measures = {"dest": "measures", "nargs": "+", "action": "extend", "metavar": "MEASURE"}
    parser.add_argument("-m", "--measure", help="as in ir_measures: nDCG@10, WISE@20", **measures)
    parser.add_argument("--depth", type=int, metavar="N", help="look only at the best N documents of each query")
    unjudged = "pairs with a perspective that were asked and not answered (label -1): an error (default), or not holding"
    parser.add_argument("--unjudged", choices=("refuse", "negative"), default="refuse", help=unjudged)
    parser.add_argument("--ids", choices=("tandem", "published"), default="tandem", help="whose query ids the runs have")


def mode_option(parser: argparse.ArgumentParser) -> None:
    """`--modes`: as (name, role) pairs."""
    text = "of --qrels: how query ids end in a mode (q1-NAME), and its role: base, instructed, reversed"
    pair = {"type": lambda given: given.partition("=")[::2], "metavar": "NAME=ROLE"}
    parser.add_argument("--modes", nargs="+", action="extend", help=text, **pair)


def significance_options(group: argparse._ArgumentGroup) -> None:
    """Whether a difference is chance: `--test`, `--samples`, `--seed`."""
    group.add_argument(
        "--test",
        choices=("default", "randomisation", "wilcoxon", "t"),
        default="default",
        help="default: Wilcoxon for measures over pairs of modes, randomisation for the others",
    )
    group.add_argument("--samples", type=int, default=10_000, metavar="N", help="draws of randomisation and bootstrap")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of both (default: 0)")


def run_output(parser: argparse.ArgumentParser) -> None:
    """Where a run goes: `--output`, `--metadata`, `--tag`, and `--dry-run`."""
    out = parser.add_argument_group("output")
    out.add_argument("--output", metavar="F", help="the run's file, .gz or .zst too, or - (default: a name in runs/)")
    out.add_argument("--metadata", metavar="F", help="where to write the record (default: beside the run)")
    out.add_argument("--tag", metavar="NAME", help="the run's tag (default: the system's name)")
    out.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def make(job: Job[Product], args: argparse.Namespace, name: Callable[[Any], str] | None = None) -> Product | None:
    """What a job makes; None where only what it would do is printed (`--dry-run`).

    name  of its file in `runs/`, where `--output` names none
    """
    from toolkit.jobs import Output

    if name and args.output is None:
        job.output = Output.at(Path("runs", name(job)), args.metadata)
    if getattr(args, "dry_run", False):
        print("\n".join(job.describe()))
        return None
    return job.make()


def make_runs(job: RunJob, args: argparse.Namespace, name: Callable[[RunJob], str] | None = None) -> None:
    """The same of runs; what was written is noted."""
    for made in make(job, args, name) or ():
        if str(path := job.place(made).path) != "-":
            note(f"{path}: {len(made.run.query_ids):,} queries, {len(made.run):,} documents")


def report(folder: Path, problems: Sequence[str]) -> int:
    """Print what is wrong with a folder that was verified; the exit status."""
    for problem in problems:
        print(f"{folder}: {problem}")
    if not problems:
        note(f"{folder}: as its record says")
    return int(bool(problems))


def subcommands(parser: argparse.ArgumentParser) -> Callable[..., argparse.ArgumentParser]:
    """`add(name, help, run)` makes the parser of a subcommand; `run(args)` is called by `guard`."""
    commands = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True, parser_class=_Parser)

    def add(name: str, help: str, run: Callable[[argparse.Namespace], int | None], epilog: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=help, description=help, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        common(sub)
        sub.set_defaults(run_subcommand=run)
        return sub

    return add


def note(message: str) -> None:
    """A line on standard error that `--quiet` silences (results alone go to standard output)."""
    if not _settings["quiet"]:
        print(message, file=sys.stderr, flush=True)


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
    with safe_streams():
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
