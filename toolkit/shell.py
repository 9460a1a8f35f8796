"""How every command runs: its exit status, the one line that an error gets, and what signals do."""

import argparse
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolkit.core.errors import ToolkitError, from_memory_error, from_os_error, missing_module
from toolkit.core.system.progress import each_once, set_debug, set_quiet
from toolkit.core.system.terminal import safe_streams

# what is no bug either -> its line for the user; None of a module that no extra brings
READ_AS = {OSError: from_os_error, MemoryError: from_memory_error, ModuleNotFoundError: missing_module}


def _read(error: Exception) -> ToolkitError | None:
    return next((read(error) for kind, read in READ_AS.items() if isinstance(error, kind)), error)


@contextmanager
def refusals() -> Iterator[None]:
    """What goes wrong within it ends with status 2, also where it is no wrong input: for a command whose 1 is an answer."""
    try:
        yield
    except (ToolkitError, OSError, MemoryError) as error:
        refused = _read(error)
        refused.status = 2
        raise refused from error


Command = Callable[[argparse.Namespace], int | None]  # what its arguments do; the exit status, None for 0
_exit: dict[str, int | None] = {"status": None, "signal": None}


def guard(parser: Callable[[], argparse.ArgumentParser], run: Command, argv: list[str] | None = None) -> int:
    """Parse, run, and turn what goes wrong into one line and an exit status.

    0 (or what `run` returns) when all went well, 1 for a failure, 2 for wrong usage or input; 130 after Ctrl-C, 143 and 129
    after SIGTERM and SIGHUP, which end a command in the same way: what is temporary is removed.
    With `--debug` an error keeps its traceback.
    """
    # ids and file names are printed whatever the locale is: files are UTF-8 everywhere, and so is what is printed of them
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):  # a notebook's has not
            stream.reconfigure(encoding="utf-8", errors=errors)
    _exit["status"] = None  # an exception that is let through has Python's own
    with safe_streams(), each_once():
        _exit["status"] = status = _guarded(parser, run, sys.argv[1:] if argv is None else argv)
    return status


def _guarded(parser: Callable[[], argparse.ArgumentParser], run: Command, argv: list[str]) -> int:
    debug = "--debug" in argv
    try:
        with _signals_as_interrupts():
            args = parser().parse_args(argv)
            set_quiet(args.quiet)
            set_debug(args.debug)
            from toolkit.core.system.python_names import importing  # loaded with what a command needs, not for its --help

            dry = getattr(args, "dry_run", False) or getattr(args, "show_prompt", False)
            with importing(named=getattr(args, "trust_python", ()), dry=dry):
                status = run(args) or 0
            sys.stdout.flush()
            return status
    except KeyboardInterrupt as end:
        print("; ".join(["interrupted", *getattr(end, "__notes__", ())]), file=sys.stderr)
        return 128 + (_exit["signal"] or signal.SIGINT)
    except BrokenPipeError:
        # the reader of a pipe (`| head`) has gone: not an error, but nothing more may be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ToolkitError, *READ_AS) as error:
        if debug or (refused := _read(error)) is None:
            raise
        print("\n".join(refused.lines()), file=sys.stderr, flush=True)
        return refused.status
    finally:
        set_quiet(False)
        set_debug(False)


@atexit.register
def _leave() -> None:
    """End the process of a command at once, where arrow was loaded: the destructors of its thread pools, which C++ runs last
    of all, end it in an abort every now and then when the machine is busy (https://github.com/apache/arrow/issues/34314).

    What is registered later, by whatever a command loads, has run by now.
    """
    main = sys.modules["__main__"]
    module, file = getattr(getattr(main, "__spec__", None), "name", ""), getattr(main, "__file__", None) or ""
    is_command = module.startswith("toolkit.") or Path(file).name == "tandem"
    if not is_command or _exit["status"] is None or "pyarrow" not in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(_exit["status"])


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """SIGTERM (batch systems) and SIGHUP (a terminal that is closed) as Ctrl-C, where nobody else handles or ignores them."""
    ends = (signal.SIGTERM, signal.SIGHUP)
    in_main = threading.current_thread() is threading.main_thread()  # only there Python handles signals
    ours = [number for number in ends if in_main and signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)  # what is left is to clean up
        _exit["signal"] = number  # not of the exception: Ray raises one of its own in its place
        raise KeyboardInterrupt

    _exit["signal"] = None
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
