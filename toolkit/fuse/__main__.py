"""fuse two or more runs of the same topics into one

examples:
  tandem fuse bm25.trec minilm.trec --output both.trec                         reciprocal rank fusion, k = 60
  tandem fuse bm25.trec minilm.trec --method minmax:0.3,0.7 --output both.trec
  tandem fuse a.trec b.trec c.trec --method rrf:k=20 --hits 100 --output - | head
"""

from __future__ import annotations

import argparse
import sys

from toolkit.shell import command, guard, make_runs

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    parser = command("fuse", SUMMARY, EXAMPLES)
    parser.add_argument("run", nargs="+", metavar="RUN", help="run file (TREC, Parquet, JSON); - is standard input")
    parser.add_argument(
        "--method", default="rrf", metavar="M", help="rrf, rrf:k=60, minmax, or minmax:w1,w2,... (default: rrf, k = 60)"
    )
    parser.add_argument("--hits", type=int, default=1000, metavar="N", help="documents a query (default: 1000)")
    parser.add_argument("--output", required=True, metavar="F", help="the new run's file, .gz or .zst too, or -")
    parser.add_argument("--tag", default="", metavar="NAME", help="the new run's tag (default: the runs' tags, as a+b.rrf)")
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.fuse import Fuse
    from toolkit.jobs import runs_job

    make_runs(runs_job(Fuse(method=args.method, hits=args.hits), args.run, output=args.output, tag=args.tag), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
