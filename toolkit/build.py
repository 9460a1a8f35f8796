"""make a benchmark of one's own documents as the papers made theirs, step by step"""

import argparse
import json
import sys
from typing import Any

from toolkit.construction.kinds import KINDS
from toolkit.core.specs import ENDPOINT, ENGINE, MODEL
from toolkit.model_options import endpoint_options, engine_options, model_options, prompts_option
from toolkit.options import build_argument, dry_run_option, reviewed_step_option, table_options
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_lines, write_tables
from toolkit.shell import guard

EXAMPLES = """\
examples:
  tandem build new instructir mine
  tandem build run mine
  tandem build status mine
  tandem build show mine q17_3
  tandem build review export mine --step review --output form.html
  tandem build review import mine form.Ada.json form.Ben.json
  tandem build benchmark mine --to mine-benchmark
  tandem build check mine-benchmark

`run` does what is not up to date: after an interruption it resumes, and after a change of a parameter or a prompt it makes
again what depends on it and nothing else. Answers are cached: `run --replay` makes everything again without a request.
exit status: 0 where all was done, 1 for a failure, 2 for wrong input; of `check` 1 for problems, warnings alone leave it 0."""


def parser() -> argparse.ArgumentParser:
    kinds = "\n".join(f"  {name:<12}{text}" for name, text in KINDS.items())
    made = command("build", __doc__, f"kinds:\n{kinds}\n\n{EXAMPLES}")
    add = subcommands(made)
    sub = add("new", "write an example of a kind into a folder, which runs at once: build.yaml, with comments", run_new)
    sub.add_argument("kind", metavar="KIND", help=f"what is built: {', '.join(KINDS)}")
    build_argument(sub)
    sub = add("run", "do the steps that are not up to date", run_run)
    build_argument(sub)
    sub.add_argument("step", nargs="?", metavar="STEP", help="the last step that is done (default: all)")
    endpoint_options(sub)
    engine_options(sub)
    model_options(sub.add_argument_group("models on this machine"))
    prompts_option(sub)
    dry_run_option(sub)
    sub = add("status", "show how far each step is: what entered, left, and was rejected and why", run_status)
    build_argument(sub)
    table_options(sub)
    sub = add("show", "show the history of an item: its ancestors, its descendants, and who made them", run_show)
    build_argument(sub)
    sub.add_argument("id", metavar="ID", help="an item of any step")
    forms = "how the history is written: json is an object a line (default: text)"
    sub.add_argument("--format", choices=("text", "json"), default="text", help=forms)
    sub = add("benchmark", "write the benchmark that the steps made", run_benchmark)
    build_argument(sub)
    sub.add_argument("--to", required=True, metavar="OUT", help="the folder to write; one that was built before is replaced")
    answered = "let people answer questions about items, and take their answers back"
    review_commands(add("review", answered, lambda args: args.run_review_command(args)))
    sub = add("check", "check for what no score shows: surface cues, duplicates, systems that made items", run_check)
    sub.add_argument("benchmark", metavar="OUT", help="the folder of a benchmark, built or not, or the name of one")
    runs = "also look for runs of systems that made items, and for instructions that change no score of the run"
    sub.add_argument("runs", nargs="*", metavar="RUN", help=runs)
    near = sub.add_argument_group("near-duplicates")
    similarity = "the least Jaccard similarity of runs of five characters (default: 0.8)"
    near.add_argument("--similarity", type=float, default=0.8, metavar="X", help=similarity)
    near.add_argument("--dense", action="store_true", help="also paraphrases, by the vectors of all-minilm-l6-v2")
    near.add_argument("--cosine", type=float, default=0.9, metavar="X", help="the least cosine of these (default: 0.9)")
    table_options(sub)
    sub = add("datasheet", "write datasheet.md: counts, who made it, what the checks found, what it is not for", run_datasheet)
    sub.add_argument("folder", metavar="OUT", help="the folder of a benchmark, built or not")
    return made


def review_commands(made: argparse.ArgumentParser) -> None:
    add = subcommands(made, "review_command")
    sub = add("export", "write a form for reviewers: a page that needs no network", run_export)
    build_argument(sub)
    reviewed_step_option(sub, required=True)
    sub.add_argument("--output", required=True, metavar="F", help="the page")
    sub.add_argument("--form", metavar="NAME", help="the form, by name or file, for a step that is none of review")
    sub.add_argument("--reviewers", nargs="+", default=[], metavar="NAME", help="who may answer (default: anybody)")
    sub.add_argument("--to-settle", action="store_true", help="what reviewers did not agree on: these answers decide")
    sub.add_argument("--first", type=int, metavar="N", help="so many items at most (default: all)")
    sub = add("import", "take reviewers' files back: all of them, or none where anything is wrong", run_import)
    build_argument(sub)
    sub.add_argument("file", nargs="+", metavar="FILE", help="a file that the page saved")
    sub = add("status", "show how far reviews are, how far reviewers agree, and what is to be settled", run_review_status)
    build_argument(sub)
    reviewed_step_option(sub, "all that are reviewed")
    table_options(sub)


def run_new(args: argparse.Namespace) -> None:
    from toolkit.construction.build_config import new_build
    from toolkit.construction.examples import ANSWERS

    path = new_build(args.kind, args.folder)
    if (answers := path.with_name(ANSWERS)).is_file():
        note(f"{answers}: recorded answers to the seeds of {path.name}, by a script (`scripted`), not by a language model")
    note(f"{path}: an example that `tandem build run {args.folder}` runs; name your own seeds there, and models")


def run_run(args: argparse.Namespace) -> None:
    from toolkit.construction.build_config import take_prompts

    if args.prompts is not None and not args.dry_run:
        taken = take_prompts(args.folder, args.prompts)
        note(f"{taken[0].parent}: {len(taken)} published prompts, which are sent from now on; remove them to send ours again")
    build = _build(args, args.prompts if args.dry_run else None)
    if args.dry_run:
        return write_lines(f"{state.step.name} ({state.step.about}): {state.state}" for state in build.states(args.step))
    build.run(args.step, **{name: getattr(args, name) for name in (*ENDPOINT, *ENGINE, *MODEL)})
    build.check_left(args.step)


def run_status(args: argparse.Namespace) -> None:
    from toolkit.construction.build_tables import status_tables

    build = _build(args)
    write_tables(status_tables(build.config, build.states()), args)


def run_show(args: argparse.Namespace) -> None:
    from toolkit.construction.build_tables import history_lines, history_rows

    found = _build(args).steps().history(args.id)
    if args.format == "json":
        print("\n".join(json.dumps(row, ensure_ascii=False) for row in history_rows(found)))
    else:
        write_lines(history_lines(found))


def run_benchmark(args: argparse.Namespace) -> None:
    path = _build(args).benchmark(args.to)
    note(f"{path}: `tandem benchmarks check {path}` looks it over, `tandem search --topics {path}` searches it")


def run_export(args: argparse.Namespace) -> None:
    from toolkit.construction.review.review_rounds import export_review

    how = {name: getattr(args, name) for name in ("reviewers", "to_settle", "first")}
    items = export_review(_build(args), args.step, args.output, form=args.form or "", **how)
    note(f"{args.output}: {items:,} items; `tandem build review import {args.folder} FILE...` takes answers back")


def run_import(args: argparse.Namespace) -> None:
    from toolkit.construction.review.review_rounds import import_review

    done = import_review(_build(args), args.file)
    note(f"{done.new:,} answers by {', '.join(done.reviewers) or 'nobody'}; {done.known:,} were there already")
    if done.partial:
        note(f"{done.partial:,} items are answered in part and left out: import the file again when they are complete")
    again = f"`tandem build run {args.folder}`"
    note(f"`tandem build review status {args.folder}` shows them; where a step waits for them, {again}")


def run_review_status(args: argparse.Namespace) -> None:
    from toolkit.construction.review.review_status import status_tables

    write_tables(status_tables(_build(args), args.step), args)


def run_check(args: argparse.Namespace) -> int:
    from toolkit.construction.checks.benchmark_check import check_benchmark
    from toolkit.construction.checks.check_tables import tables
    from toolkit.files.runs.problems import found

    how = {"similarity": args.similarity, "dense": args.dense, "cosine": args.cosine}
    checked = check_benchmark(args.benchmark, args.runs or None, **how)
    write_tables(tables(checked), args)
    note(f"{args.benchmark}: {found(len(checked.problems), len(checked.warnings))}")
    return int(bool(checked.problems))


def run_datasheet(args: argparse.Namespace) -> None:
    from toolkit.construction.datasheet import write_datasheet

    print(write_datasheet(args.folder))


def _build(args: argparse.Namespace, prompts: str | None = None) -> Any:
    from toolkit.construction.build_folder import BuildFolder

    return BuildFolder(args.folder, prompts)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
