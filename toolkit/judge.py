"""judge which perspectives of a question the best documents of runs hold

examples:
  tandem judge runs/bm25.trec --judge berds-mistral-evaluator --topics berds-kialo-dev --depth 10 --output qrels.txt
  tandem judge runs/a.trec runs/b.trec --judge gpt-4-0613-judge --dry-run
  tandem judge --score labelled.jsonl --judge nli-deberta-v3-base
  tandem judge --score ours.qrels --reference theirs.qrels
  tandem judge runs/bm25.trec --judge gpt-4-0613-judge --correct people.qrels -m MRecall@5
  tandem judge --task stance --topics berds-kialo-dev --judge gpt-4-0613-judge --output stances.tsv
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from toolkit import model_options
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENDPOINT, MODEL
from toolkit.judging_options import measure_option
from toolkit.options import depth_option, dry_run_option, metadata_option, table_options, text_options, topics_option
from toolkit.parsers import command, options_of
from toolkit.printing import make, note, write_lines, write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.jobs.judge_jobs import JudgeJob
    from toolkit.models.judges import Judge

LOADING = ("prompt", "prompts", "seed", *ENDPOINT, *MODEL)


def parser() -> argparse.ArgumentParser:
    made = command("judge", __doc__)
    text = "runs, whose best documents are judged together; - is standard input"
    made.add_argument("run", nargs="*", metavar="RUN", help=text)
    what_options(made)
    asked_options(made)
    model_options.endpoint_options(made)
    model_options.engine_options(made)
    model_options.model_options(made.add_argument_group("a model on this machine"))
    out = made.add_argument_group("output")
    text = "qrels, stances or a table, .gz or .zst too, or - (default: a name in runs/)"
    out.add_argument("--output", metavar="F", help=text)
    metadata_option(out)
    dry_run_option(out)
    table_options(made, output=False, tsv=True)
    return made


def what_options(made: argparse.ArgumentParser) -> None:
    what = made.add_argument_group("what to do")
    topics_option(what, "those that the run's record names")
    text_options(what)
    depth_option(what, 10)
    text = "support: which documents hold a perspective; stance: which perspective supports"
    what.add_argument("--task", choices=("support", "stance"), default="support", help=text)
    text = "labelled pairs to compare the judge with; with --reference, the file to compare"
    what.add_argument("--score", metavar="F", help=text)
    what.add_argument("--reference", metavar="F", help="what the file of --score is compared with: people, or another judge")
    text = "qrels of people: correct the run's MRecall@k and PerspectiveP@k (-m) by the questions that they have every "
    text += "perspective of, in all of the best k documents, with intervals"
    what.add_argument("--correct", metavar="F", help=text)
    measure_option(what)
    what.add_argument("--export", metavar="F", help="write the cached answers as training pairs, without any request")


def asked_options(made: argparse.ArgumentParser) -> None:
    asked = made.add_argument_group("the judge")
    text = "the judge: of the registry, a folder, a Hugging Face id, python:MODULE:FACTORY; random for what guesses have"
    asked.add_argument("--judge", metavar="S", help=text)
    model_options.recipe_options(asked)
    model_options.prompt_option(asked)
    model_options.prompts_option(asked)
    asked.add_argument("--shots", metavar="F", help="labelled examples in front: JSON lines (document, statement, label)")
    model_options.show_prompt_option(asked)
    asked.add_argument("--seed", type=int, metavar="N", help="random seed of sampled answers")


def main(args: argparse.Namespace) -> None:
    check_options(args)
    if args.show_prompt:
        from toolkit.jobs.judge_jobs import prompt_shown

        return print(prompt_shown(args.judge, **options_of(args, prompt_shown)))
    if args.score:
        return score(args)
    judge = load(args)
    if args.task == "stance":
        return stance(args, judge)
    from toolkit.jobs.judge_jobs import JudgeJob, emit_warnings

    job = JudgeJob(args.run, **options_of(args, JudgeJob) | {"judge": judge})
    if args.export:
        return export(args, job)
    if args.correct:
        return correct(args, job)
    if judged := make(job, args, lambda job: f"qrels.{job.topics.name}.{judge.spec.name}.txt"):
        emit_warnings(judge)
        output, counts = job.output.path, judge.counts
    if judged and str(output) != "-":
        note(f"{output}: {len(judged.qrels):,} pairs, {counts.positive:,} hold, {counts.unjudged:,} unjudged")


def check_options(args: argparse.Namespace) -> None:
    """ToolkitError for options of which one would be passed over."""
    if args.reference and not args.score:
        raise ToolkitError("--reference without --score", "--score F --reference G compares F with G")
    if args.measures and not args.correct:
        raise ToolkitError("--measure without --correct", "`tandem evaluate` scores a run by qrels")
    stance = "--task stance" if args.task == "stance" else None
    chosen = {"--score": args.score, "--correct": args.correct, "--export": args.export, stance: stance}
    given = [name for name, value in chosen.items() if value]
    if len(given) > 1:
        raise ToolkitError(f"{' and '.join(given)} are different things to do", "one at a time")
    if args.run and (args.score or stance):
        raise ToolkitError(f"{given[0]} takes no run", "leave the run out")
    if args.reference and args.judge:
        raise ToolkitError("--reference and --judge are both named: one of them is compared with people", "one at a time")
    if args.export and args.output:
        raise ToolkitError("--export writes training pairs alone", "leave --output out")
    if args.metadata and (args.score or args.correct or args.export):
        raise ToolkitError(f"{given[0]} writes no record", "leave --metadata out")


def load(args: argparse.Namespace) -> Judge:
    """The judge that the options name."""
    from toolkit.jobs.judge_jobs import judge_of

    return judge_of(args.judge, **{name: getattr(args, name) for name in ("systems", "recipe", "shots", "task", *LOADING)})


def stance(args: argparse.Namespace, judge: Judge) -> None:
    from toolkit.jobs.judge_jobs import StanceJob

    job = StanceJob(args.topics, judge, output=args.output, metadata=args.metadata)
    stances = make(job, args, lambda job: f"stances.{job.topics.name}.{judge.spec.name}.tsv")
    if stances:
        note(f"{job.output.path}: {stances}")


def score(args: argparse.Namespace) -> None:
    from toolkit.jobs.judge_jobs import emit_warnings, planned
    from toolkit.retrieval.judge.agreement import RANDOM, lay_out, pair_of, read_labels, score_judge, score_labels

    labels = read_labels(args.score)
    reference = read_labels(args.reference) if args.reference else None
    judge = None if reference or args.judge == RANDOM else load(args)
    if judge and args.dry_run:
        return write_lines([planned(judge, judge.plan([pair_of(judge, key) for key, _ in labels.rows]))])
    rows = score_labels(labels, reference) if reference else score_judge(judge, labels)
    if judge:
        emit_warnings(judge)
    write_tables(lay_out(rows), args)


def correct(args: argparse.Namespace, job: JudgeJob) -> None:
    from toolkit.jobs.judge_jobs import Correction, emit_warnings
    from toolkit.retrieval.judge.corrected_measures import lay_out

    correction = Correction(job, args.correct, args.measures)
    if args.dry_run:
        return write_lines([*job.plan(), f"write {args.output or 'to standard output'}"])
    rows = correction.rows()
    emit_warnings(job.judge)
    write_tables(lay_out(rows), args)


def export(args: argparse.Namespace, job: JudgeJob) -> None:
    from toolkit.retrieval.judge.judging import export

    if args.dry_run:
        return write_lines([*job.plan(), f"write {args.export}"])
    written, missing = export(job.rows, job.judge, args.export)
    note(f"{args.export}: {written:,} pairs" + (f"; {missing:,} are not answered yet" if missing else ""))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
