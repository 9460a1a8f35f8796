"""read the best documents of a run again, with a cross-encoder, a language model, or another reranker

examples:
  tandem rerank --run runs/bm25.trec --topics infosearch-mini --system bge-reranker-v2-m3 --depth 100
  tandem rerank --run bm25.trec --topics topics.tsv --docs corpus.jsonl --system ./my-model --kind cross-encoder
  tandem rerank --topics infosearch-ins --system followir-7b --recipe infosearch --dry-run
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from toolkit.shell import command, guard, note, run_output, topics_option

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")
KINDS = ("cross-encoder", "monot5", "yes-no", "multivector", "listwise")
OPTIONS = (
    *("depth", "tail", "scores", "device", "precision", "batch_size", "prompt"),
    *("window", "step", "passes", "shuffle", "loader", "concurrency", "replay"),
)


def parser() -> argparse.ArgumentParser:
    parser = command("rerank", SUMMARY, EXAMPLES)
    what = parser.add_argument_group("what to rerank")
    what.add_argument("--run", metavar="F", help="a run, or `candidates` for the benchmark's own")
    topics_option(what, "the run's topics (default: those that its metadata name)")
    what.add_argument("--index", metavar="I", help="where texts are stored: a folder, a prebuilt index, or a benchmark")
    what.add_argument(
        "--docs", metavar="F", help="the texts in files: JSONL, TSV or TREC text (default: the topics' own corpora)"
    )
    what.add_argument("--depth", type=int, metavar="N", help="documents of each query that are read (default: 100)")
    how = parser.add_argument_group("how")
    how.add_argument("--system", required=True, metavar="S", help="a reranker of the registry, a folder, or a Hugging Face id")
    how.add_argument("--systems", action="append", default=[], metavar="F", help="a YAML file with systems of your own")
    how.add_argument("--kind", choices=KINDS, help="what a folder or id is that no entry knows")
    how.add_argument("--recipe", metavar="R", help="a recipe of the system (default: its model card's way)")
    how.add_argument(
        "--instruction",
        choices=("full", "short", "keywords", "placebo", "none"),
        default="full",
        help="what the topics' instructions become",
    )
    how.add_argument("--prompt", metavar="F", help="a prompt of your own instead of the system's")
    how.add_argument("--show-prompt", action="store_true", help="print the prompt, and do nothing")
    how.add_argument("--tail", choices=("keep", "drop"), help="documents below the depth: behind the others, or left out")
    how.add_argument("--scores", choices=("own", "rank", "candidates"), help="the model's, 1/rank, or those of the old ranks")
    model = parser.add_argument_group("the model")
    model.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1 (default: the first GPU, or the CPU)")
    model.add_argument(
        "--precision", choices=("fp32", "bf16", "fp16"), help="default: the system's own on a GPU, fp32 on a CPU"
    )
    model.add_argument(
        "--batch-size", type=int, metavar="N", help="texts of 128 tokens that go through it at once (default: 32)"
    )
    model.add_argument("--trust-remote-code", action="store_true", help="run the code that a checkpoint brings")
    lists = parser.add_argument_group("listwise rerankers")
    lists.add_argument("--window", type=int, metavar="N", help="passages shown at once (default: 20)")
    lists.add_argument("--step", type=int, metavar="N", help="how far the window moves up (default: 10)")
    lists.add_argument("--passes", type=int, metavar="N", help="how often it goes over the list (default: 1)")
    lists.add_argument("--shuffle", type=int, metavar="SEED", help="begin with a random order")
    lists.add_argument("--loader", choices=("endpoint", "transformers"), help="a server (OPENAI_BASE_URL), or this machine")
    lists.add_argument("--concurrency", type=int, metavar="N", help="requests to a server at the same time (default: 16)")
    lists.add_argument("--replay", action="store_true", default=None, help="answers from the cache alone")
    run_output(parser)
    return parser


def main(args: argparse.Namespace) -> int:
    from toolkit.jobs import Output, rerank_job
    from toolkit.jobs.file_job import FOLDER
    from toolkit.jobs.run_jobs import rerank_name
    from toolkit.models import jvm
    from toolkit.registry.choice import choose_system
    from toolkit.rerank.rerank_step import Rerank, shown_prompt

    jvm.set_debug(args.debug)
    spec = choose_system(args.system, files=args.systems, recipe=args.recipe, kind=args.kind)
    if args.show_prompt:
        print(shown_prompt(spec, args.prompt))
        return 0
    given = {name: getattr(args, name) for name in OPTIONS}
    job = rerank_job(
        args.run,
        Rerank(spec, trust_remote_code=args.trust_remote_code or None, **given),
        topics=args.topics,
        index=args.index,
        docs=args.docs,
        output=args.output,
        metadata=args.metadata,
        tag=args.tag,
        instruction=args.instruction,
    )
    if args.output is None:
        job.output = Output.at(Path(FOLDER, rerank_name(job)), args.metadata)
    if args.dry_run:
        print("\n".join(job.describe()))
        return 0
    run = job.run()
    if args.output != "-":
        note(f"{job.output.path}: {len(run.query_ids)} queries, {len(run)} documents")
    return 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
