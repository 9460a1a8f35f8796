"""Options that several commands have, each declared once: it has one spelling, type and help everywhere.

Where a default is the command's own, its help says so in brackets at the end.
"""

import argparse

from toolkit import __version__


def common(parser: argparse.ArgumentParser) -> None:
    """`--quiet`, `--debug`, `--version`."""
    group = parser.add_argument_group("everywhere")
    group.add_argument("--quiet", action="store_true", help="no progress and no notes on standard error")
    group.add_argument("--debug", action="store_true", help="tracebacks, and the log of Anserini and other libraries")
    group.add_argument("--version", action="version", version=f"tandem-ir {__version__}", help="print the version, and exit")


def table_options(
    parser: argparse.ArgumentParser, *formats: str, numbers: bool = True, output: bool = True, tsv: bool = False
) -> None:
    """How tables are shown, for `printing.write_tables`: `--format`, `--all`, `--notes`, `--sort`, `--decimals`, `--output`.

    formats  what the command can write beside the usual forms
    numbers  whether there are scores, for `--percent` and `--decimals`
    output   whether `--output` is a file for the tables; otherwise the command has an option of that name itself
    tsv      whether a pipe gets tab-separated lines, otherwise the aligned table
    """
    group = parser.add_argument_group("tables")
    known = ("table", "json", "csv", "tsv", "latex", "markdown", *formats)
    default = "table; tsv in a pipe" if tsv else "table"
    group.add_argument("--format", choices=known, help=with_default("how results are written", default))
    parser.set_defaults(format_piped="tsv" if tsv else "table")
    group.add_argument("--all", action="store_true", help="every column, also those that do not fit the terminal")
    group.add_argument("--notes", action="store_true", help="every note, also those beyond the five that a terminal shows")
    group.add_argument("--sort", metavar="COLUMN", help="order rows by a column, best or largest first")
    if numbers:
        number_options(group, 4)
    if output:
        group.add_argument("--output", default="-", metavar="F", help="where to write (default: standard output)")


def number_options(group: argparse._ActionsContainer, decimals: int) -> None:
    """`--percent`, `--decimals`. decimals: of what is no per cent, where nobody says."""
    group.add_argument("--percent", action="store_true", help="show fractions times 100 (not in json and csv)")
    digits = f"digits after the decimal point, not in json and csv (default: {decimals}; {decimals - 2} with --percent)"
    group.add_argument("--decimals", type=int, choices=range(17), metavar="N", help=digits)


def dry_run_option(group: argparse._ActionsContainer) -> None:
    """`--dry-run`."""
    group.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def topics_option(group: argparse._ActionsContainer, default: str = "", **how: bool) -> None:
    """`--topics`, which may be repeated: a list, or None. default: what is taken without it."""
    text = "topics: a benchmark's (infosearch-ins), an ir_datasets id's, a file's, or -; may be repeated"
    group.add_argument("--topics", action="append", metavar="T", help=with_default(text, default), **how)


def with_default(text: str, default: object) -> str:
    return f"{text} (default: {default})" if default not in ("", None) else text


def build_argument(parser: argparse.ArgumentParser) -> None:
    """The folder of a build."""
    parser.add_argument("folder", metavar="DIR", help="the folder of the build, with its build.yaml")


def reviewed_step_option(parser: argparse.ArgumentParser, default: str = "", **how: bool) -> None:
    """`--step`: whose items people review. default: what is taken without it."""
    parser.add_argument("--step", metavar="S", help=with_default("the step whose items are reviewed", default), **how)


def index_option(group: argparse._ActionsContainer) -> None:
    """`--index`."""
    text = "where documents are: a folder, a prebuilt index, or a benchmark (default: the benchmark's own corpora)"
    group.add_argument("--index", metavar="I", help=text)


def docs_option(group: argparse._ActionsContainer) -> None:
    """`--docs`."""
    group.add_argument("--docs", metavar="F", help="the texts of documents in files: JSONL, TSV or TREC text")


def text_options(group: argparse._ActionsContainer) -> None:
    """Where the texts of documents are: `--index`, `--docs`."""
    index_option(group)
    docs_option(group)


def language_option(group: argparse._ActionsContainer) -> None:
    """`--language`."""
    text = "language of Lucene's analyzer (default: what the index or the benchmark states, else en)"
    group.add_argument("--language", metavar="XX", help=text)


def threads_option(group: argparse._ActionsContainer) -> None:
    """`--threads`: None for one a core."""
    group.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one a core)")


def shard_size_option(group: argparse._ActionsContainer) -> None:
    """`--shard-size`."""
    text = "documents a shard (default: 16384 of vectors; all in one file of FAISS; 65536 of Lucene where workers build)"
    group.add_argument("--shard-size", type=int, metavar="N", help=text)


def hits_option(group: argparse._ActionsContainer, default: int = 1000) -> None:
    """`--hits`."""
    group.add_argument("--hits", type=int, default=default, metavar="N", help=f"documents of each query (default: {default})")


def depth_option(group: argparse._ActionsContainer, default: int | None, shown: object = None) -> None:
    """`--depth`. shown: what stands for the default in the help where it is None."""
    text = with_default("how many of the best documents of each query are read", default if shown is None else shown)
    group.add_argument("--depth", type=int, default=default, metavar="N", help=text)


def tail_option(group: argparse._ActionsContainer) -> None:
    """`--tail`: None where it is not given."""
    text = "documents below the depth: kept behind the others, or dropped (default: keep)"
    group.add_argument("--tail", choices=("keep", "drop"), help=text)


def metadata_option(group: argparse._ActionsContainer) -> None:
    """`--metadata`."""
    group.add_argument("--metadata", metavar="F", help="where to write the record (default: beside the output)")


def run_output(
    parser: argparse.ArgumentParser, default: str = "a name in runs/", *, required: bool = False
) -> argparse._ArgumentGroup:
    """Where a run goes: `--output`, without which it has its default, and `--tag`; the group, for what else is said of it."""
    out = parser.add_argument_group("output")
    text = with_default("the new run's file, .gz or .zst too, or -", "" if required else default)
    out.add_argument("--output", required=required, metavar="F", help=text)
    out.add_argument("--tag", metavar="NAME", help="the new run's tag (default: made of what made it)")
    return out
