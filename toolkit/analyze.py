"""measure what order, wording and overlap do to runs, what instructions are made of, and what differences show"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENDPOINT
from toolkit.judging_options import benchmark_option, by_query_option, measure_option, mode_option, qrels_option, seed_option
from toolkit.model_options import endpoint_options, systems_option, trust_python_option
from toolkit.options import depth_option, table_options, topics_option
from toolkit.parsers import command, subcommands
from toolkit.printing import write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolkit.core.runs import Run
    from toolkit.core.scores import Scores
    from toolkit.core.tables.aligned_table import Table
    from toolkit.evaluation.scores.judgments import Judgments

    Add = Callable[..., argparse.ArgumentParser]

BENCHMARK = "instructir"


def parser() -> argparse.ArgumentParser:
    made = command("analyze", __doc__)
    add = subcommands(made)
    for options in (
        order_options,
        paraphrase_options,
        overlap_options,
        diversity_options,
        dimensions_options,
        coverage_options,
        stance_options,
        crosslingual_options,
        measures_options,
        power_options,
    ):
        options(add)
    return made


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def judged_by(sub: argparse.ArgumentParser, benchmark: str | None = BENCHMARK) -> None:
    """`--benchmark`, or `--qrels` with their `--modes`: what judges the runs."""
    against = sub.add_mutually_exclusive_group(required=benchmark is None)
    benchmark_option(against, benchmark)
    qrels_option(against)
    mode_option(sub)


def cutoff_option(sub: argparse.ArgumentParser, default: int) -> None:
    """`--cutoff`."""
    text = f"how many of the best documents of each query count (default: {default})"
    sub.add_argument("--cutoff", type=int, default=default, metavar="K", help=text)


def judgments(benchmark: str | None, qrels: list[str] | None, modes: list[tuple[str, str]] | None = None) -> Judgments:
    """What judges a run: a benchmark, qrels files (with the `modes` of their ids), or such files for a benchmark's queries."""
    from toolkit.core.modes import Modes
    from toolkit.evaluation.scores.judgments import from_benchmark, from_files
    from toolkit.evaluation.scores.run_inputs import as_sources

    if benchmark and modes:
        raise ToolkitError(f"the modes of {benchmark} are known", "leave --modes out, or name --qrels instead of a benchmark")
    named = Modes.declared(dict(modes), "--modes") if modes else None
    sources = as_sources(qrels, named) if qrels else []
    return from_benchmark(benchmark, sources) if benchmark else from_files(sources, named)


def judgments_of(args: argparse.Namespace) -> Judgments:
    """What `--qrels` or, without them, `--benchmark` name."""
    return judgments(None if args.qrels else args.benchmark, args.qrels, args.modes)


def read_runs(paths: list[str], judged: Judgments) -> list[Run]:
    """Run files in the order given; ToolkitError for one that has nothing to do with what is judged."""
    from toolkit.evaluation.scores.judgments import check
    from toolkit.files.formats import read_run

    runs = [read_run(path) for path in paths]
    for run in runs:
        check(run, run.source, judged)
    return runs


def named_apart(runs: list[Run]) -> list[Run]:
    """The runs, those of one tag or none called by their files: rows of one name would be one."""
    tags = [run.tag for run in runs]
    return [run if run.tag and tags.count(run.tag) == 1 else replace(run, tag=run.source) for run in runs]


def write(scores: Scores, args: argparse.Namespace, *, by_query: bool = False, below: Sequence[Table] = ()) -> None:
    """Scores as the options for tables say.

    below  other tables that stand under it
    """
    from toolkit.evaluation.analyses.analysis_output import lay_out
    from toolkit.evaluation.scores.score_output import long_forms

    forms = {name: form for name, form in long_forms(scores, by_query=by_query).items() if name != "trec"}
    write_tables([lay_out(scores), *below], args, forms=forms)


def order_options(add: Add) -> None:
    sub = add("order", "compare instruction first with query first: nDCG, Robustness, paired differences", run_order)
    sub.add_argument("first", metavar="RUN_INSTRUCTION_FIRST", help="run of the queries as the benchmark has them")
    sub.add_argument("second", metavar="RUN_QUERY_FIRST", help="run of the same queries in the other order")
    judged_by(sub)
    cutoff_option(sub, 10)
    by_query_option(sub)
    table_options(sub)


def run_order(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.order import order

    judged = judgments_of(args)
    first, second = read_runs([args.first, args.second], judged)
    scores = order(first, second, judged, cutoff=args.cutoff, by_query=args.by_query)
    write(scores, args, by_query=args.by_query)


def paraphrase_options(add: Add) -> None:
    sub = add("paraphrase", "compare instructions with paraphrases of them: spread and worst case of nDCG", run_paraphrase)
    sub.add_argument("run", metavar="RUN", help="run of the instructions")
    sub.add_argument("reworded", metavar="PARAPHRASE_RUN", help="run of their paraphrases")
    judged_by(sub)
    sub.add_argument(
        "--paraphrase-qrels", nargs="+", action="extend", metavar="QRELS", help="with --qrels: qrels files of the paraphrases"
    )
    cutoff_option(sub, 10)
    by_query_option(sub)
    table_options(sub)


def run_paraphrase(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.paraphrase import paraphrase

    if bool(args.qrels) != bool(args.paraphrase_qrels):
        raise ToolkitError("--qrels and --paraphrase-qrels go together", "name the qrels of both runs, or a benchmark")
    judged = judgments_of(args)
    others = judgments(None if args.qrels else f"{args.benchmark}-paraphrases", args.paraphrase_qrels, args.modes)
    (original,), (reworded,) = read_runs([args.run], judged), read_runs([args.reworded], others)
    scores = paraphrase(original, reworded, judged, others, cutoff=args.cutoff, by_query=args.by_query)
    write(scores, args, by_query=args.by_query)


def overlap_options(add: Add) -> None:
    sub = add(
        "overlap", "score runs without the instances that a lexical run solves, and without as many by chance", run_overlap
    )
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs to score")
    sub.add_argument("--filter-run", required=True, metavar="F", help="the lexical run")
    sub.add_argument(
        "--filter-depth",
        type=int,
        default=10,
        metavar="N",
        help="how many of its best documents of each query count (default: 10)",
    )
    judged_by(sub)
    cutoff_option(sub, 10)
    seed_option(sub)
    table_options(sub)


def run_overlap(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.overlap import overlap
    from toolkit.evaluation.analyses.words import gold_overlap

    judged = judgments_of(args)
    lexical, *runs = read_runs([args.filter_run, *args.runs], judged)
    words = None if args.qrels else gold_overlap(args.benchmark)
    runs = named_apart(runs)
    write(overlap(runs, lexical, judged, depth=args.filter_depth, cutoff=args.cutoff, seed=args.seed, words=words), args)


def diversity_options(add: Add) -> None:
    sub = add("diversity", "measure how unlike the instructions of one query are: ROUGE-L over all pairs", run_diversity)
    given = sub.add_mutually_exclusive_group()
    benchmark_option(given, BENCHMARK)
    topics_option(given)
    by_query_option(sub)
    table_options(sub)


def run_diversity(args: argparse.Namespace) -> None:
    from toolkit.datasets import resolve_topics
    from toolkit.evaluation.analyses.diversity import diversity, histogram, instruction_groups, without_histogram

    topics = resolve_topics(args.topics or args.benchmark)
    scores = diversity(topics.name, instruction_groups(topics.topics), by_query=args.by_query)
    if args.format in ("json", "csv"):
        write(scores, args, by_query=args.by_query)
    else:
        write(without_histogram(scores), args, by_query=args.by_query, below=[histogram(scores)])


def perspectives_judged_by(sub: argparse.ArgumentParser) -> None:
    """`--qrels` and `--benchmark`, which may stand together: judgments of one's own for the benchmark's groups; `--modes`."""
    qrels_option(sub)
    benchmark_option(sub)
    mode_option(sub)


def perspective_judgments(args: argparse.Namespace) -> Judgments:
    """What `--qrels`, `--benchmark` or both name."""
    if not args.qrels and not args.benchmark:
        raise ToolkitError("there are no judgments of the runs", "name --qrels, --benchmark, or both")
    return judgments(args.benchmark, args.qrels, args.modes)


def dimensions_options(add: Add) -> None:
    sub = add(
        "dimensions", "count which of InfoSearch's six dimensions the instructions of benchmarks speak of", run_dimensions
    )
    given = sub.add_mutually_exclusive_group()
    benchmark_option(given, BENCHMARK, nargs="+", action="extend")
    topics_option(given)
    sub.add_argument(
        "--judge",
        metavar="S",
        help="a judge for instructions that no rule labels: of the registry, a folder or a Hugging Face id",
    )
    systems_option(sub)
    trust_python_option(sub)
    endpoint_options(sub)
    by_query_option(sub)
    table_options(sub)


def run_dimensions(args: argparse.Namespace) -> None:
    from toolkit.core.scores import Scores
    from toolkit.datasets import resolve_topics
    from toolkit.evaluation.analyses.dimensions import asked_of, dimensions

    sets = [resolve_topics(name) for name in args.topics or args.benchmark or [BENCHMARK]]
    holds = asked_of(args.judge, args.systems, **{name: getattr(args, name) for name in ENDPOINT}) if args.judge else None
    results = [dimensions(part.name, part.topics, holds=holds, by_query=args.by_query) for part in sets]
    rows = tuple(row for result in results for row in result.rows)
    notes = tuple(line for result in results for line in result.notes)
    write(Scores(rows, notes), args, by_query=args.by_query)


def coverage_options(add: Add) -> None:
    sub = add(
        "coverage", "count how many documents it takes until every perspective is seen, and how often all are", run_coverage
    )
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs; of several also the union")
    perspectives_judged_by(sub)
    depth_option(sub, 100)
    by_query_option(sub)
    table_options(sub)


def run_coverage(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.coverage import coverage

    judged = perspective_judgments(args)
    scores = coverage(named_apart(read_runs(args.runs, judged)), judged, depth=args.depth, by_query=args.by_query)
    write(scores, args, by_query=args.by_query)


def crosslingual_options(add: Add) -> None:
    sub = add("crosslingual", "compare queries in the documents' language with English ones, side by side", run_crosslingual)
    sub.add_argument("multi", metavar="MULTI", help="run of the queries in the documents' language")
    sub.add_argument("cross", metavar="CROSS", help="run of the English queries")
    benchmark_option(sub, "mfollowir")
    table_options(sub)


def run_crosslingual(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.crosslingual import both_settings, crosslingual
    from toolkit.files.formats import read_run

    write(crosslingual(read_run(args.multi), read_run(args.cross), both_settings(args.benchmark)), args)


def measures_options(add: Add) -> None:
    sub = add(
        "measures", "compare how measures order runs: Kendall's tau-b, also with the gold document's movement", run_measures
    )
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs, two at least")
    judged_by(sub, None)
    measure_option(sub)
    table_options(sub)


def run_measures(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.measures import measures
    from toolkit.metrics.agreement import lay_out, long_forms

    judged = judgments_of(args)
    rows, notes = measures(named_apart(read_runs(args.runs, judged)), judged, args.measures)
    write_tables(lay_out(rows, notes), args, forms=long_forms(rows, notes))


def power_options(add: Add) -> None:
    sub = add("power", "find the smallest difference that a benchmark shows, and how many core queries others need", run_power)
    judged_by(sub, None)
    several = {"nargs": "+", "action": "extend", "default": []}
    runs = "run files of systems like yours, two or more: differences between them are drawn (default: the registered runs)"
    sub.add_argument("--run", metavar="RUN", help=runs, **several)
    measure_option(sub)
    wanted = "differences of a measure whose number of core queries is wanted (default: 0.01 0.02 0.05)"
    sub.add_argument("--difference", type=float, metavar="X", help=wanted, **several)
    share = "in which share of samples a difference is to be shown (default: 0.8)"
    sub.add_argument("--power", type=float, default=0.8, metavar="P", help=share)
    table_options(sub)


def run_power(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.power import DIFFERENCES, power_table

    how = {"measures": args.measures, "share": args.power}
    modes = args.modes and dict(args.modes)
    differences = args.difference or DIFFERENCES
    write_tables(power_table(args.run, args.benchmark, args.qrels, modes, differences=differences, **how), args)


def stance_options(add: Add) -> None:
    sub = add(
        "stance",
        "show which side of a question a run retrieves, and whether it follows the side that the query takes",
        run_stance,
    )
    sub.add_argument("question", metavar="RUN", help="run of the questions")
    sub.add_argument("--supporting", metavar="RUN", help="run of the supporting perspectives, under the questions' ids")
    sub.add_argument("--opposing", metavar="RUN", help="run of the opposing perspectives, under the questions' ids")
    sub.add_argument("--perspectives", metavar="RUN", help="instead of both: a run of all perspectives, `<question>.<n>`")
    perspectives_judged_by(sub)
    sub.add_argument(
        "--stances", metavar="TSV", help="query id, tab, the perspective that supports (default: the first of the two)"
    )
    cutoff_option(sub, 5)
    by_query_option(sub)
    table_options(sub)


def run_stance(args: argparse.Namespace) -> None:
    from toolkit.evaluation.analyses.stance import stance
    from toolkit.evaluation.scores.stance import FORMS, by_stance, read_stances
    from toolkit.files.formats import read_run

    if args.perspectives and (args.supporting or args.opposing):
        raise ToolkitError("the perspectives' runs are named twice", "--perspectives, or --supporting and --opposing")
    judged = perspective_judgments(args)
    stances = read_stances(args.stances) if args.stances else None
    forms = [form for form in FORMS if getattr(args, form)]
    runs = dict(zip(forms, read_runs([getattr(args, form) for form in forms], judged), strict=True))
    if args.perspectives:
        runs |= by_stance(read_run(args.perspectives), judged, stances)
    write(stance(runs, judged, stances, cutoff=args.cutoff, by_query=args.by_query), args, by_query=args.by_query)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
