"""report runs: one page with tables, plots and queries, or tables and figures for papers

examples:
  tandem report bm25.trec minilm.trec --benchmark infosearch-mini --output report.html
  tandem report runs/*.trec --benchmark infosearch-mini instructir-mini --output report.html
  tandem report bm25.trec minilm.trec --benchmark infosearch-mini --format latex --tables main --width column
  tandem report bm25.trec minilm.trec --benchmark infosearch-mini --plots figures
  tandem report runs/*.trec --benchmark infosearch-mini instructir-mini --site public

Of several benchmarks, each run is judged by the one whose queries it has. With --plots alone only figures are written.
"""

import argparse
import sys

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import write_text
from toolkit.core.tables.aligned_table import TableStyle
from toolkit.judging_options import baseline_option, judgment_options, ori_unit_option, stances_option
from toolkit.options import number_options, text_options
from toolkit.parsers import command, options_of
from toolkit.printing import note
from toolkit.reporting.tables.text_table import KINDS, check_kinds
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    made = command("report", __doc__)
    made.add_argument("runs", nargs="+", metavar="RUN", help="run files in any format: [MODE=]F")
    judgment_options(made, benchmarks=True)
    ori_unit_option(made)
    text = "runs of the perspectives of questions (ids <question>.<n>) by the systems whose runs of the questions are given"
    made.add_argument("--perspectives", nargs="+", action="extend", default=[], metavar="RUN", help=text)
    stances_option(made)
    baseline_option(made, "BM25's, or the first")
    text_options(made)
    text = "x axis of the plots of quality (default: parameters)"
    made.add_argument("--x", choices=("parameters", "seconds", "tokens", "memory"), default="parameters", help=text)
    made.add_argument("--radar", action="store_true", help="also a radar plot, of benchmarks of five groups or more")
    text = "also the numbers that the benchmark's paper prints, beside ours"
    made.add_argument("--published", action="store_true", help=text)
    made.add_argument("--claims", action="store_true", help="also what the benchmark's paper claims, and whether it holds")
    made.add_argument("--plots", metavar="DIR", help="also write every figure as PDF, SVG and PNG")
    text = "how results are written (default: html)"
    made.add_argument("--format", choices=("html", "latex", "markdown", "csv"), default="html", help=text)
    made.add_argument("--output", metavar="F", help="where to write (default: standard output)")
    paper = made.add_argument_group("for papers")
    text = f"of latex, markdown and csv, in this order: {', '.join(KINDS)} (default: all that there are)"
    paper.add_argument("--tables", metavar="NAME,...", help=text)
    paper.add_argument("--transpose", action="store_true", help="measures as rows, systems as columns: latex and markdown")
    text = "of tables in latex, and of figures: one column, or the page of a paper (default: a column where a table fits one; "
    paper.add_argument("--width", choices=("column", "page"), help=text + "figures: page)")
    number_options(paper, 3)
    site = made.add_argument_group("a site")
    text = "write a static site of all benchmarks and systems, with the runs: a new folder, or a site, which is updated"
    site.add_argument("--site", metavar="DIR", help=text)
    text = "also a page of two runs or systems side by side, on every benchmark that has both"
    site.add_argument("--pair", nargs=2, action="append", default=[], metavar=("A", "B"), help=text)
    return made


def main(args: argparse.Namespace) -> None:
    if args.site or args.pair:
        _write_site(args)
        return
    from toolkit.reporting.report.collect import collect
    from toolkit.reporting.report.make_report import report, to_html, to_text

    kinds = args.tables.split(",") if args.tables is not None else []
    check_kinds(kinds)
    _check_format(args)
    missing = args.missing or "worst"
    named = {name: getattr(args, name) or name in kinds for name in ("published", "claims")}
    models = collect(benchmarks=args.benchmark or (), whole=any(named.values()), **options_of(args, collect))
    if named["published"] and args.benchmark:
        from toolkit.evaluation.comparison.paper_comparison import check_judged

        check_judged(args.benchmark[0], args.qrels)
    if args.plots:
        from pathlib import Path

        from toolkit.reporting.figures.drawing import save

        for path in save(models, Path(args.plots), args.width or "page"):
            note(f"written: {path}")
    if args.plots and args.output is None:
        return
    made = report(models, missing=missing, style=TableStyle(percent=args.percent, decimals=args.decimals), **named)
    if args.format == "html":
        text = to_html(made, index=args.index, docs=args.docs, missing=missing)
    else:
        text = to_text(made, args.format, tables=kinds, transpose=args.transpose, width=args.width)
        for line in dict.fromkeys(line for each in models for line in each.notes):
            note(line)
    write_text(args.output or "-", text)
    if args.output not in (None, "-"):
        note(f"written: {args.output} ({len(text.encode()) / 1e6:.1f} MB)")


def _check_format(args: argparse.Namespace) -> None:
    """ToolkitError for options that the format has not, before anything is read."""
    for given, option, formats in (
        (args.tables is not None, "--tables", ("latex", "markdown", "csv")),
        (args.transpose, "--transpose", ("latex", "markdown")),
        (args.width and not args.plots, "--width", ("latex",)),
    ):
        if given and args.format not in formats:
            raise ToolkitError(f"{option} is not for --format {args.format}", f"use it with {' or '.join(formats)}")


def _write_site(args: argparse.Namespace) -> None:
    if not args.site:
        raise ToolkitError("--pair is of a site", "name its folder with --site DIR")
    if args.output or args.plots or args.format != "html":
        raise ToolkitError("--site writes a folder of pages, without --format, --output or --plots", "leave them out")
    if args.percent or args.decimals is not None:
        raise ToolkitError("--site writes fractions with the digits of a page: no --percent, --decimals", "leave them out")
    _check_format(args)
    from toolkit.reporting.site.make_site import report_site

    pairs = [(first, second) for first, second in args.pair]
    written = report_site(**options_of(args, report_site) | {"output": args.site, "pairs": pairs})
    note(f"written: {args.site} ({written.files} files: {written.changed} new or changed, {written.removed} removed)")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
