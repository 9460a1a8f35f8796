"""list, show, export, fetch and verify benchmarks; write, check and add your own"""

import argparse
import sys
from functools import partial
from pathlib import Path

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.judging_options import ids_option, mode_option
from toolkit.options import depth_option, table_options, text_options, topics_option
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_lines, write_tables
from toolkit.shell import guard

EXPORT_NOTE = """\
Anserini's and Pyserini's own reader of TREC topics keeps only the digits of an id and would merge queries: give them the
.tsv topics (Anserini: -topicReader TsvString)."""
NEW_NOTE = """\
The folder is a benchmark at once: give it to --topics and --benchmark. --modes base=base pos=instructed neg=reversed is what
modes are called unless you say otherwise; benchmark.yaml says what else may be said."""
CHECK_NOTE = """\
Exit status: 0 without problems (there may be warnings), 1 with problems, 2 where there is no such folder."""


def parser() -> argparse.ArgumentParser:
    result = command("benchmarks", __doc__)
    add = subcommands(result)
    table_options(add("list", "list every benchmark, and what of it is on this machine", list_all), numbers=False, tsv=True)
    show_parser = add("show", "show all that is known of one benchmark", show)
    show_parser.add_argument("id", metavar="ID", help="a benchmark or one of its groups (infosearch-audience)")
    stats = "its sizes, computed, beside what its paper's table of statistics prints"
    show_parser.add_argument("--stats", action="store_true", help=stats)
    table_options(show_parser, numbers=False, tsv=True)
    export_parser = add("export", "write topics, qrels, candidates and corpora as files", export_files, EXPORT_NOTE)
    export_parser.add_argument("id", metavar="ID", help="a benchmark or a part of it (infosearch-audience-ins)")
    export_parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="folder to write into")
    ids_option(export_parser, "tandem")
    fetch_parser = add("fetch", "download a benchmark, or take a local copy in the published layout", fetch)
    fetch_parser.add_argument("id", metavar="ID", help="a benchmark or one of its groups (infosearch-audience)")
    fetch_parser.add_argument("--from", metavar="DIR", type=Path, dest="folder", help="a folder with the published files")
    summary = "write a benchmark of your own: a folder with a commented example, or filled from files"
    new_parser = add("new", summary, new, NEW_NOTE)
    new_parser.add_argument("folder", metavar="DIR", type=Path, help="folder to write into; made where it is not there")
    new_parser.add_argument("--name", metavar="NAME", help="the benchmark's name (default: the folder's)")
    mode_option(new_parser)
    filled = new_parser.add_mutually_exclusive_group()
    beir = "a folder in BEIR's layout: its corpus, queries and qrels"
    filled.add_argument("--from-beir", metavar="DIR", type=Path, help=beir)
    runs = "runs to be judged: their topics and the documents that they found first"
    filled.add_argument("--from-runs", metavar="RUN", nargs="+", help=runs)
    new_parser.add_argument("--beir-split", metavar="NAME", help="of --from-beir: qrels/NAME.tsv (default: test, dev or train)")
    of_runs = new_parser.add_argument_group("of --from-runs")
    depth_option(of_runs, 10)
    topics_option(of_runs, "as the runs' records say")
    text_options(of_runs)
    check_parser = add("check", "check a folder: all problems with file and line, and warnings", check, CHECK_NOTE)
    check_parser.add_argument("folder", metavar="DIR", type=Path, help="a folder with benchmark.yaml")
    smallest = "a difference of a measure that should be seen; groups that are too small for it are warned of (default: 0.1)"
    check_parser.add_argument("--smallest", metavar="X", type=float, default=0.1, help=smallest)
    add_parser = add("add", "register the folder of a benchmark: its name is known from then on", add_own)
    add_parser.add_argument("folder", metavar="DIR", type=Path, help="a folder with benchmark.yaml, which stays where it is")
    verify_parser = add("verify", "check what is on this machine: counts, checksums, files made from sources", verify_all)
    verify_parser.add_argument("id", metavar="ID", help="a benchmark or one of its groups (infosearch-audience)")
    table_options(verify_parser, numbers=False, tsv=True)
    summary = "show the numbers that a benchmark's paper prints, and where they contradict each other"
    published_parser = add("published", summary, published)
    published_parser.add_argument("id", metavar="ID", help="a benchmark (infosearch)")
    published_parser.add_argument("--table", metavar="N", help="one table: 1, figure3, text (default: all)")
    system = "one system: an entry of the registry, or as the paper prints it (gpt-4o, GPT-4o)"
    published_parser.add_argument("--system", metavar="NAME", help=system)
    agreement_help = "Kendall's tau-b between the orders of systems by each measure"
    instead = published_parser.add_mutually_exclusive_group()
    instead.add_argument("--agreement", action="store_true", help=agreement_help)
    between = "for each measure, whether two groups order the systems alike (tau-b), by kind of systems too"
    instead.add_argument("--between-groups", action="store_true", help=between)
    means_help = "the mean of each kind of systems; list-wise rerankers divided into fine-tuned and zero-shot"
    instead.add_argument("--means", action="store_true", help=means_help)
    instead.add_argument("--claims", action="store_true", help="also what the benchmark's paper claims, and whether it holds")
    table_options(published_parser, numbers=False)
    return result


def list_all(args: argparse.Namespace) -> None:
    from toolkit.datasets.benchmark_overview import listing

    write_tables(listing(), args)


def show(args: argparse.Namespace) -> None:
    if args.stats:
        from toolkit.datasets.names import selected_whole
        from toolkit.datasets.statistics import statistics_table

        return write_tables(statistics_table(selected_whole(args.id)), args)
    from toolkit.datasets.benchmark_overview import description

    for line, indent in description(args.id):
        write_lines([line], indent)


def export_files(args: argparse.Namespace) -> None:
    from toolkit.datasets.export import export
    from toolkit.datasets.names import selected

    for path in export(selected(args.id), args.to, published_ids=args.ids == "published"):
        print(path)
    note(EXPORT_NOTE)


def published(args: argparse.Namespace) -> None:
    if registry.benchmark(args.id).mini:
        hint = "see `tandem benchmarks list`"
        raise ToolkitError(f"{args.id} was written for this project: nothing is published of it", hint)
    if args.system and (args.agreement or args.between_groups or args.claims or args.means):
        raise ToolkitError("agreement, claims and means are over all systems", "leave --system out")
    if args.table and args.claims:
        raise ToolkitError("claims are over all tables", "leave --table out")
    if args.agreement or args.between_groups:
        from toolkit.metrics import agreement

        if args.between_groups:
            rows, notes = agreement.between_groups(args.id, args.table)
            tables = [agreement.lay_out_between(rows, notes)]
        else:
            rows, notes = agreement.printed_agreement(args.id, args.table), []
            tables = [agreement.lay_out(rows)]
        forms = agreement.long_forms(rows, notes)
    else:
        from toolkit.registry.published.tables_as_text import printed_tables

        tables, forms = printed_tables(args.id, args.table, args.system, means=args.means, claims=args.claims)
    write_tables(tables, args, forms=forms)


def new(args: argparse.Namespace) -> None:
    from toolkit.datasets.own.own_new import content_of, new_folder

    if args.from_runs:
        from toolkit.datasets import resolve_topics
        from toolkit.datasets.own.own_from_runs import from_runs
        from toolkit.retrieval.texts import texts_from

        if args.modes is not None:
            raise ToolkitError("the modes are those of the runs' topics", "leave --modes out")
        topics = resolve_topics(args.topics) if args.topics else None
        texts = partial(texts_from, index=args.index, docs=args.docs)
        content, modes = from_runs(args.from_runs, texts, topics=topics, depth=args.depth)
    else:
        content, modes = content_of(args.modes, args.from_beir, args.beir_split or "")
    for path in new_folder(args.folder, content, modes, name=args.name or ""):
        print(path)
    filled = "what is filled in" if args.from_runs or args.from_beir else "an example"
    note(f"{args.folder} holds {filled}; `tandem benchmarks check {args.folder}` says what is left to do")


def check(args: argparse.Namespace) -> int:
    from toolkit.datasets.own.own_check import check_folder, lines
    from toolkit.files.runs.problems import found
    from toolkit.metrics import parse

    checked = check_folder(args.folder, smallest=args.smallest, parse=parse)
    write_lines(lines(checked.remarks))
    problems = len(checked.problems)
    note(f"{args.folder}: {checked.sizes}: {found(problems, len(checked.remarks) - problems)}")
    return int(bool(problems))


def add_own(args: argparse.Namespace) -> None:
    from toolkit.datasets.own.own_new import register

    entry = register(args.folder)
    print(entry)
    note(f"{entry.stem} is a name now: --topics {entry.stem}, --benchmark {entry.stem}; the files stay in {args.folder}")


def fetch(args: argparse.Namespace) -> None:
    from toolkit.datasets.benchmark_overview import fetched

    write_lines(fetched(args.id, args.folder))


def verify_all(args: argparse.Namespace) -> int:
    from toolkit.datasets import load
    from toolkit.datasets.copies.verify import findings_table, verify
    from toolkit.datasets.names import selected_whole

    selection = selected_whole(args.id)
    findings = list(verify(load(selection.benchmark), selection.groups))
    if not findings:
        raise ToolkitError(f"nothing of {args.id} is on this machine", f"tandem benchmarks fetch {args.id}", status=1)
    write_tables(findings_table(findings), args, heads=False)
    return int(any(finding.problem for finding in findings))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
