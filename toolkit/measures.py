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

from toolkit.judging_options import judged_options, measure_option, seed_option
from toolkit.options import table_options
from toolkit.parsers import command, main, options_of, subcommands
from toolkit.printing import write_tables
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    result = command("measures", __doc__)
    add = subcommands(result)
    table_options(add("list", "list every measure that Tandem adds to ir_measures", list_all), numbers=False, tsv=True)
    show_parser = add("show", "show the card of one measure", show)
    show_parser.add_argument("name", metavar="NAME", help="a measure (WISE, p-MRR)")
    table_options(show_parser, numbers=False)
    table_options(add("axioms", "show which measure meets what may be expected of one", axioms), numbers=False)
    references_parser = add("references", "score what ignores, follows or inverts instructions", references)
    text = "benchmarks or groups of them (default: all that are on this machine)"
    references_parser.add_argument("ids", nargs="*", metavar="ID", help=text)
    measure_option(references_parser)
    table_options(references_parser)
    sensitivity_parser = add("sensitivity", "show what fewer digits, other ties and shorter lists change", sensitivity)
    sensitivity_parser.add_argument("runs", metavar="RUN", nargs="+", help="a run file")
    judged_options(sensitivity_parser)
    measure_option(sensitivity_parser)
    digits = "digits after the point that scores keep (default: 3)"
    sensitivity_parser.add_argument("--digits", type=int, choices=range(17), default=3, metavar="N", help=digits)
    depths = "documents of a list that are kept (default: 100 20 10)"
    sensitivity_parser.add_argument("--depths", type=int, nargs="+", default=[100, 20, 10], metavar="N", help=depths)
    table_options(sensitivity_parser)
    summary = "show how many core queries a measure needs to decide between two runs"
    discrimination_parser = add("discrimination", summary, discrimination)
    runs = "a run file (default: the registered runs of the benchmark)"
    discrimination_parser.add_argument("runs", metavar="RUN", nargs="*", help=runs)
    judged_options(discrimination_parser)
    measure_option(discrimination_parser)
    seed_option(discrimination_parser)
    table_options(discrimination_parser)
    return result


def list_all(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.measure_card import listing

    write_tables(listing(), args)


def show(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.card_tables import tables_of
    from toolkit.studies.measure_cards.measure_card import as_table, measure_card

    found = measure_card(args.name)
    write_tables([as_table(found), *tables_of(found.name)], args)


def axioms(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.card_tables import measure_axioms

    write_tables(measure_axioms(), args)


def references(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.reference_scores import measure_references

    write_tables(measure_references(args.ids, measures=args.measures), args)


def sensitivity(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.sensitivity import measure_sensitivity

    write_tables(measure_sensitivity(**options_of(args, measure_sensitivity)), args)


def discrimination(args: argparse.Namespace) -> None:
    from toolkit.studies.measure_cards.discrimination import measure_discrimination

    write_tables(measure_discrimination(**options_of(args, measure_discrimination) | {"runs": args.runs or None}), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
