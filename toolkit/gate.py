"""check that a run is no worse than a baseline by more than matters: pass, warn or fail, for continuous integration

examples:
  tandem gate baseline.trec new.trec --benchmark infosearch-mini
  tandem gate baseline.trec new.trec --qrels qrels.txt -m nDCG@10 RR@10 --min-effect 0.01
  tandem gate baseline.trec new.trec --primary WISE@20 nDCG@10-ins --min-effect 0.02 WISE@20=0.05 --strict --junit gate.xml

The benchmark's leading number of the average decides, or those of --primary, or of the measures that -m names.

Exit status: 0 where they pass or are undecided (with --strict: 1), 1 where one fails, 2 for anything else.
"""

import argparse
import sys

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_output
from toolkit.judging_options import judgment_options, primary_option
from toolkit.options import table_options
from toolkit.parsers import command, options_of
from toolkit.printing import write_tables
from toolkit.shell import guard, refusals


def parser() -> argparse.ArgumentParser:
    made = command("gate", __doc__)
    made.add_argument("baseline", nargs="?", metavar="BASELINE", help="the run to compare with, in any format")
    made.add_argument("run", metavar="RUN", help="the new run, in any format")
    made.add_argument("--baseline", dest="named", metavar="BASELINE", help="the run to compare with, where RUN stands alone")
    judgment_options(made)
    text = "the smallest difference that matters, of all measures or of one (default: the benchmark's own, or 0.02)"
    made.add_argument("--min-effect", nargs="+", action="extend", type=_effect, metavar="[MEASURE=]X", help=text)
    primary_option(made)
    made.add_argument("--groups", action="store_true", help="every group decides too, not the average alone")
    made.add_argument("--strict", action="store_true", help="what is undecided does not pass either")
    made.add_argument("--junit", metavar="F", help="also write a JUnit report")
    made.add_argument("--json", metavar="F", help="also write all numbers as JSON")
    table_options(made)
    return made


def _effect(given: str) -> tuple[str, float]:
    """`0.02`, `WISE@20=0.05`"""
    measure, _, effect = given.rpartition("=")
    try:
        return measure, float(effect)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{effect!r} is no number: X, or MEASURE=X") from None


def main(args: argparse.Namespace) -> int:
    from toolkit.evaluation.decisions.decision import gate
    from toolkit.evaluation.decisions.gate_output import to_junit, to_lines, to_records, to_table

    with refusals():  # 1 says that the run is worse
        if bool(args.named) == bool(args.baseline):
            raise ToolkitError("one baseline is needed", "tandem gate BASELINE RUN, or tandem gate RUN --baseline BASELINE")
        if "-" in (args.junit, args.json):
            raise ToolkitError("standard output has the table", "name a file, or --format json")
        given = options_of(args, gate) | {"baseline": args.named or args.baseline, "min_effect": dict(args.min_effect or ())}
        made = gate(**given)
        for path, content in ((args.junit, to_junit(made, strict=args.strict)), (args.json, to_records(made).encode())):
            if path:
                with open_output(path) as file:
                    file.write(content)
        forms = {"json": lambda: to_records(made), "csv": lambda: to_lines(made)}
        write_tables(to_table(made, strict=args.strict), args, forms=forms)
        return 0 if made.passed(strict=args.strict) else 1


if __name__ == "__main__":
    sys.exit(guard(parser, main))
