"""What order, wording and overlap do to a run, and what the instructions of a benchmark are made of."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from toolkit.shell import command, guard, note, subcommands

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolkit.core.runs import Run
    from toolkit.core.scores import Scores
    from toolkit.evaluate.judgments import Judgments

    Add = Callable[..., argparse.ArgumentParser]

BENCHMARK = "instructir"


def parser() -> argparse.ArgumentParser:
    made = command("analyze", __doc__)
    add = subcommands(made)
    for options in (order_options,):
        options(add)
    return made


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def judged_by(sub: argparse.ArgumentParser, benchmark: str | None = BENCHMARK) -> None:
    """`--benchmark` and `--qrels`: what judges the runs."""
    default = f" (default: {benchmark})" if benchmark else ""
    against = sub.add_mutually_exclusive_group(required=benchmark is None)
    against.add_argument("--benchmark", default=benchmark, metavar="ID", help=f"whose judgments count{default}")
    against.add_argument("--qrels", nargs="+", action="extend", metavar="F", help="TREC qrels files instead of a benchmark's")


def output(sub: argparse.ArgumentParser) -> None:
    """`--format` and `--output`."""
    sub.add_argument("--format", choices=("table", "json", "csv"), default="table", help="json and csv: a row for each number")
    sub.add_argument("--output", default="-", metavar="F", help="where to write (default: standard output)")


def judgments(args: argparse.Namespace) -> Judgments:
    """What `--qrels`, or else `--benchmark`, names."""
    from toolkit.evaluate.inputs import as_sources
    from toolkit.evaluate.judgments import from_benchmark, from_files

    return from_files(as_sources(args.qrels)) if args.qrels else from_benchmark(args.benchmark)


def read_runs(paths: list[str], judged: Judgments) -> list[Run]:
    """Run files in the order given; ToolkitError for one that has nothing to do with what is judged."""
    from toolkit.evaluate.judgments import check
    from toolkit.formats import read_run

    runs = [read_run(path) for path in paths]
    for run in runs:
        check(run.query_ids, run.source, judged)
    return runs


def write(scores: Scores, args: argparse.Namespace, *, by_query: bool = False) -> None:
    """Scores as `--format` asks, to `--output`; notes that the format has no place for go to standard error."""
    from toolkit.analyze.output import render
    from toolkit.core.files import open_output

    if args.format == "csv":
        for line in scores.notes:
            note(line)
    with open_output(args.output) as file:
        file.write(render(scores, args.format, by_query=by_query).encode())


def order_options(add: Add) -> None:
    sub = add("order", "instruction first against query first: nDCG, Robustness and their paired differences", run_order)
    sub.add_argument("first", metavar="RUN_INSTRUCTION_FIRST", help="run of the queries as the benchmark has them")
    sub.add_argument("second", metavar="RUN_QUERY_FIRST", help="run of the same queries in the other order")
    sub.add_argument("--cutoff", type=int, default=10, metavar="K", help="of nDCG and Robustness (default: 10)")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="of the resamples (default: 0)")
    sub.add_argument("--by-query", action="store_true", help="also the differences of each core query")
    judged_by(sub)
    output(sub)


def run_order(args: argparse.Namespace) -> None:
    from toolkit.analyze.order import order

    judged = judgments(args)
    first, second = read_runs([args.first, args.second], judged)
    scores = order(first, second, judged, cutoff=args.cutoff, seed=args.seed, by_query=args.by_query)
    write(scores, args, by_query=args.by_query)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
