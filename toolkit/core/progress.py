"""Progress: a bar on a terminal, plain lines in a log, nothing at all when quiet or when all is done in a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from toolkit.core.terminal import raw, visible, width_of, wrapped

LOG_EVERY = 30.0  # seconds between lines in a log
_quiet = False
_notes: list[str] | None = None  # where notes go instead of standard error
_said: set[str] | None = None  # what a command has said


def set_quiet(quiet: bool) -> None:
    """Switch all progress off (`--quiet`) or on again."""
    global _quiet
    _quiet = quiet


@contextmanager
def silenced(notes: list[str] | None = None) -> Iterator[None]:
    """Neither progress nor notes within the block: for a part of some work that shows its own progress.

    notes  is given what would have been said
    """
    global _notes
    before = _quiet, _notes
    set_quiet(True)
    _notes = notes
    try:
        yield
    finally:
        set_quiet(before[0])
        _notes = before[1]


def is_shown() -> bool:
    """Whether bars are shown: for libraries that draw their own."""
    return not _quiet and sys.stderr.isatty()


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


@contextmanager
def progress(label: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
    """Yield `advance(n)`; shows progress on standard error from the first second on.

    total  how many units there are; None where nobody knows
    """
    if _quiet:
        yield lambda n=1: None
    elif sys.stderr.isatty():
        yield from _bar(label, total)
    else:
        yield from _lines(label, total, unit)


def _bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=raw(sys.stderr)), transient=True) as bar:
        task = bar.add_task(visible(escape(label)), total=total)
        yield lambda n=1: bar.advance(task, n)


def _lines(label: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    done, last = 0, time.monotonic()

    def advance(n: int = 1) -> None:
        nonlocal done, last
        done += n
        if time.monotonic() - last >= LOG_EVERY:
            last = time.monotonic()
            share = f" ({done / total:.0%})" if total else ""
            print(f"{visible(label)}: {done:,}{' ' + unit if unit else ''}{share}", file=sys.stderr, flush=True)

    yield advance
