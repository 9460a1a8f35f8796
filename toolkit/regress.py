"""make registered runs again and compare every number; register, show and cite them"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.model_options import trust_python_option
from toolkit.options import table_options
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_lines, write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.studies.regress import Result

RUN_EPILOG = """each number is OK, OKish (within 0.0005, for models), FAIL, or MISSING (what it needs is not here).
exit status: 1 where a number FAILs or an id that was named is MISSING, 0 otherwise."""
SHOWN_QUERIES = 10
ID = "a registered run (infosearch-mini.bm25.v2); the latest version if none is given"


def parser() -> argparse.ArgumentParser:
    top = command("regress", __doc__)
    add = subcommands(top)
    table_options(add("list", "list the registered runs", run_list), numbers=False, tsv=True)
    show = add("show", "show everything that is registered of a run, as its page in docs/regressions", run_show)
    show.add_argument("id", metavar="ID", help=ID)
    run = add("run", "make registered runs again, from nothing, and compare", run_run, RUN_EPILOG)
    run.add_argument("ids", nargs="*", metavar="ID", help=ID)
    run.add_argument("--all", action="store_true", help="every registered run")
    trust_python_option(run)
    cite = add("cite", "print BibTeX, and one line with id, version and digest", run_cite)
    cite.add_argument("id", metavar="ID", help=ID)
    register = add("add", "register a run that has its record beside it", run_add)
    register.add_argument("run", type=Path, metavar="RUN", help="run file over a benchmark's topics")
    register.add_argument("--id", default="", metavar="ID", help="id of the entry (default: <benchmark>.<system>.v1)")
    register.add_argument("--each-mode", action="store_true", help="also an entry for each mode of the run")
    trust_python_option(register)
    register.add_argument("--replace", action="store_true", help="write over entries of these ids")
    text = "register it with those that come with Tandem, not under TANDEM_HOME"
    register.add_argument("--ours", action="store_true", help=text)
    return top


def run_list(args: argparse.Namespace) -> None:
    from toolkit import registry
    from toolkit.core.tables.aligned_table import Column, Table

    registry.warn_unread("regressions")
    rows = [(spec.name, spec.description, spec.needs) for spec in registry.regressions().values()]
    columns = (Column("id", label=True), Column("description", prose=True), Column("needs", priority=1))
    write_tables(Table(columns, rows), args, heads=False)


def run_show(args: argparse.Namespace) -> None:
    from toolkit import registry
    from toolkit.studies.regress import page

    print(page(registry.regression(args.id)), end="")


def run_cite(args: argparse.Namespace) -> None:
    from toolkit import registry
    from toolkit.studies.cite import cite_registered

    print(cite_registered(registry.regression(args.id)), end="")


def run_add(args: argparse.Namespace) -> None:
    from toolkit.studies.regress import add, ours, users

    paths = ours() if args.ours else users()
    for path in add(args.run, paths, name=args.id, each_mode=args.each_mode, replace=args.replace):
        note(f"{path}: written")


def run_run(args: argparse.Namespace) -> int:
    from toolkit import registry
    from toolkit.studies.regress import replay

    if bool(args.ids) == args.all:
        what = "ids are named beside --all" if args.ids else "no run is named"
        raise ToolkitError(what, "tandem regress run ID..., or --all")
    if args.all:
        registry.warn_unread("regressions")
    specs = [registry.regression(name) for name in dict.fromkeys(args.ids)] or list(registry.regressions().values())
    failed, counts = False, {}
    for result in replay(specs):
        write_lines(_lines(result), indent=9)
        counts[result.outcome] = counts.get(result.outcome, 0) + 1
        failed |= result.outcome == "FAIL" or (result.outcome == "MISSING" and not args.all)
    if sum(counts.values()) > 1:
        print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return int(failed)


def _lines(result: Result) -> list[str]:
    """Every check, the queries that moved, the outcome of all."""
    width = max(len(check.what) for check in result.checks)
    lines = [
        f"  {check.outcome:<7}  {check.what:<{width}}  expected {check.expected}, got {check.got}"
        if check.outcome
        else f"  {'':<7}  {check.what:<{width}}  printed {check.expected}, got {check.got}"
        for check in result.checks
    ]
    lines += [f"  moved: {line}" for line in result.changed_queries[:SHOWN_QUERIES]]
    if len(result.changed_queries) > SHOWN_QUERIES:
        lines.append(f"  moved: ... and {len(result.changed_queries) - SHOWN_QUERIES} more queries")
    compared = sum(not check.outcome for check in result.checks)
    checks = f"{len(result.checks) - compared} checks"
    checks += f"; {compared} published numbers beside ours, none of them expected" if compared else ""
    return [result.name, *lines, f"{result.name}: {result.outcome} ({checks}, {result.seconds:.1f} s)"]


if __name__ == "__main__":
    sys.exit(guard(parser, main))
