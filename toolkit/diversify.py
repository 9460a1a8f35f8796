"""reorder the best documents of runs so that they repeat one another less (MMR)

examples:
  tandem diversify run.trec --topics berds-test --lam 0.75                           UAE-Large-V1 says what is alike
  tandem diversify run.trec --index wikipedia-dpr --setting wikipedia/bm25           as BERDS did for BM25 (tables 4 and 8)
  tandem diversify run.trec --index DIR --system all-minilm-l6-v2 --lam 0.5 0.9 --output 'runs/{run}.{lam}.trec'
  tandem diversify test.trec --tune dev.trec --qrels dev.qrels --vectors DIR         lambda tuned for MRecall@5
"""

import argparse
import sys
from typing import Any

from toolkit.model_options import model_options, recipe_options, system_option
from toolkit.options import depth_option, dry_run_option, run_output, tail_option, text_options, topics_option
from toolkit.parsers import command, options_of
from toolkit.printing import make_runs
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    parser = command("diversify", __doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run file (TREC, Parquet, JSON); - is standard input")
    how = parser.add_argument_group("how (maximal marginal relevance)")
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    text = "weight of relevance, from 0 to 1; each gives a run (default: 0.5 0.75 0.9 0.95 0.99)"
    how.add_argument("--lam", type=float, metavar="X", help=text, **several)
    how.add_argument("--tune", metavar="RUN", help="choose lambda for MRecall@5 on these runs", **several)
    text = "judgments of the runs of --tune; the macro average is over these files, or over the groups of --topics"
    how.add_argument("--qrels", metavar="QRELS", help=text, **several)
    depth_option(how, 100)
    text = "divide scores by the run's largest (the paper) or by each question's (its released code)"
    how.add_argument("--normalisation", choices=("paper", "release"), default="paper", help=text)
    how.add_argument("--scale", metavar="X", help="the constant to divide by: a number, or the release's (wikipedia/bm25)")
    how.add_argument("--setting", metavar="X", help="lambda and scale of BERDS for a corpus and a retriever (wikipedia/bm25)")
    tail_option(how)
    alike = parser.add_argument_group("similarity")
    system_option(alike, "uae-large-v1 by its recipe berds")
    recipe_options(alike)
    model_options(alike)
    alike.add_argument("--vectors", metavar="DIR", help="vectors that `tandem encode` has made of the documents")
    topics_option(alike)
    text_options(alike)
    dry_run_option(run_output(parser, default="runs/{run}.mmr-{lam}.trec"))
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs.diversify_job import DiversifyJob, diversify

    given = options_of(args, diversify)
    make_runs(DiversifyJob(args.runs, lams=given.pop("lam"), dev=args.tune, qrels=args.qrels, **given), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
