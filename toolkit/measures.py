"""list the measures, and show what each rewards, needs and cannot do

examples:
  tandem measures list
  tandem measures show WISE
  tandem measures axioms
  tandem measures references infosearch-mini
  tandem measures sensitivity bm25.trec --benchmark infosearch-mini
  tandem measures discrimination --benchmark infosearch-mini -m WISE pMRR
"""

import argparse
import sys
from importlib import import_module

from toolkit.judging_options import judged_options, measure_option, seed_option
from toolkit.options import table_options
from toolkit.parsers import command, main, options_of, subcommands
from toolkit.printing import write_tables
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    result = command("measures", __doc__)
    add = subcommands(result)
    table_options(add("list", "list every measure that Tandem adds to ir_measures", tabulate), numbers=False, tsv=True)
    show_parser = add("show", "show the card of one measure", show)
    show_parser.add_argument("name", metavar="NAME", help="a measure (WISE, p-MRR)")
    table_options(show_parser, numbers=False)
    table_options(add("axioms", "show which measure meets what may be expected of one", tabulate), numbers=False)
    references_parser = add("references", "score what ignores, follows or inverts instructions", tabulate)
    text = "benchmarks or groups of them (default: all that are on this machine)"
    references_parser.add_argument("names", nargs="*", metavar="ID", help=text)
    measure_option(references_parser)
    table_options(references_parser)
    sensitivity_parser = add("sensitivity", "show what fewer digits, other ties and shorter lists change", tabulate)
    sensitivity_parser.add_argument("runs", metavar="RUN", nargs="+", help="a run file")
    judged_options(sensitivity_parser)
    measure_option(sensitivity_parser)
    digits = "digits after the point that scores keep (default: 3)"
    sensitivity_parser.add_argument("--digits", type=int, choices=range(17), default=3, metavar="N", help=digits)
    depths = "documents of a list that are kept (default: 100 20 10)"
    sensitivity_parser.add_argument("--depths", type=int, nargs="+", default=[100, 20, 10], metavar="N", help=depths)
    table_options(sensitivity_parser)
    summary = "show how many core queries a measure needs to decide between two runs"
    discrimination_parser = add("discrimination", summary, tabulate)
    runs = "a run file (default: the registered runs of the benchmark)"
    discrimination_parser.add_argument("runs", metavar="RUN", nargs="*", help=runs)
    judged_options(discrimination_parser)
    measure_option(discrimination_parser)
    seed_option(discrimination_parser)
    table_options(discrimination_parser)
    return result


def tabulate(args: argparse.Namespace) -> None:
    """Show the table of a subcommand, made of its options, which are called as the parameters are.

    A list that nobody gave is empty: what makes the table has a value of its own for it.
    """
    module, _, name = TABLES[args.subcommand].partition(":")
    table = getattr(import_module(f"toolkit.studies.measure_cards.{module}"), name)
    write_tables(table(**{option: value for option, value in options_of(args, table).items() if value != []}), args)


def show(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.card_tables import tables_of
    from toolkit.studies.measure_cards.measure_card import as_table, measure_card

    found = measure_card(args.name)
    write_tables([as_table(found), *tables_of(found.name)], args)


# subcommand -> module in `toolkit.studies.measure_cards` and what makes its table
TABLES = {
    "list": "measure_card:listing",
    "axioms": "card_tables:measure_axioms",
    "references": "reference_scores:measure_references",
    "sensitivity": "sensitivity:measure_sensitivity",
    "discrimination": "discrimination:measure_discrimination",
}


if __name__ == "__main__":
    sys.exit(guard(parser, main))
