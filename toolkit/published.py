"""make files of the prompts that papers print, out of a text of the paper that you have

examples:
  tandem published prompts infosearch --from infosearch.txt --to prompts
  tandem rerank --run candidates --topics infosearch-ins --system rank-zephyr-7b --recipe infosearch --prompts prompts
  tandem reproduce infosearch --prompts prompts

The prompts themselves are not part of Tandem: the registry has where each stands, how many words it has and their SHA-256.
Any text will do (pdftotext, a page saved as text), whatever its lines. Models' own prompts are in their authors' code.
exit status: 0 where all prompts of the source were found and written, 2 otherwise; then nothing is written.
"""

import argparse
import sys
from operator import attrgetter

from toolkit.options import table_options
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_tables
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    made = command("published", __doc__)
    add = subcommands(made)
    sub = add("prompts", "write the prompts of a paper, a file each, for --prompts of other commands", run_prompts)
    sources = "infosearch, instructir, berds; infosearch-code, mteb, rank_llm for prompts in code"
    sub.add_argument("source", metavar="PAPER", help=sources)
    text = "texts that have all of them together; without it, what is registered is shown"
    sub.add_argument("--from", dest="files", nargs="+", default=[], metavar="FILE", help=text)
    sub.add_argument("--to", metavar="DIR", help="the folder of the files, <name>.yaml each")
    table_options(sub, numbers=False, output=False)
    return made


def run_prompts(args: argparse.Namespace) -> None:
    from toolkit.core.errors import ToolkitError
    from toolkit.core.tables.aligned_table import Column, Table
    from toolkit.models.llm.paper_prompts import prompts_of, write_prompts

    if bool(args.files) != bool(args.to):
        raise ToolkitError("--from and --to go together", "--from TEXT --to DIR; neither shows what is registered")
    written = write_prompts(args.source, args.files, args.to) if args.files else [(one, "") for one in prompts_of(args.source)]
    columns = (Column("prompt", label=True), *map(Column, ("kind", "place", "whose", "words", "sha256")), Column("file"))
    columns_of = attrgetter("name", "kind", "place", "whose", "words", "sha256")
    write_tables([Table(columns, [(*columns_of(prompt), str(path)) for prompt, path in written])], args, output="-")
    if args.files:
        note(f"{args.to}: {len(written)} prompts; --prompts {args.to} sends them")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
