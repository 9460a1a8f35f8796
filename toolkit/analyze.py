"""measure what order, wording and overlap do to runs, what instructions are made of, and what differences show"""

import argparse
import sys
from importlib import import_module
from inspect import signature
from typing import Any

from toolkit import judging_options as judging
from toolkit.core.errors import ToolkitError
from toolkit.model_options import endpoint_options, systems_option, trust_python_option
from toolkit.options import depth_option, table_options, topics_option
from toolkit.parsers import command, main, subcommands
from toolkit.printing import write_tables
from toolkit.shell import guard

BENCHMARK = "instructir"
SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend"}


def parser() -> argparse.ArgumentParser:
    made = command("analyze", __doc__)
    add = subcommands(made)
    for subcommand, options in SUBCOMMANDS.items():
        sub = add(subcommand, options.__doc__, run)
        options(sub)
        sub.set_defaults(own=sub.names(), default=sub.get_default("benchmark"))
        table_options(sub)
    return made


def run(args: argparse.Namespace) -> None:
    """Show what the analysis of a subcommand makes of its own options, which are called as the parameters are.

    Most take what judges their runs as one thing, `judged`.
    """
    analysis = import_module(f"toolkit.evaluation.analyses.{args.subcommand}")
    given = {name: getattr(args, name) for name in args.own}
    if "judged" in signature(analysis.tables).parameters:
        from toolkit.evaluation.scores.judgments import judged_by

        benchmark, qrels, modes = (given.pop(name) for name in ("benchmark", "qrels", "modes"))
        if not qrels and not benchmark:
            raise ToolkitError("there are no judgments of the runs", "name --qrels, --benchmark, or both")
        # a benchmark that nobody named gives way to qrels
        given["judged"] = judged_by(None if qrels and benchmark == args.default else benchmark, qrels, modes)
    tables, forms = analysis.tables(**given)
    write_tables(tables, args, forms=forms)


def perspective_options(sub: argparse.ArgumentParser) -> None:
    """`--qrels` and `--benchmark`, which may stand together: judgments of one's own for the benchmark's groups; `--modes`."""
    judging.qrels_option(sub)
    judging.benchmark_option(sub)
    judging.mode_option(sub)


def instruction_options(sub: argparse.ArgumentParser, **how: Any) -> None:
    """`--benchmark` or `--topics`: whose instructions are looked at."""
    given = sub.add_mutually_exclusive_group()
    judging.benchmark_option(given, BENCHMARK, **how)
    topics_option(given)


def cutoff_option(sub: argparse.ArgumentParser, default: int) -> None:
    """`--cutoff`."""
    text = f"how many of the best documents of each query count (default: {default})"
    sub.add_argument("--cutoff", type=int, default=default, metavar="K", help=text)


def order_options(sub: argparse.ArgumentParser) -> None:
    """compare instruction first with query first: nDCG, Robustness, paired differences"""
    sub.add_argument("first", metavar="RUN_INSTRUCTION_FIRST", help="run of the queries as the benchmark has them")
    sub.add_argument("second", metavar="RUN_QUERY_FIRST", help="run of the same queries in the other order")
    judging.judged_options(sub, BENCHMARK)
    cutoff_option(sub, 10)
    judging.by_query_option(sub)


def paraphrase_options(sub: argparse.ArgumentParser) -> None:
    """compare instructions with paraphrases of them: spread and worst case of nDCG"""
    sub.add_argument("run", metavar="RUN", help="run of the instructions")
    sub.add_argument("reworded", metavar="PARAPHRASE_RUN", help="run of their paraphrases")
    judging.judged_options(sub, BENCHMARK)
    sub.add_argument("--paraphrase-qrels", metavar="QRELS", help="with --qrels: qrels files of the paraphrases", **SEVERAL)
    cutoff_option(sub, 10)
    judging.by_query_option(sub)


def overlap_options(sub: argparse.ArgumentParser) -> None:
    """score runs without the instances that a lexical run solves, and without as many by chance"""
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs to score")
    sub.add_argument("--filter-run", required=True, metavar="F", help="the lexical run")
    text = "how many of its best documents of each query count (default: 10)"
    sub.add_argument("--filter-depth", type=int, default=10, metavar="N", help=text)
    judging.judged_options(sub, BENCHMARK)
    cutoff_option(sub, 10)
    judging.seed_option(sub)


def diversity_options(sub: argparse.ArgumentParser) -> None:
    """measure how unlike the instructions of one query are: ROUGE-L over all pairs"""
    instruction_options(sub)
    judging.by_query_option(sub)


def dimension_options(sub: argparse.ArgumentParser) -> None:
    """count which of InfoSearch's six dimensions the instructions of benchmarks speak of"""
    instruction_options(sub, **SEVERAL)
    text = "a judge for instructions that no rule labels: of the registry, a folder or a Hugging Face id"
    sub.add_argument("--judge", metavar="S", help=text)
    systems_option(sub)
    trust_python_option(sub)
    endpoint_options(sub)
    judging.by_query_option(sub)


def coverage_options(sub: argparse.ArgumentParser) -> None:
    """count how many documents it takes until every perspective is seen, and how often all are"""
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs; of several also the union")
    perspective_options(sub)
    depth_option(sub, 100)
    judging.by_query_option(sub)


def stance_options(sub: argparse.ArgumentParser) -> None:
    """show which side of a question a run retrieves, and whether it follows the side that the query takes"""
    sub.add_argument("question", metavar="RUN", help="run of the questions")
    sub.add_argument("--supporting", metavar="RUN", help="run of the supporting perspectives, under the questions' ids")
    sub.add_argument("--opposing", metavar="RUN", help="run of the opposing perspectives, under the questions' ids")
    sub.add_argument("--perspectives", metavar="RUN", help="instead of both: a run of all perspectives, `<question>.<n>`")
    perspective_options(sub)
    judging.stances_option(sub)
    cutoff_option(sub, 5)
    judging.by_query_option(sub)


def crosslingual_options(sub: argparse.ArgumentParser) -> None:
    """compare queries in the documents' language with English ones, side by side"""
    sub.add_argument("multi", metavar="MULTI", help="run of the queries in the documents' language")
    sub.add_argument("cross", metavar="CROSS", help="run of the English queries")
    judging.benchmark_option(sub, "mfollowir")


def agreement_options(sub: argparse.ArgumentParser) -> None:
    """compare how measures order runs: Kendall's tau-b, also with the gold document's movement"""
    sub.add_argument("runs", nargs="+", metavar="RUN", help="runs, two at least")
    judging.judged_options(sub, required=True)
    judging.measure_option(sub)


def power_options(sub: argparse.ArgumentParser) -> None:
    """find the smallest difference that a benchmark shows, and how many core queries others need"""
    judging.judged_options(sub, required=True)
    runs = "run files of systems like yours, two or more: differences between them are drawn (default: the registered runs)"
    sub.add_argument("--run", dest="runs", metavar="RUN", default=[], help=runs, **SEVERAL)
    judging.measure_option(sub)
    wanted = "differences of a measure whose number of core queries is wanted (default: 0.01 0.02 0.05)"
    sub.add_argument("--difference", dest="differences", type=float, metavar="X", default=[], help=wanted, **SEVERAL)
    share = "in which share of samples a difference is to be shown (default: 0.8)"
    sub.add_argument("--power", dest="share", type=float, default=0.8, metavar="P", help=share)


# name of the subcommand, and of its module in `toolkit.evaluation.analyses` -> its options, under its line of help
SUBCOMMANDS = {
    "order": order_options,
    "paraphrase": paraphrase_options,
    "overlap": overlap_options,
    "diversity": diversity_options,
    "dimensions": dimension_options,
    "coverage": coverage_options,
    "stance": stance_options,
    "crosslingual": crosslingual_options,
    "measures": agreement_options,
    "power": power_options,
}


if __name__ == "__main__":
    sys.exit(guard(parser, main))
