"""Progress: a bar on a terminal, plain lines in a log, nothing at all when quiet or when all is done in a second."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta

from toolkit.core.system.terminal import raw, visible, width_of, wrapped

LOG_EVERY = 60.0  # seconds between lines in a log
RECENT = 300.0  # seconds: the pace is that of the last one to two such times, as what is resumed goes by in no time
_quiet = _debug = False
_notes: list[str] | None = None  # where notes go instead of standard error
_said: set[str] | None = None  # what a command has said
_tell: Callable[[str, float], None] | None = None  # of the progress that is shown


def set_quiet(quiet: bool) -> None:
    """Switch all progress off (`--quiet`) or on again."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether `--quiet` was given."""
    return _quiet


def set_debug(debug: bool) -> None:
    """Let libraries log to standard error (`--debug`): Java's do, where its machine is started after this."""
    global _debug
    _debug = debug


def is_debugging() -> bool:
    """Whether `--debug` was given."""
    return _debug


@contextmanager
def silenced(notes: list[str] | None = None) -> Iterator[None]:
    """Neither progress nor notes within the block: for a part of some work that shows its own progress.

    notes  is given what would have been said
    """
    global _quiet, _notes
    before, _quiet, _notes = (_quiet, _notes), True, notes
    try:
        yield
    finally:
        _quiet, _notes = before


@contextmanager
def each_once() -> Iterator[None]:
    """Within the block, a command, the same line is said once."""
    global _said
    before, _said = _said, set()
    try:
        yield
    finally:
        _said = before


def say(message: str) -> None:
    """A line on standard error about the work, which `--quiet` silences; wrapped on a terminal."""
    if _notes is not None:
        _notes.append(message)
    elif not _quiet and (_said is None or message not in _said):
        if _said is not None:
            _said.add(message)
        print("\n".join(wrapped(visible(message), width_of(sys.stderr))), file=sys.stderr, flush=True)


def say_first(notes: Sequence[str], number: int = 3) -> None:
    """Notes of many parts of some work: so many of them, and how many more there are."""
    for note in notes[:number]:
        say(note)
    if len(notes) > number:
        say(f"... and {len(notes) - number:,} more such notes")


def tell(state: str, pace: float) -> None:
    """What stands beside the progress that is shown: how units and workers of a cluster are.

    pace  how many a second all workers do, in what the progress counts; 0 where nobody knows yet

    In a log the line of the minute comes also where nothing has moved, as long as this is called.
    """
    if _tell:
        _tell(state, pace)


@contextmanager
def progress(label: str, total: int | None = None, unit: str = "") -> Iterator[Callable[..., None]]:
    """Yield `advance(n)`; shows progress on standard error from the first second on.

    total  how many units there are; None where nobody knows
    """
    global _tell
    if _quiet:
        yield lambda n=1: None
        return
    before, count = _tell, _Count(total)
    with (_bar if sys.stderr.isatty() else _lines)(label, unit, count) as show:

        def advance(n: int = 1) -> None:
            count.done += n
            show()

        def tell(state: str, pace: float) -> None:
            count.state, count.pace = state, pace
            show()

        _tell = tell
        try:
            yield advance
        finally:
            _tell = before


@dataclass
class _Count:
    """How far something is; see `tell` for state and pace. Where nobody tells a pace it is measured."""

    total: int | None
    done: int = 0
    state: str = ""
    pace: float | None = None
    marks: list[tuple[float, int]] = field(default_factory=lambda: [(time.monotonic(), 0)])  # when it was how far

    def __str__(self) -> str:
        pace = self._measured() if self.pace is None else self.pace
        parts = [f"{pace:,.0f}/s" if pace >= 10 else f"{pace:.2g}/s"] if pace else []
        if pace and self.total is not None:
            parts.append(f"{timedelta(seconds=round(max(0, self.total - self.done) / pace))} left")
        return "; ".join(filter(None, [", ".join(parts), self.state]))

    def _measured(self) -> float:
        now = time.monotonic()
        if now - self.marks[-1][0] > RECENT:
            self.marks = [self.marks[-1], (now, self.done)]
        since, before = self.marks[0]
        return (self.done - before) / (now - since + 1e-9)


@contextmanager
def _bar(label: str, unit: str, count: _Count) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[count]}"))
    with Progress(*columns, console=Console(file=raw(sys.stderr)), transient=True) as bar:
        task = bar.add_task(visible(escape(label)), total=count.total, count=count)
        yield lambda: bar.update(task, completed=count.done)


@contextmanager
def _lines(label: str, unit: str, count: _Count) -> Iterator[Callable[[], None]]:
    last = time.monotonic()

    def show() -> None:
        nonlocal last
        if time.monotonic() - last >= LOG_EVERY:
            last = time.monotonic()
            share = f" ({count.done / count.total:.0%})" if count.total else ""
            done = f"{count.done:,}{' ' + unit if unit else ''}{share}"
            print(", ".join(filter(None, [f"{visible(label)}: {done}", str(count)])), file=sys.stderr, flush=True)

    yield show


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """What other people's code prints within the block is no result: that of processes which it starts goes there as well."""
    sys.stdout.flush()
    output = os.dup(1)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)
