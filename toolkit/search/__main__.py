"""search topics over an index: one run, as a TREC file with its record

examples:
  tandem search --topics infosearch-mini                    every mode, each dimension over its own corpus
  tandem search --topics infosearch-ins --index msmarco     over a prebuilt index
  tandem search --topics infosearch-mini --system bm25 --system all-minilm-l6-v2 --fuse rrf
  tandem search --topics topics.tsv --index DIR --k1 1.2 --b 0.75 --hits 100 --output - | head
"""

from __future__ import annotations

import argparse
import os
import sys

from toolkit.shell import (
    command,
    guard,
    instruction_option,
    make_runs,
    model_options,
    recipe_options,
    run_output,
    topics_option,
)

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")
OPTIONS = (
    *("recipe", "systems", "query_template", "plain_template", "pooling", "fuse", "instruction", "candidates", "language"),
    *("rerank", "rerank_recipe", "rerank_kind", "depth", "docs", "device", "batch_size", "trust_remote_code", "precision"),
    *("verify", "hits", "threads", "k1", "b", "rm3", "output", "metadata", "tag"),
)


def parser() -> argparse.ArgumentParser:
    parser = command("search", SUMMARY, EXAMPLES)
    what = parser.add_argument_group("what to search")
    topics_option(what, "a benchmark's topics (infosearch-ins), an ir_datasets id, a file, or -", required=True)
    what.add_argument(
        "--index", metavar="I", help="a folder, a prebuilt index, or a benchmark; default: the topics' own corpora"
    )
    what.add_argument(
        "--candidates",
        nargs="?",
        const="candidates",
        metavar="F",
        help="search only the benchmark's candidates of each topic, or those of a run's file",
    )
    what.add_argument("--language", metavar="XX", help="analyzer for an index that does not record its language (default: en)")
    what.add_argument("--verify", action="store_true", help="compare the index's files with what was built or fetched first")
    how = parser.add_argument_group("how")
    how.add_argument(
        "--system",
        action="append",
        metavar="S",
        help="a system of the registry, a folder or a Hugging Face id; several with --fuse (default: bm25)",
    )
    recipe_options(how)
    how.add_argument("--fuse", default="", metavar="M", help="make one run of several systems' (rrf, rrf:k=60, minmax:0.3,0.7)")
    how.add_argument("--k1", type=float, metavar="X", help="BM25's k1 (default: 0.9)")
    how.add_argument("--b", type=float, metavar="X", help="BM25's b (default: 0.4)")
    how.add_argument("--rm3", action="store_true", default=None, help="expand queries with RM3")
    how.add_argument("--hits", type=int, default=1000, metavar="N", help="documents a query (default: 1000)")
    how.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="default: one a core")
    instruction_option(how)
    second = parser.add_argument_group("reranking")
    second.add_argument("--rerank", metavar="S", help="a reranker for the best documents of each query")
    second.add_argument("--rerank-recipe", metavar="R", help="a recipe of the reranker")
    second.add_argument("--rerank-kind", metavar="K", help="of a checkpoint that no entry knows (cross-encoder, monot5, ...)")
    second.add_argument("--depth", type=int, metavar="N", help="documents of each query that it reads (default: 100)")
    second.add_argument("--docs", metavar="F", help="their texts in files (default: what is searched)")
    models = parser.add_argument_group("models")
    models.add_argument("--query-template", metavar="T", help="what is sent of a topic, e.g. 'query: {query} {instruction}'")
    models.add_argument("--plain-template", metavar="T", help="the same of a topic without instruction")
    models.add_argument("--pooling", metavar="P", help="cls, mean, last, pooler, or own: as the checkpoint says")
    model_options(models)
    run_output(parser)
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs.search_jobs import search_job, search_name
    from toolkit.models import jvm

    jvm.set_debug(args.debug)
    given = {name: getattr(args, name) for name in OPTIONS}
    make_runs(search_job(args.topics, args.index, args.system or "bm25", **given), args, search_name)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
