"""list the measures, and show what each rewards, needs and cannot do

examples:
  tandem measures list
  tandem measures show WISE
  tandem measures axioms
  tandem measures references infosearch-mini
  tandem measures rounding bm25.trec --benchmark infosearch-mini
"""

from __future__ import annotations

import argparse
import sys

from toolkit.options import benchmark_option, measure_option, mode_option, qrels_option, table_options
from toolkit.shell import command, guard, subcommands, write_tables

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    result = command("measures", SUMMARY, EXAMPLES)
    add = subcommands(result)
    list_parser = add("list", "list every measure that Tandem adds to ir_measures", list_all)
    table_options(list_parser, numbers=False, tsv=True)
    show_parser = add("show", "show the card of one measure", show)
    show_parser.add_argument("name", metavar="NAME", help="a measure (WISE, p-MRR)")
    table_options(show_parser, numbers=False)
    axioms_parser = add("axioms", "show which measure meets what may be expected of one", axioms)
    table_options(axioms_parser, numbers=False)
    references_parser = add("references", "score what ignores, follows or inverts instructions", references)
    references_parser.add_argument("ids", nargs="*", metavar="ID", help="benchmarks (default: all that are on this machine)")
    measure_option(references_parser)
    table_options(references_parser)
    rounding_parser = add("rounding", "compare the values of runs with those of their rounded scores", rounding)
    rounding_parser.add_argument("runs", metavar="RUN", nargs="+", help="a run file")
    judged = rounding_parser.add_mutually_exclusive_group()
    benchmark_option(judged)
    qrels_option(judged)
    mode_option(rounding_parser)
    measure_option(rounding_parser)
    digits = "digits after the point that scores keep (default: 3)"
    rounding_parser.add_argument("--digits", type=int, choices=range(17), default=3, metavar="N", help=digits)
    table_options(rounding_parser)
    return result


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def list_all(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.measure_card import listing

    write_tables(listing(), args)


def show(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.card_tables import tables_of
    from toolkit.measure_cards.measure_card import as_table, card

    found = card(args.name)
    tables = [as_table(found), *tables_of(found.name)]
    write_tables(tables, args)


def axioms(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.axiom_tables import overview

    write_tables(overview(), args)


def references(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.reference_scores import reference_scores

    write_tables(reference_scores(args.ids, args.measures), args)


def rounding(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.rounding import rounding as rounded

    judged = {"benchmark": args.benchmark, "qrels": args.qrels, "modes": dict(args.modes) if args.modes else None}
    write_tables(rounded(args.runs, **judged, measures=args.measures, digits=args.digits), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
