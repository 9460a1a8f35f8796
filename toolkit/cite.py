"""print BibTeX of runs and of the benchmarks, measures and systems that they rest on

examples:
  tandem cite bm25.trec                     the run, its system and its benchmark, as its record names them
  tandem cite --benchmark infosearch mfollowir -m WISE pMRR --system e5-large-v2
  tandem cite                               Tandem itself, which is always the first entry

What has no citation that was verified is said in a comment at the end. Registered runs: tandem regress cite ID.
"""

import argparse
import sys

from toolkit.judging_options import benchmark_option, measure_option
from toolkit.parsers import command
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    made = command("cite", __doc__)
    made.add_argument("runs", nargs="*", metavar="RUN", help="run files with their records")
    benchmark_option(made, nargs="+", action="extend")
    measure_option(made)
    made.add_argument("--system", nargs="+", action="extend", default=[], metavar="S", help="systems of the registry")
    return made


def main(args: argparse.Namespace) -> None:
    from toolkit.studies.cite import cite

    named = {"benchmarks": args.benchmark or (), "measures": args.measures or (), "systems": args.system}
    print(cite(args.runs, **named).text, end="")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
