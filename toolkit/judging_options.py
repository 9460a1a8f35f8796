"""Options of evaluation: what judges runs, by which measures, and how differences are tested."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.options import depth_option, with_default

if TYPE_CHECKING:
    from toolkit.evaluation.comparison.comparison import Testing


def by_query_option(group: argparse._ActionsContainer) -> None:
    """`--by-query`."""
    group.add_argument("--by-query", action="store_true", help="also the values of each query")


def baseline_option(group: argparse._ActionsContainer, default: str = "", **how: Any) -> None:
    """`--baseline`; default: what is taken without it."""
    text = "the run that others are compared with, by tag or file: what differs is marked, with intervals"
    group.add_argument("--baseline", metavar="RUN", help=with_default(text, default), **how)


def judgment_options(parser: argparse.ArgumentParser, *, benchmarks: bool = False) -> None:
    """What runs are evaluated against, and to which depth: evaluate, diff and report; `benchmarks`: one or more of them."""
    benchmark_option(parser, **({"nargs": "+", "action": "extend"} if benchmarks else {}))
    qrels_option(parser)
    mode_option(parser)
    measure_option(parser)
    depth_option(parser, None, "all")
    unjudged = "unanswered pairs of a document and a perspective (label -1): refused (default), or counted as negative"
    parser.add_argument("--unjudged", choices=("refuse", "negative"), default="refuse", help=unjudged)
    ids_option(parser, "tandem")
    missing_option(parser)


def ori_unit_option(group: argparse._ActionsContainer) -> None:
    """`--ori-unit`."""
    text = "what counts once in means over the base mode: each instruction, or each core query, as in InfoSearch's table 1"
    group.add_argument("--ori-unit", choices=("instruction", "core"), default="instruction", help=text)


def missing_option(group: argparse._ActionsContainer) -> None:
    """`--missing`: None where it is not given."""
    text = "queries that a run lacks: their worst value, left out, or an error (default: worst)"
    group.add_argument("--missing", choices=("worst", "skip", "error"), help=text)


def benchmark_option(group: argparse._ActionsContainer, default: str | None = None, **how: Any) -> None:
    """`--benchmark`; `how` makes a list of it."""
    text = with_default("a benchmark, one of its groups or modes, or an ir_datasets id", default)
    group.add_argument("--benchmark", default=None if how else default, metavar="ID", help=text, **how)


def qrels_option(group: argparse._ActionsContainer) -> None:
    """`--qrels`: a list, or None."""
    text = "qrels files (TREC, or BEIR's TSV), each as F or MODE=F"
    group.add_argument("--qrels", nargs="+", action="extend", metavar="QRELS", help=text)


def judged_options(parser: argparse.ArgumentParser, default: str | None = None, *, required: bool = False) -> None:
    """`--benchmark`, or `--qrels` with their `--modes`: what judges runs. default: the benchmark that is taken without them."""
    against = parser.add_mutually_exclusive_group(required=required)
    benchmark_option(against, default)
    qrels_option(against)
    mode_option(parser)


def measure_option(group: argparse._ActionsContainer) -> None:
    """`-m`, `--measure`: a list in `measures`, or None."""
    several = {"dest": "measures", "nargs": "+", "action": "extend", "metavar": "MEASURE"}
    group.add_argument("-m", "--measure", help="measures, as in ir_measures: nDCG@10 WISE@20", **several)


def ids_option(group: argparse._ActionsContainer, default: str | None) -> None:
    """`--ids`; None leaves them as they are."""
    text = with_default("query ids: Tandem's, which carry the mode, or as published", default or "as they are")
    group.add_argument("--ids", choices=("tandem", "published"), default=default, help=text)


def stances_option(group: argparse._ActionsContainer) -> None:
    """`--stances`."""
    text = "query id, tab, the perspective that supports (default: the first of the two)"
    group.add_argument("--stances", metavar="TSV", help=text)


def mode_option(parser: argparse._ActionsContainer) -> None:
    """`--modes`: as (name, role) pairs."""
    text = "modes that query ids end in (q1-NAME), each with its role: base, instructed, reversed"
    parser.add_argument("--modes", nargs="+", action="extend", type=_name_and_role, metavar="NAME=ROLE", help=text)


def _name_and_role(given: str) -> tuple[str, str]:
    name, _, role = given.partition("=")
    return name, role


def significance_options(group: argparse._ArgumentGroup) -> None:
    """Whether a difference is chance, for `testing_of`: `--primary`, `--test`, `--samples`, `--seed`."""
    primary_option(group)
    text = "t: Student's, over core queries (default); the papers' own: randomisation of signs (studentised), and wilcoxon, "
    text += "which tests something else than the printed mean"
    group.add_argument("--test", choices=("t", "randomisation", "wilcoxon"), default="t", help=text)
    text = "with --test randomisation: assignments of signs that are drawn (default: 10000; all of them up to 16 core queries)"
    group.add_argument("--samples", type=int, metavar="N", help=text)
    seed_option(group)


def primary_option(group: argparse._ActionsContainer) -> None:
    """`--primary`."""
    text = "numbers of the average that are marked or decide: nDCG@10-ins, WISE@20 (default: the benchmark's leading one)"
    group.add_argument("--primary", nargs="+", action="extend", default=[], metavar="MEASURE[-MODE]", help=text)


def testing_of(args: argparse.Namespace) -> Testing:
    """What `significance_options` say. Raises ToolkitError for draws of a test that draws nothing."""
    from toolkit.evaluation.comparison.comparison import Testing

    drawn = {name: getattr(args, name) for name in ("samples", "seed") if getattr(args, name) is not None}
    given = [name for name, value in drawn.items() if value]
    if given and args.test != "randomisation":
        raise ToolkitError(f"--test {args.test} draws nothing", f"leave --{given[0]} out, or --test randomisation")
    return Testing(args.test, primary=tuple(args.primary), **drawn)


def seed_option(group: argparse._ActionsContainer) -> None:
    """`--seed`."""
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
