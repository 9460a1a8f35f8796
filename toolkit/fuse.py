"""fuse two or more runs of the same topics into one

examples:
  tandem fuse bm25.trec minilm.trec --output both.trec                         reciprocal rank fusion, k = 60
  tandem fuse bm25.trec minilm.trec --method minmax:0.3,0.7 --output both.trec
  tandem fuse a.trec b.trec c.trec --method rrf:k=20 --hits 100 --output - | head
"""

import argparse
import sys

from toolkit.options import hits_option, run_output
from toolkit.parsers import command
from toolkit.printing import make_runs
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    parser = command("fuse", __doc__)
    parser.add_argument("run", nargs="+", metavar="RUN", help="run file (TREC, Parquet, JSON); - is standard input")
    text = "rrf, rrf:k=60, minmax, or minmax:w1,w2,... (default: rrf, k = 60)"
    parser.add_argument("--method", default="rrf", metavar="M", help=text)
    hits_option(parser)
    run_output(parser, required=True)
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs import runs_job
    from toolkit.retrieval.fuse import Fuse

    make_runs(runs_job(Fuse(method=args.method, hits=args.hits), args.run, output=args.output, tag=args.tag), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
