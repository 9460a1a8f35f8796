"""score runs: the paper's table of a benchmark, or any measures of any run and qrels

examples:
  tandem evaluate runs/bm25.trec --benchmark infosearch-mini --references
  tandem evaluate --run ori=a.trec ins=b.trec rev=c.trec --benchmark infosearch-audience --by-query --format csv
  tandem evaluate run.trec --qrels qrels.txt -m nDCG@10 -m AP
  tandem evaluate run.trec --qrels qrels.txt --modes plain=base pos=instructed neg=reversed -m WISE
  tandem evaluate run.trec --benchmark berds --qrels judged.txt --by-type
  tandem evaluate run.trec --benchmark infosearch-mini --explain audience-001-1
  tandem evaluate run.trec --benchmark infosearch --published
  tandem evaluate bm25.trec other.trec --benchmark infosearch-mini --baseline bm25.trec --format latex

MODE is one of the benchmark's modes, of --modes, or of a benchmark of the registry (ori, ins, rev, og, changed); anything
else before a = belongs to the file's name. Files of one tag with disjoint
query ids are parts of one run, otherwise each file is a run. A run without any query of a mode is refused; --missing worst
counts each of them its worst value. Scores are fractions; --percent shows
them times 100.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from toolkit import judging_options as judging
from toolkit.core.errors import ToolkitError
from toolkit.options import table_options
from toolkit.parsers import command
from toolkit.printing import write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.evaluation.comparison.comparison import Baseline
    from toolkit.evaluation.scores.evaluation import Evaluation


def parser() -> argparse.ArgumentParser:
    made = command("evaluate", __doc__)
    made.add_argument("runs", nargs="*", metavar="RUN", help="run files in any format: [MODE=]F")
    made.add_argument("--run", nargs="+", action="extend", default=[], metavar="RUN", help="the same, as an option")
    judging.judgment_options(made)
    judging.ori_unit_option(made)
    judging.by_query_option(made)
    made.add_argument("--by-type", action="store_true", help="also a row for each type of question")
    text = "also what blind, random, oracle and reversed rankings would score"
    made.add_argument("--references", action="store_true", help=text)
    made.add_argument("--intervals", action="store_true", help="also where each value may lie: 95 %%, over core queries")
    text = "ranks of the documents of one query in each mode, and the values that follow from them"
    made.add_argument("--explain", metavar="QUERY", help=text)
    text = "compare with the paper's numbers for the run's system, or for this one (of the registry, or as the paper has it)"
    made.add_argument("--published", nargs="?", const="", metavar="SYSTEM", help=text)
    text = "where each number stands among the published ones of all systems (followir: 200 models), and who stands next to it"
    made.add_argument("--standing", action="store_true", help=text)
    against = made.add_argument_group("compared with one of the runs")
    judging.baseline_option(against, action="append")
    judging.significance_options(against)
    table_options(made, "trec", "mteb")
    return made


def main(args: argparse.Namespace) -> None:
    given = [*args.runs, *args.run]
    if not given:
        raise ToolkitError("no run is named", "tandem evaluate RUN --benchmark ID")
    from toolkit.evaluation.scores.evaluation import prepare

    every_mode, args.missing = args.missing != "worst", args.missing or "worst"
    how = {"modes": args.modes and dict(args.modes), "measures": args.measures, "every_mode": every_mode}
    prepared = prepare(given, args.benchmark, args.qrels, args.depth, args.ids, args.unjudged, **how)
    args.benchmark = prepared.benchmark
    published = args.standing or args.published is not None
    if args.baseline and (args.explain or published):
        raise ToolkitError("--baseline marks the table of scores", "leave --explain, --published and --standing out")
    if args.explain:
        if args.format == "trec":
            raise ToolkitError("trec_eval has no explanations", "--format table, json or csv")
        write_tables(prepared.explain(args.explain), args)
        return
    if published:
        _published(prepared, args)
        return
    from toolkit.evaluation.scores.score_output import long_forms
    from toolkit.evaluation.scores.score_table import lay_out

    if args.intervals and args.format in ("trec", "mteb"):
        raise ToolkitError(f"--format {args.format} has no place for intervals", "--format table, csv, json or latex")
    more = {"by_query": args.by_query, "by_type": args.by_type, "references": args.references}
    more |= {"intervals": args.intervals, "ori_unit": args.ori_unit}
    each = [prepared.scores(args.measures, missing=args.missing, baseline=one, **more) for one in _baselines(args)]
    scores = each[0]
    if len(each) > 1:
        tables = [replace(lay_out(one), title=f"against {name}") for one, name in zip(each, args.baseline, strict=True)]
        write_tables(tables, args)
        return
    from toolkit.evaluation.scores.mteb_results import to_mteb

    forms = {**long_forms(scores, by_query=args.by_query), "mteb": lambda: to_mteb(scores, args.benchmark)}
    write_tables(lay_out(scores), args, forms=forms)


def _baselines(args: argparse.Namespace) -> list[Baseline | None]:
    """Each with the others, over which its marks are corrected too."""
    if not args.baseline:
        return [None]
    if args.format == "trec":
        raise ToolkitError("trec_eval's lines have no place for markers", "--format table, latex, csv or json")
    from toolkit.evaluation.comparison.comparison import Baseline

    names, testing = list(dict.fromkeys(args.baseline)), judging.testing_of(args)
    return [Baseline(name, testing, tuple(other for other in names if other != name)) for name in names]


def _published(prepared: Evaluation, args: argparse.Namespace) -> None:
    from toolkit.evaluation.comparison.paper_comparison import check_judged, lay_out, long_forms, scores_beside, standing_table
    from toolkit.evaluation.scores.core_queries import CORE

    if args.standing and args.published is not None:
        raise ToolkitError("--standing is among all systems, --published beside one", "name one of the two")
    if args.ori_unit == CORE:
        raise ToolkitError("each printed number is compared in its own unit", "leave --ori-unit out")
    if args.by_query or args.by_type or args.references or args.intervals:
        options = "--by-query, --by-type, --references and --intervals"
        raise ToolkitError("papers print aggregates of systems", f"leave {options} out")
    if args.format == "trec":
        raise ToolkitError("published numbers have no format trec", "--format table, json, csv, latex or markdown")
    check_judged(args.benchmark, args.qrels)
    if args.standing:
        table, forms = standing_table(prepared, args.benchmark, args.measures, args.missing)
        write_tables(table, args, forms=forms)
        return
    rows, notes = scores_beside(prepared, args.benchmark, args.published, args.measures, args.missing)
    write_tables(lay_out(rows, notes), args, forms=long_forms(rows, notes))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
