"""list the measures, and show what each rewards, needs and cannot do

examples:
  tandem measures list
  tandem measures show WISE
"""

from __future__ import annotations

import argparse
import sys

from toolkit.options import table_options
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
    return result


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def list_all(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.measure_card import listing

    write_tables(listing(), args)


def show(args: argparse.Namespace) -> None:
    from toolkit.measure_cards.measure_card import as_table, card

    write_tables(as_table(card(args.name)), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
