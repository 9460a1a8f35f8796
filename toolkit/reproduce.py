"""make a paper's tables of results again, and set every number beside the printed one

examples:
  tandem reproduce infosearch --dry-run
  tandem reproduce infosearch --system bm25 --system e5-large-v2 --output mine
  tandem reproduce mfollowir --table 4 --device cuda --export mfollowir.zip
  tandem reproduce infosearch --engine ray:head:6379
  tandem reproduce --verify mfollowir.zip

It fetches, indexes, searches, reranks, judges and evaluates what is not there; the same command again resumes.
What fails ends nothing else, and is said at the end.
exit status: 0 where all was made, 1 where something failed or is not as the manifest says, 2 where nothing was begun.
"""

import argparse
import sys
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ENGINE
from toolkit.model_options import endpoint_options, engine_options, model_options, prompts_option
from toolkit.options import dry_run_option, table_options
from toolkit.parsers import command, options_of
from toolkit.printing import failed, note, resumable, write_lines, write_tables
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    made = command("reproduce", __doc__)
    made.add_argument("paper", nargs="?", metavar="PAPER", help="infosearch, instructir, mfollowir or berds")
    made.add_argument("--table", action="append", default=[], metavar="N", help="only a table of it; may be repeated")
    made.add_argument("--system", action="append", default=[], metavar="S", help="only a system; may be repeated")
    text = "an index of your own: of a corpus without a prebuilt one (sphere), or of a row (PART/SYSTEM); may be repeated"
    made.add_argument("--own-index", action="append", default=[], metavar="NAME=DIR", type=_named_index, help=text)
    endpoint_options(made)
    engine_options(made)
    models = made.add_argument_group("models")
    model_options(models)
    prompts_option(models)
    out = made.add_argument_group("output")
    out.add_argument("--output", metavar="DIR", help="the folder of runs and comparison (default: reproduced-PAPER)")
    text = "also pack runs, records, comparison and page as a zip archive with a manifest"
    out.add_argument("--export", metavar="F", help=text)
    text = "only compare an archive, or the folder it was unpacked into, with its manifest"
    out.add_argument("--verify", metavar="F", help=text)
    dry_run_option(out)
    table_options(made, output=False)
    return made


def _named_index(given: str) -> tuple[str, str]:
    name, equals, folder = given.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"{given!r} is not NAME=DIR")
    return name, folder


def main(args: argparse.Namespace) -> int:
    from toolkit.registry.published.paper_tables import papers
    from toolkit.studies.reproduce import COMPARISON, PAGE, Reproduction, reproduce
    from toolkit.studies.reproduce.packed import pack, verify

    if args.verify:
        if args.paper or args.export or args.dry_run:
            raise ToolkitError("--verify stands alone", "tandem reproduce --verify F")
        digest, found = verify(Path(args.verify))
        write_lines(found or [f"all files are those of the manifest {digest}"])
        return int(bool(found))
    if not args.paper:
        raise ToolkitError("no paper named", f"tandem reproduce PAPER: {', '.join(papers())}")
    chosen = {"tables": args.table, "systems": args.system, "indexes": dict(args.own_index)}
    reproduction = Reproduction(**chosen, **options_of(args, reproduce))
    if args.dry_run:
        from toolkit.studies.reproduce.dry_run import plan_table

        write_tables([plan_table(reproduction, here=not str(args.engine).startswith("ray:"))], args, output="-")
        return 0
    with resumable():
        outcome = reproduction.make(**{name: getattr(args, name) for name in ENGINE})
    write_tables(outcome.tables(), args, output="-")
    note(f"written: {reproduction.output / COMPARISON}, {reproduction.output / PAGE}")
    if args.export:
        packed, digest = pack(reproduction.output, args.paper, Path(args.export))
        note(f"written: {args.export} ({packed} files; cite it by its manifest's SHA-256, {digest})")
    return failed(outcome.failures)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
