"""search a question once for each of its perspectives, and merge the lists

examples:
  tandem expand run --topics berds-kialo-dev --from given --index wikipedia-dpr --output runs/expanded.trec
  tandem expand topics --topics berds-kialo-dev --from gpt-4-0613-expander --output queries.jsonl
  tandem search --topics queries.jsonl --index wikipedia-dpr --hits 100 --output lists.trec
  tandem expand merge lists.trec --depth 100 --output runs/expanded.trec
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit import model_options
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.specs import MODEL
from toolkit.options import depth_option, dry_run_option, hits_option, index_option, run_output, threads_option, topics_option
from toolkit.parsers import command, main, options_of, subcommands
from toolkit.printing import make, make_runs, note, write_lines
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.jobs.expand_jobs import ExpandJob


def parser() -> argparse.ArgumentParser:
    made = command("expand", __doc__)
    add = subcommands(made)
    sub = add("topics", "write topics with one query for each perspective, `<question>.<n>`", run_topics)
    source_options(sub)
    sub.add_argument("--output", required=True, metavar="F", help="the new topics: .tsv, .trec, otherwise JSON lines; or -")
    sub = add("merge", "merge the lists of each question into one run, round robin", write_merged)
    sub.add_argument("run", metavar="RUN", help="a run whose query ids are `<question>.<n>`; - is standard input")
    merge_options(sub)
    sub = add("run", "do all of it: topics, search, merge", run_all)
    source_options(sub)
    search_options(sub)
    merge_options(sub)
    sub = add("prompt", "print the prompt of a system that writes perspectives", run_prompt)
    sub.add_argument("system", metavar="S", help="a system of kind expander (gpt-4-0613-expander)")
    prompt_options(sub)
    return made


def source_options(sub: argparse.ArgumentParser) -> None:
    what = sub.add_argument_group("questions and perspectives")
    topics_option(what, required=True)
    text = "given (the benchmark's own), released (what its paper expanded queries with), a JSONL file with perspectives, "
    text += "or a system that writes them (gpt-4-0613-expander)"
    what.add_argument("--from", dest="source", required=True, metavar="SOURCE", help=text)
    text = "what is searched for: the perspective alone (the paper) or behind the question (its released code)"
    what.add_argument("--query", choices=("perspective", "question+perspective"), default="perspective", help=text)
    model = sub.add_argument_group("a system that writes perspectives")
    prompt_options(model)
    text = "attempts at an answer that cannot be parsed (default: 3)"
    model.add_argument("--attempts", type=int, default=3, metavar="N", help=text)
    model_options.endpoint_options(sub)
    model_options.engine_options(sub)
    model_options.model_options(sub.add_argument_group("models on this machine"))
    dry_run_option(sub)


def prompt_options(group: argparse._ActionsContainer) -> None:
    model_options.systems_option(group)
    model_options.prompt_option(group)
    model_options.prompts_option(group)


def search_options(sub: argparse.ArgumentParser) -> None:
    how = sub.add_argument_group("search (`tandem search` has more)")
    model_options.system_option(how, "bm25")
    index_option(how)
    model_options.recipe_option(how)
    hits_option(how, 100)
    threads_option(how)


def merge_options(sub: argparse.ArgumentParser) -> None:
    out = sub.add_argument_group("merge")
    depth_option(out, 100)
    text = "as the released code does: whole rounds, with duplicate documents"
    out.add_argument("--keep-duplicates", action="store_true", help=text)
    text = "default: trec; json, {question: [document, ...]}, with --keep-duplicates: such a list is no valid TREC run"
    out.add_argument("--format", choices=("trec", "json"), help=text)
    run_output(sub, required=True)


def run_topics(args: argparse.Namespace) -> None:
    _write_topics(_expansion(args, args.output), args)


def run_prompt(args: argparse.Namespace) -> None:
    from toolkit.models import choose_system
    from toolkit.retrieval.expand import load_expander

    spec = choose_system(args.system, files=args.systems, kind="expander")
    print(load_expander(spec, prompt=args.prompt, prompts=args.prompts).prompt.titled())


def run_all(args: argparse.Namespace) -> None:
    from toolkit.jobs import search_job
    from toolkit.jobs.expand_jobs import own_corpus

    if args.output == "-":
        raise ToolkitError("queries and lists are written beside the run", "name a file with --output")
    check_counts(hits=args.hits, depth=args.depth, threads=args.threads, batch_size=args.batch_size)
    queries, lists = _beside(args.output, "queries.jsonl"), _beside(args.output, "lists.trec")
    expansion = _expansion(args, queries)
    index = args.index or own_corpus(expansion.topics)
    if args.dry_run:
        steps = [f"search them with {args.system or 'bm25'} in {index}, {args.hits} documents each, write {lists}"]
        write_lines([*expansion.describe(), *steps, f"merge {args.depth} documents a question, write {args.output}"])
        return
    _write_topics(expansion, args)
    how = {name: getattr(args, name) for name in ("recipe", "hits", "threads", *MODEL)}
    search_job(queries, index, args.system or "bm25", output=lists, **how).make()
    write_merged(args, lists, queries)


def _expansion(args: argparse.Namespace, output: str) -> ExpandJob:
    from toolkit.jobs.expand_jobs import ExpandJob, expand

    return ExpandJob(**options_of(args, expand) | {"output": output})


def _write_topics(job: ExpandJob, args: argparse.Namespace) -> None:
    product = make(job, args)
    if product is None:
        return
    size = product.size
    each = f"{size['perspectives']:.2f} perspectives a question, {size['words']:.1f} words a perspective"
    note(f"{job.output.path}: {size['questions']:,} questions, {each}")


def write_merged(args: argparse.Namespace, lists: str = "", queries: str | None = None) -> None:
    from toolkit.jobs.expand_jobs import MergeJob, write_lists

    lists = lists or args.run
    how = {"depth": args.depth, "duplicates": args.keep_duplicates, "output": args.output}
    if (args.format or ("json" if args.keep_duplicates else "trec")) == "json":
        merged = write_lists(lists, **how)
        note(f"{args.output}: {len(merged):,} questions, {sum(map(len, merged.values())):,} documents")
    else:
        make_runs(MergeJob(lists, **how, tag=args.tag, queries=queries), args)


def _beside(output: str, ending: str) -> str:
    """`runs/a.trec` -> `runs/a.queries.jsonl`."""
    from toolkit.jobs.file_job import stem_of

    return str(Path(output).with_name(f"{stem_of(output)}.{ending}"))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
