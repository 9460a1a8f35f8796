"""make a paper's tables of results again, and set every number beside the printed one"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENDPOINT
from toolkit.options import dry_run_option, endpoint_options, model_options, table_options
from toolkit.shell import command, guard, note, write_lines, write_tables

EPILOG = """\
examples:
  tandem reproduce infosearch --dry-run
  tandem reproduce infosearch --system bm25 --system e5-large-v2 --output mine
  tandem reproduce mfollowir --table 4 --device cuda --export mfollowir.zip
  tandem reproduce --verify unpacked

It fetches, searches, reranks, judges and evaluates what is not there; the same command again resumes. What fails ends nothing
else, and is said at the end.
exit status: 0 where all was made, 1 where something failed or is not as the manifest says, 2 where nothing was begun."""
MODELS = ("device", "precision", "batch_size", "trust_remote_code")


def parser() -> argparse.ArgumentParser:
    made = command("reproduce", __doc__, EPILOG)
    made.add_argument("paper", nargs="?", metavar="PAPER", help="infosearch, instructir, mfollowir or berds")
    made.add_argument("--table", action="append", default=[], metavar="N", help="only a table of it; may be repeated")
    made.add_argument("--system", action="append", default=[], metavar="S", help="only a system; may be repeated")
    endpoint_options(made)
    model_options(made.add_argument_group("models"))
    out = made.add_argument_group("output")
    out.add_argument("--output", metavar="DIR", help="the folder of runs and comparison (default: reproduced-PAPER)")
    out.add_argument("--export", metavar="F", help="also pack runs, records and comparison as a zip archive with a manifest")
    out.add_argument("--verify", metavar="DIR", help="only compare an unpacked archive with its manifest")
    dry_run_option(out)
    table_options(made, output=False)
    return made


def main(args: argparse.Namespace) -> int:
    from toolkit.published.paper_tables import papers
    from toolkit.reproduce import COMPARISON, Reproduction
    from toolkit.reproduce.packed import pack

    if args.verify:
        return _verify(args)
    if not args.paper:
        raise ToolkitError("no paper named", f"tandem reproduce PAPER: {', '.join(papers())}")
    models = {name: getattr(args, name) for name in MODELS}
    asking = {name: getattr(args, name) for name in ENDPOINT}
    reproduction = Reproduction(args.paper, args.table, args.system, output=args.output, models=models, asking=asking)
    if args.dry_run:
        from toolkit.reproduce.dry_run import plan_table

        write_tables([plan_table(reproduction)], args, output="-")
        return 0
    from toolkit.reproduce.compared_cells import claims_table, lay_out

    outcome = reproduction.make()
    tables = [*lay_out(outcome.cells), *([claims_table(outcome.claims)] if outcome.claims else [])]
    write_tables(tables, args, output="-")
    note(f"written: {reproduction.output / COMPARISON}")
    if args.export:
        packed = pack(reproduction.output, args.paper, Path(args.export))
        note(f"written: {args.export} ({packed} files)")
    for failure in outcome.failures:
        print(f"error: {failure.what}: {failure.error.message}\nhint:  {failure.error.hint}", file=sys.stderr)
    return int(bool(outcome.failures))


def _verify(args: argparse.Namespace) -> int:
    from toolkit.reproduce.packed import problems

    if args.paper or args.export or args.dry_run:
        raise ToolkitError("--verify stands alone", "tandem reproduce --verify DIR")
    found = list(problems(Path(args.verify)))
    write_lines(found or ["all files are those of the manifest"])
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
