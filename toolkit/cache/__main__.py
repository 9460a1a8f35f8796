"""list, verify and remove what TANDEM_HOME holds"""

import argparse
import sys

from toolkit.core.aligned_table import Column, Number, Table
from toolkit.options import dry_run_option, table_options
from toolkit.shell import command, guard, note, subcommands, write_tables


def parser() -> argparse.ArgumentParser:
    result = command("cache", __doc__)
    add = subcommands(result)
    table_options(add("list", "list what is cached, with its size", list_all), numbers=False, tsv=True)
    verify_parser = add("verify", "find unfinished downloads, and cached benchmarks that have changed", verify)
    verify_parser.add_argument("--fix", action="store_true", help="remove the temporary files of processes that were killed")
    table_options(verify_parser, numbers=False, tsv=True)
    remove_parser = add("remove", "remove entries by the names that `list` shows", remove)
    remove_parser.add_argument("names", metavar="NAME", nargs="+", help="an entry, as in `list`")
    dry_run_option(remove_parser)
    return result


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def list_all(args: argparse.Namespace) -> None:
    from toolkit.cache import entries
    from toolkit.store import home, shown

    cached = entries()
    rows = [(entry.name, Number(entry.size, text=shown(entry.size))) for entry in cached]
    write_tables(Table((Column("name", label=True), Column("size")), rows), args, heads=False)
    note(f"{home()}: {len(cached)} entries, {shown(sum(entry.size for entry in cached))}")


def verify(args: argparse.Namespace) -> int:
    from toolkit.cache import problems, remove_leftovers

    if args.fix:
        for path in remove_leftovers():
            note(f"removed {path}")
    left = list(problems())
    if left:
        write_tables(Table((Column("name", label=True), Column("problem", prose=True)), left), args, heads=False)
    note(f"{len(left)} problems")
    return int(bool(left))


def remove(args: argparse.Namespace) -> None:
    from toolkit import cache
    from toolkit.store import shown

    for entry in cache.remove(args.names, dry_run=args.dry_run):
        note(f"{'would remove' if args.dry_run else 'removed'} {entry.name} ({shown(entry.size)})")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
