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
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENDPOINT
from toolkit.judging_options import measure_option
from toolkit.model_options import (
    endpoint_options,
    engine_options,
    model_options,
    prompt_option,
    prompts_option,
    recipe_options,
    show_prompt_option,
)
from toolkit.options import depth_option, dry_run_option, metadata_option, table_options, text_options, topics_option
from toolkit.parsers import command
from toolkit.printing import make, note, write_lines, write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.jobs.judge_jobs import JudgeJob
    from toolkit.models.judges import Judge

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")
RANDOM = "random"
LOADING = ("prompt", "prompts", "seed", *ENDPOINT, "device", "precision", "batch_size", "trust_remote_code")


def parser() -> argparse.ArgumentParser:
    made = command("judge", SUMMARY, EXAMPLES)
    made.add_argument(
        "run", nargs="*", metavar="RUN", help="runs, whose best documents are judged together; - is standard input"
    )
    what_options(made)
    asked_options(made)
    endpoint_options(made)
    engine_options(made)
    model_options(made.add_argument_group("a model on this machine"))
    out = made.add_argument_group("output")
    out.add_argument(
        "--output", metavar="F", help="qrels, stances or a table, .gz or .zst too, or - (default: a name in runs/)"
    )
    metadata_option(out)
    dry_run_option(out)
    table_options(made, output=False, tsv=True)
    return made


def what_options(made: argparse.ArgumentParser) -> None:
    what = made.add_argument_group("what to do")
    topics_option(what, "those that the run's record names")
    text_options(what)
    depth_option(what, 10)
    what.add_argument(
        "--task",
        choices=("support", "stance"),
        default="support",
        help="support: which documents hold a perspective; stance: which perspective supports",
    )
    what.add_argument(
        "--score", metavar="F", help="labelled pairs to compare the judge with; with --reference, the file to compare"
    )
    what.add_argument("--reference", metavar="F", help="what the file of --score is compared with: people, or another judge")
    what.add_argument(
        "--correct",
        metavar="F",
        help="qrels of people: correct the run's MRecall@k and PerspectiveP@k (-m) by the questions that they have every "
        "perspective of, in all of the best k documents, with intervals",
    )
    measure_option(what)
    what.add_argument("--export", metavar="F", help="write the cached answers as training pairs, without any request")


def asked_options(made: argparse.ArgumentParser) -> None:
    asked = made.add_argument_group("the judge")
    asked.add_argument(
        "--judge",
        metavar="S",
        help="the judge: of the registry, a folder, a Hugging Face id, python:MODULE:FACTORY; random for what guesses have",
    )
    recipe_options(asked)
    prompt_option(asked)
    prompts_option(asked)
    asked.add_argument("--shots", metavar="F", help="labelled examples in front: JSON lines (document, statement, label)")
    show_prompt_option(asked)
    asked.add_argument("--seed", type=int, metavar="N", help="random seed of sampled answers")


def main(args: argparse.Namespace) -> None:
    check_options(args)
    if args.show_prompt:
        return show_prompt(args)
    if args.score:
        return score(args)
    judge = load(args)
    if args.task == "stance":
        return stance(args, judge)
    from toolkit.jobs.judge_jobs import JudgeJob

    given = {name: getattr(args, name) for name in ("topics", "index", "docs", "depth", "output", "metadata")}
    job = JudgeJob(args.run, judge, **given)
    if args.export:
        return export(args, job)
    return correct(args, job) if args.correct else judge_runs(args, job)


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

    if args.judge in (None, RANDOM):
        hint = "--judge NAME; `tandem systems list --kind judge` names them"
        raise ToolkitError("no judge is named" if args.judge is None else "guesses are only for --score", hint)
    given = {name: getattr(args, name) for name in ("systems", "recipe", "shots", *LOADING)}
    return judge_of(args.judge, task=_task(args), **given)


def _task(args: argparse.Namespace) -> str:
    from toolkit.models.judges import STANCE, SUPPORT

    return STANCE if args.task == "stance" else SUPPORT


def show_prompt(args: argparse.Namespace) -> None:
    from toolkit.core.specs import SystemSpec
    from toolkit.models.judges import read_shots
    from toolkit.models.judges.loading import judge_prompt
    from toolkit.registry.choice import choose_system

    shots = read_shots(args.shots) if args.shots else ()
    spec = SystemSpec("any", "", "judge")
    if args.judge:
        spec = choose_system(args.judge, files=args.systems, recipe=args.recipe, kind="judge")
    prompt = judge_prompt(spec, task=_task(args), prompt=args.prompt, prompts=args.prompts, shots=shots)
    if prompt is None:
        raise ToolkitError(
            f"{spec.name} is a classifier: it is sent no prompt", "only judges that are language models have a prompt"
        )
    print(f"{prompt.name} (sha256 {prompt.sha256})\n\n{prompt.show()}")


def judge_runs(args: argparse.Namespace, job: JudgeJob) -> None:
    from toolkit.jobs.judge_jobs import emit_warnings

    judged = make(job, args, lambda job: f"qrels.{job.topics.name}.{job.judge.spec.name}.txt")
    if judged is None:
        return
    emit_warnings(job.judge)
    output, counts = job.output.path, job.judge.counts
    if str(output) != "-":
        note(f"{output}: {len(judged.qrels):,} pairs, {counts.positive:,} hold, {counts.unjudged:,} unjudged")


def stance(args: argparse.Namespace, judge: Judge) -> None:
    from toolkit.jobs.judge_jobs import StanceJob

    if not args.topics:
        raise ToolkitError("no questions are named", "name them with --topics")
    job = StanceJob(args.topics, judge, output=args.output, metadata=args.metadata)
    stances = make(job, args, lambda job: f"stances.{job.topics.name}.{judge.spec.name}.tsv")
    if stances:
        note(
            f"{job.output.path}: {len(stances.supporting):,} questions; left out: {stances.others:,} without two perspectives, "
            f"{stances.unclear:,} unclear, {stances.unjudged:,} unjudged"
        )


def score(args: argparse.Namespace) -> None:
    from toolkit.jobs.judge_jobs import emit_warnings, planned
    from toolkit.retrieval.judge.agreement import Agreement, pair_of, score_judge, score_labels
    from toolkit.retrieval.judge.labelled import read_labels

    labels = read_labels(args.score)
    if args.reference:
        rows = score_labels(labels, read_labels(args.reference))
    elif args.judge == RANDOM:
        rows = score_judge(None, labels)
    else:
        judge = load(args)
        if args.dry_run:
            plan = judge.plan([pair_of(judge, key) for key, _ in labels.rows])
            write_lines(planned(judge, plan).splitlines())
            return
        rows = score_judge(judge, labels)
        emit_warnings(judge)
    table(("judge", *Agreement._fields), ((row.judge, *row.agreement) for row in rows), args)


def correct(args: argparse.Namespace, job: JudgeJob) -> None:
    from toolkit.jobs.judge_jobs import emit_warnings
    from toolkit.retrieval.judge.corrected_measures import MEASURES, check_labelled, correct, parse_measures
    from toolkit.retrieval.judge.judging import judge_run
    from toolkit.retrieval.judge.labelled import read_labels

    if len(job.runs) > 1:
        raise ToolkitError("measures are corrected run by run", "name one run")
    labelled = read_labels(args.correct)
    measures = args.measures or [name for name in MEASURES if parse_measures([name])[0][1] <= args.depth]
    if deeper := [name for name, (_, k) in zip(measures, parse_measures(measures), strict=True) if k > args.depth]:
        k = parse_measures(deeper)[0][1]
        raise ToolkitError(f"{deeper[0]} needs the best {k} documents judged, and --depth is {args.depth}", f"--depth {k}")
    check_labelled(job.runs[0], job.subtopics, labelled, measures)
    if args.dry_run:
        write_lines([*job.plan(), f"write {args.output or 'to standard output'}"])
        return
    qrels = judge_run(job.runs, job.topics, job.texts, job.judge, job.depth).qrels
    rows = correct(job.runs[0], qrels, labelled, measures)
    emit_warnings(job.judge)
    heads = ("measure", "judged", "corrected", "low", "high", "labelled questions")
    table(heads, ((row.measure, row.judged, *row.corrected, row.labelled) for row in rows), args)


def export(args: argparse.Namespace, job: JudgeJob) -> None:
    from toolkit.retrieval.judge.judging import export

    if args.dry_run:
        write_lines([*job.plan(), f"write {args.export}"])
        return
    written, missing = export(job.rows, job.judge, args.export)
    note(f"{args.export}: {written:,} pairs" + (f"; {missing:,} are not answered yet" if missing else ""))


def table(heads: Sequence[str], rows: Iterable[tuple], args: argparse.Namespace) -> None:
    """Numbers of a judge: every float is a fraction, NaN where there is none."""
    from toolkit.core.tables.aligned_table import Column, Number, Table

    cells = [[Number(cell, share=True) if isinstance(cell, float) else cell for cell in row] for row in rows]
    cells = [["-" if cell is None else cell for cell in row] for row in cells]
    columns = [Column(head, label=not place) for place, head in enumerate(heads)]
    write_tables(Table(columns, cells), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
