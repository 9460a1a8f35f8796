"""search topics over an index, into a run with its record

examples:
  tandem search --topics infosearch-mini                    every mode, each dimension over its own corpus
  tandem search --topics infosearch-ins --index msmarco     over a prebuilt index
  tandem search --topics infosearch-mini --system bm25 --system all-minilm-l6-v2 --fuse rrf
  tandem search --topics topics.tsv --index DIR --k1 1.2 --b 0.75 --hits 100 --output - | head
"""

import argparse
import sys

from toolkit import model_options, options
from toolkit.parsers import command, options_of
from toolkit.printing import make_runs
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    parser = command("search", __doc__)
    what = parser.add_argument_group("what to search")
    options.topics_option(what, required=True)
    options.text_options(what)
    text = "search only the benchmark's candidates of each topic, or those of a run's file"
    what.add_argument("--candidates", nargs="?", const="candidates", metavar="F", help=text)
    options.language_option(what)
    what.add_argument("--verify", action="store_true", help="compare the index's files with what was built or fetched, again")
    how = parser.add_argument_group("how")
    model_options.system_option(how, "bm25", action="append")
    model_options.recipe_options(how)
    how.add_argument("--fuse", default="", metavar="M", help="several --system into one run: rrf, rrf:k=60, minmax:0.3,0.7")
    how.add_argument("--k1", type=float, metavar="X", help="BM25's k1 (default: 0.9)")
    how.add_argument("--b", type=float, metavar="X", help="BM25's b (default: 0.4)")
    how.add_argument("--rm3", action="store_true", default=None, help="expand queries with RM3")
    options.hits_option(how)
    options.threads_option(how)
    model_options.instruction_option(how)
    second = parser.add_argument_group("reranking")
    second.add_argument("--rerank", metavar="S", help="a reranker for the best documents of each query")
    second.add_argument("--rerank-recipe", metavar="R", help="a recipe of the reranker")
    text = "kind of a reranker that is not in the registry (cross-encoder, monot5, ...)"
    second.add_argument("--rerank-kind", metavar="K", help=text)
    options.depth_option(second, None, 100)
    model_options.endpoint_options(parser, instructed=True)
    models = parser.add_argument_group("models")
    model_options.template_options(models)
    model_options.pooling_option(models)
    model_options.model_options(models)
    model_options.engine_options(parser)
    out = options.run_output(parser)
    options.metadata_option(out)
    options.dry_run_option(out)
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs.search_jobs import search, search_name, searching

    make_runs(searching(**options_of(args, search) | {"system": args.system or "bm25"}), args, search_name)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
