"""show what changed between runs, by how much, and whether it is more than chance

examples:
  tandem diff bm25.trec minilm.trec --benchmark infosearch-mini
  tandem diff a.trec b.trec c.trec --qrels qrels.txt -m nDCG@10 -m AP --relative
  tandem diff a.trec b.trec

Each run is compared with the first, by the benchmark that their records name where none is. Without a benchmark or qrels, and
with --rankings, rankings alone are compared. Exit status: 0 where all are identical,
1 where one differs, 2 for anything else, as diff has it.
"""

import argparse
import sys

from toolkit.core.system.files import write_text
from toolkit.judging_options import judgment_options, significance_options, testing_of
from toolkit.options import table_options, text_options, topics_option
from toolkit.parsers import command, options_of
from toolkit.printing import note, write_tables
from toolkit.shell import guard, refusals


def parser() -> argparse.ArgumentParser:
    made = command("diff", __doc__)
    made.add_argument("runs", nargs="+", metavar="RUN", help="run files in any format, two at least")
    judgment_options(made)
    made.add_argument("--rankings", action="store_true", help="compare rankings alone, whatever benchmark the records name")
    made.add_argument("--relative", action="store_true", help="also changes in per cent of the first run's values")
    significance_options(made.add_argument_group("significance"))
    moved = made.add_argument_group("queries that moved")
    moved.add_argument("--top", type=int, default=5, metavar="N", help="number of queries shown (default: 5)")
    moved.add_argument("--by", metavar="MEASURE", help="measure that they are ordered by (default: the first)")
    page = made.add_argument_group("HTML page")
    page.add_argument("--html", metavar="F", help="write one page: these tables, queries, rankings side by side, texts")
    topics_option(page, "the benchmark's")
    text_options(page)
    table_options(made)
    made.add_argument("--exit-zero", action="store_true", help="exit with 0 where runs differ, too")
    return made


def main(args: argparse.Namespace) -> int:
    with refusals():  # 1 says that runs differ
        from toolkit.reporting.diff.compare_runs import diff, load, page
        from toolkit.reporting.diff.diff_output import lay_out, to_csv, to_json

        given = load(**options_of(args, load))
        pairs = diff(**options_of(args, diff) | {"runs": given, "testing": testing_of(args)})
        html = page(given, pairs, **options_of(args, page) | {"notes": ()}) if args.html else ""
        tables = [table for pair in pairs for table in lay_out(pair, relative=args.relative)]
        write_tables(tables, args, forms={"json": lambda: to_json(pairs), "csv": lambda: to_csv(pairs)})
        if html:
            write_text(args.html, html)
            note(f"written: {args.html} ({len(html.encode()) / 1e6:.1f} MB)")
    return 0 if args.exit_zero or all(pair.identical for pair in pairs) else 1


if __name__ == "__main__":
    sys.exit(guard(parser, main))
