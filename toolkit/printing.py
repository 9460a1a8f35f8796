"""What commands print and write: lines, tables, and what a job makes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from toolkit.core.specs import ENGINE
from toolkit.core.system.progress import is_quiet, say
from toolkit.core.system.terminal import has_colour, raw, width_of, wrapped

if TYPE_CHECKING:
    from toolkit.core.tables.aligned_table import Table
    from toolkit.jobs import Job, RunJob
    from toolkit.studies.planned_rows import Failure


Product = TypeVar("Product")


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
        from toolkit.jobs.file_job import make as make_by

        return make_by(job, **given)
    return job.make()


def make_runs(job: RunJob, args: argparse.Namespace, name: Callable[[RunJob], str] | None = None) -> None:
    """The same of runs; what was written is noted."""
    for made in make(job, args, name) or ():
        if str(path := job.place(made).path) != "-":
            note(f"{path}: {len(made.run.query_ids):,} queries, {len(made.run):,} documents")


@contextmanager
def resumable() -> Iterator[None]:
    """Say of what ctrl-C ends in the block how it goes on."""
    try:
        yield
    except KeyboardInterrupt as end:
        end.add_note("the same command resumes")
        raise


def failed(failures: Sequence[Failure]) -> int:
    """Print what could not be done while the rest was; the exit status."""
    for failure in failures:
        print(f"error: {failure.what}: {failure.error.message}\nhint:  {failure.error.hint}", file=sys.stderr)
    return int(bool(failures))


def report(folder: Path, problems: Sequence[str]) -> int:
    """Print what is wrong with a folder that was verified; the exit status."""
    write_lines(f"{folder}: {problem}" for problem in problems)
    if not problems:
        note(f"{folder}: as its record says")
    return int(bool(problems))


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
        rest = " " * (len(line) - len(line.lstrip()) + indent)
        print(*(wrapped(line, width, rest=rest, exact=exact) if width else [line]), sep="\n", file=file, flush=True)


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
    from toolkit.core.system.files import write_text
    from toolkit.core.tables.aligned_table import Table, TableStyle, prepared, to_text
    from toolkit.core.tables.table_forms import FORMS, to_json

    tables = [tables] if isinstance(tables, Table) else list(tables)
    output = output or args.output or "-"
    terminal = sys.stdout if output == "-" and sys.stdout.isatty() else None
    asked = (args.all, getattr(args, "percent", False), getattr(args, "decimals", None), args.sort or "")
    colour = terminal is not None and has_colour(terminal)
    style = TableStyle(width_of(terminal) if terminal else None, *asked, colour, args.notes)
    chosen = args.format or ("table" if terminal else args.format_piped)
    tables = prepared(tables, style._replace(percent=style.percent and chosen not in ("json", "csv")))
    if chosen == "table":
        text = to_text([replace(table, notes=()) for table in tables] if is_quiet() else tables, style, terse=is_quiet())
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
    write_text(output, text)
