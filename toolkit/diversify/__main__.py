"""put the best documents of runs in an order in which they do not repeat one another (MMR)

examples:
  tandem diversify run.trec --topics berds-test --lam 0.75                           UAE-Large-V1 says what is alike
  tandem diversify run.trec --index DIR --system all-minilm-l6-v2 --lam 0.5 0.9 --output 'runs/{run}.{lam}.trec'
  tandem diversify test.trec --tune dev.trec --qrels dev.qrels --vectors DIR         lambda tuned for MRecall@5
"""

from __future__ import annotations

import argparse
import sys

from toolkit.shell import command, guard, make_runs, model_options, recipe_options, text_options, topics_option

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    parser = command("diversify", SUMMARY, EXAMPLES)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run file (TREC, Parquet, JSON); - is standard input")
    how = parser.add_argument_group("how (maximal marginal relevance)")
    how.add_argument(
        "--lam",
        nargs="+",
        type=float,
        default=[],
        metavar="X",
        help="weight of relevance, from 0 to 1; each gives a run (default: 0.5 0.75 0.9 0.95 0.99)",
    )
    how.add_argument("--tune", nargs="+", default=[], metavar="RUN", help="choose lambda for MRecall@5 on these runs")
    how.add_argument(
        "--qrels",
        nargs="+",
        default=[],
        metavar="F",
        help="their judgments; the macro average is over these files, or over the groups of --topics",
    )
    how.add_argument("--depth", type=int, default=100, metavar="N", help="documents of each query (default: 100)")
    how.add_argument(
        "--normalisation",
        choices=("paper", "release"),
        default="paper",
        help="divide scores by the run's largest (the paper) or by each question's (its released code)",
    )
    how.add_argument("--scale", metavar="X", help="the constant to divide by: a number, or the release's (wikipedia/bm25)")
    how.add_argument("--tail", choices=("keep", "drop"), default="keep", help="documents below the depth (default: keep)")
    alike = parser.add_argument_group("what is alike")
    alike.add_argument("--system", metavar="S", help="a dense system (default: uae-large-v1 by its recipe berds)")
    recipe_options(alike)
    model_options(alike)
    alike.add_argument("--vectors", metavar="DIR", help="vectors that `tandem encode` has made of the documents")
    topics_option(alike, "the runs' topics, whose corpora have the texts")
    text_options(alike, "the topics' own corpora")
    out = parser.add_argument_group("output")
    out.add_argument("--output", metavar="F", help="the new runs' files (default: runs/{run}.mmr-{lam}.trec)")
    out.add_argument("--tag", metavar="NAME", help="the new runs' tag (default: the run's, as bm25.mmr-0.75)")
    out.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs.diversify_job import DiversifyJob
    from toolkit.models import jvm

    jvm.set_debug(args.debug)
    model = ("device", "precision", "batch_size", "trust_remote_code")
    named = ("normalisation", "depth", "scale", "tail", "qrels", "system", "systems", "recipe", "vectors")
    given = {name: getattr(args, name) for name in (*model, *named, "topics", "index", "docs", "output", "tag")}
    make_runs(DiversifyJob(args.runs, lams=args.lam, dev=args.tune, **given), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
