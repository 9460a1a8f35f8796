"""list, verify and remove what TANDEM_HOME holds"""

import argparse
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import TEMPORARY, home, remove_left
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.options import dry_run_option, table_options
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_tables
from toolkit.registry.loader import did_you_mean
from toolkit.shell import guard

# a user's own entries and runs, and the locks of running processes, are no cache
NOT_CACHED = ("registry", "baselines", "locks")
# folders whose entries, so deep, stand for themselves
DEPTHS = {"benchmarks": 2, "indexes": 1, "indexes/own": 1, "models": 2, "vectors": 1, "downloads": 1, "hub": 1, "ids": 1}


class Entry(NamedTuple):
    """One thing that can be removed by itself. name: its path in TANDEM_HOME; size: bytes, of all files in it."""

    name: str
    path: Path
    size: int


def entries() -> list[Entry]:
    """Everything that TANDEM_HOME holds, by name."""
    cached: list[Entry] = []
    for top in home().iterdir() if home().is_dir() else ():
        if top.name not in NOT_CACHED:
            cached += [Entry(str(path.relative_to(home())), path, size_of(path)) for path in _apart(top)]
    return sorted(cached)


def _apart(folder: Path) -> Iterator[Path]:
    """What stands for itself in a folder of TANDEM_HOME: its entries, or the folder as a whole."""
    depth = DEPTHS.get(str(folder.relative_to(home())))
    for path in [folder] if depth is None else folder.glob("/".join("*" * depth)):
        if depth is not None and str(path.relative_to(home())) in DEPTHS:
            yield from _apart(path)
        else:
            yield path


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def problems() -> Iterator[tuple[str, str]]:
    """(entry, what is wrong with it): unfinished downloads, and cached benchmarks that have changed since."""
    from toolkit.datasets import load
    from toolkit.datasets.copies.verify import verify
    from toolkit.registry import benchmarks

    for path in sorted(home().rglob("*.part")):
        yield str(path.relative_to(home())), "unfinished; the next call resumes or replaces it"
    for spec in benchmarks().values():
        if not spec.mini:
            benchmark = load(spec.name)
            findings = (finding for finding in verify(benchmark, benchmark.groups) if finding.problem)
            yield from ((f"benchmarks/{spec.name}", f"{finding.group}: {finding.problem}") for finding in findings)


def remove(names: Sequence[str], *, dry_run: bool = False) -> list[Entry]:
    """Remove entries by name; what was, or would be, removed. ToolkitError, before anything goes, where a name is unknown."""
    known = {entry.name: entry for entry in entries()}
    names = list(dict.fromkeys(name.rstrip("/") for name in names))
    if unknown := [name for name in names if name not in known]:
        raise ToolkitError(f"{home()} has no {unknown[0]!r}", f"{did_you_mean(unknown[0], known)}see `tandem cache list`")
    chosen = [known[name] for name in names]
    for entry in () if dry_run else chosen:
        # renamed first: an interrupted removal leaves no half index under its name
        going = entry.path.with_name(f".{entry.path.name}.{secrets.token_hex(4)}.part")
        entry.path.rename(going)
        shutil.rmtree(going) if going.is_dir() and not going.is_symlink() else going.unlink()
    return chosen


def parser() -> argparse.ArgumentParser:
    result = command("cache", __doc__)
    add = subcommands(result)
    table_options(add("list", "list what is cached, with its size", list_all), numbers=False, tsv=True)
    verify_parser = add("verify", "find unfinished downloads, and cached benchmarks that have changed", verify_all)
    verify_parser.add_argument("--fix", action="store_true", help="remove the temporary files of processes that were killed")
    table_options(verify_parser, numbers=False, tsv=True)
    remove_parser = add("remove", "remove entries by the names that `list` shows", remove_named)
    remove_parser.add_argument("names", metavar="NAME", nargs="+", help="an entry, as in `list`")
    dry_run_option(remove_parser)
    return result


def list_all(args: argparse.Namespace) -> None:
    from toolkit.files.store import shown

    cached = entries()
    rows = [(entry.name, Number(entry.size, text=shown(entry.size))) for entry in cached]
    write_tables(Table((Column("name", label=True), Column("size")), rows), args, heads=False)
    note(f"{home()}: {len(cached)} entries, {shown(sum(entry.size for entry in cached))}")


def verify_all(args: argparse.Namespace) -> int:
    if args.fix:  # temporary files and folders of processes that were killed; what a living process writes is locked, and stays
        places = [Path(tempfile.gettempdir()).iterdir(), home().rglob(".*.part")]
        for path in sorted(path for place in places for path in place if TEMPORARY.fullmatch(path.name)):
            if remove_left(path):
                note(f"removed {path}")
    left = list(problems())
    if left:
        write_tables(Table((Column("name", label=True), Column("problem", prose=True)), left), args, heads=False)
    note(f"{len(left)} problems; indexes are compared by `tandem index verify DIR`")
    return int(bool(left))


def remove_named(args: argparse.Namespace) -> None:
    from toolkit.files.store import shown

    for entry in remove(args.names, dry_run=args.dry_run):
        note(f"{'would remove' if args.dry_run else 'removed'} {entry.name} ({shown(entry.size)})")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
