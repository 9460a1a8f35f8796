"""rerank the best documents of a run with a model that reads query and document together

examples:
  tandem rerank --run runs/bm25.trec --topics infosearch-mini --system bge-reranker-v2-m3 --depth 100
  tandem rerank --run bm25.trec --topics topics.tsv --docs corpus.jsonl --system ./my-model --kind cross-encoder
  tandem rerank --topics infosearch-ins --system followir-7b --recipe infosearch --dry-run
"""

import argparse
import sys

from toolkit import model_options
from toolkit.options import depth_option, dry_run_option, metadata_option, run_output, tail_option, text_options, topics_option
from toolkit.parsers import command, options_of
from toolkit.printing import make_runs
from toolkit.shell import guard

KINDS = ("cross-encoder", "monot5", "yes-no", "multivector", "listwise", "rerankers")


def parser() -> argparse.ArgumentParser:
    parser = command("rerank", __doc__)
    what = parser.add_argument_group("what to rerank")
    what.add_argument("--run", metavar="F", help="a run, or `candidates` for the benchmark's own")
    topics_option(what, "those that the run's record names")
    text_options(what)
    depth_option(what, None, 100)
    how = parser.add_argument_group("how")
    model_options.system_option(how, required=True)
    model_options.recipe_options(how)
    how.add_argument("--kind", choices=KINDS, help="kind of a checkpoint that is not in the registry")
    model_options.instruction_option(how)
    model_options.prompt_option(how)
    model_options.prompts_option(how)
    model_options.show_prompt_option(how)
    tail_option(how)
    text = "scores of the new run: the model's, 1/rank, or those of the candidates at these ranks"
    how.add_argument("--scores", choices=("own", "rank", "candidates"), help=text)
    model_options.model_options(parser.add_argument_group("the model"))
    lists = parser.add_argument_group("listwise rerankers")
    lists.add_argument("--window", type=int, metavar="N", help="passages shown at once (default: 20)")
    lists.add_argument("--step", type=int, metavar="N", help="how far the window moves up (default: 10)")
    lists.add_argument("--passes", type=int, metavar="N", help="how often it goes over the list (default: 1)")
    lists.add_argument("--shuffle", type=int, metavar="SEED", help="begin with a random order")
    model_options.endpoint_options(parser, instructed=True)
    model_options.engine_options(parser)
    out = run_output(parser)
    metadata_option(out)
    dry_run_option(out)
    return parser


def main(args: argparse.Namespace) -> None:
    from toolkit.jobs.search_jobs import rerank, rerank_name, reranking
    from toolkit.retrieval.rerank.rerank_step import choose_reranker, shown_prompt

    if args.show_prompt:
        print(shown_prompt(choose_reranker(args.system, args.systems, args.recipe, args.kind), args.prompt, args.prompts))
        return
    make_runs(reranking(**options_of(args, rerank)), args, rerank_name)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
