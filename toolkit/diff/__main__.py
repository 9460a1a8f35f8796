"""What changed between runs, by how much, and whether it is more than chance."""

from __future__ import annotations

import argparse
import shutil
import sys

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.shell import command, from_os_error, guard

EPILOG = """\
examples:
  tandem diff bm25.trec minilm.trec --benchmark infosearch-mini
  tandem diff a.trec b.trec c.trec --qrels qrels.txt -m nDCG@10 -m AP --relative
  tandem diff a.trec b.trec

Each run is compared with the first; without a benchmark or qrels, rankings alone are. Exit status: 0 where all are identical,
1 where one differs, 2 for anything else, as diff has it."""


def parser() -> argparse.ArgumentParser:
    made = command("diff", __doc__, EPILOG)
    made.add_argument("runs", nargs="+", metavar="RUN", help="TREC run files, two at least")
    against = made.add_mutually_exclusive_group()
    against.add_argument("--benchmark", metavar="ID", help="a benchmark, one of its groups or modes, or an ir_datasets id")
    against.add_argument("--qrels", nargs="+", action="extend", metavar="QRELS", help="TREC qrels files: [MODE=]F")
    made.add_argument(
        "-m", "--measure", dest="measures", nargs="+", action="extend", metavar="MEASURE", help="as in ir_measures"
    )
    made.add_argument("--relative", action="store_true", help="also changes in per cent of the first run's values")
    made.add_argument("--depth", type=int, metavar="N", help="look only at the best N documents of each query")
    made.add_argument("--missing", choices=("worst", "skip", "error"), default="worst", help="queries that a run lacks")
    made.add_argument("--ids", choices=("tandem", "published"), default="tandem", help="whose query ids the runs have")
    tests = made.add_argument_group("is it chance?")
    tests.add_argument(
        "--test",
        choices=("default", "randomisation", "wilcoxon", "t"),
        default="default",
        help="default: Wilcoxon for measures over pairs of modes, randomisation for the others",
    )
    tests.add_argument("--samples", type=int, default=10_000, metavar="N", help="draws of randomisation and bootstrap")
    tests.add_argument("--seed", type=int, default=0, metavar="N", help="of both (default: 0)")
    moved = made.add_argument_group("queries that moved")
    moved.add_argument("--top", type=int, default=5, metavar="N", help="how many are shown (default: 5)")
    moved.add_argument("--by", metavar="MEASURE", help="by which measure (default: the first)")
    made.add_argument("--format", choices=("table", "json", "csv"), default="table")
    made.add_argument("--output", default="-", metavar="F", help="where to write (default: standard output)")
    made.add_argument("--exit-zero", action="store_true", help="exit with 0 where runs differ, too")
    return made


def main(args: argparse.Namespace) -> int:
    try:
        pairs = _compared(args)
        _write(pairs, args)
    except (ToolkitError, OSError) as error:
        refused = error if isinstance(error, ToolkitError) else from_os_error(error)
        refused.status = 2  # 1 says that runs differ
        raise refused from error
    return 0 if args.exit_zero or all(pair.identical for pair in pairs) else 1


def _compared(args: argparse.Namespace) -> list:
    from toolkit.diff.job import diff

    return diff(
        args.runs,
        benchmark=args.benchmark,
        qrels=args.qrels,
        measures=args.measures,
        depth=args.depth,
        ids=args.ids,
        top=args.top,
        by=args.by,
        missing=args.missing,
        test=args.test,
        samples=args.samples,
        seed=args.seed,
    )


def _write(pairs: list, args: argparse.Namespace) -> None:
    from toolkit.diff.output import to_csv, to_json, to_table

    width = shutil.get_terminal_size().columns if args.output == "-" and sys.stdout.isatty() else None
    if args.format == "table":
        text = "\n".join(to_table(pair, relative=args.relative, width=width) for pair in pairs)
    else:
        text = (to_json if args.format == "json" else to_csv)(pairs)
    with open_output(args.output) as file:
        file.write(text.encode())


if __name__ == "__main__":
    sys.exit(guard(parser, main))
