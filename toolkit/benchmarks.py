"""list, show, export, fetch and verify benchmarks; write, check and add your own"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import in_mode
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.datasets.group_data import part_name
from toolkit.judging_options import ids_option, mode_option
from toolkit.options import depth_option, table_options, text_options, topics_option
from toolkit.parsers import command, subcommands
from toolkit.printing import note, write_lines, write_tables
from toolkit.registry.loader import did_you_mean
from toolkit.registry.measure_evidence import evidence
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.core.modes import Modes
    from toolkit.datasets import Selection, TopicSet
    from toolkit.datasets.own.own_new import Content
    from toolkit.datasets.statistics import Row

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
    list_parser = add("list", "list every benchmark, and what of it is on this machine", list_all)
    table_options(list_parser, numbers=False, tsv=True)
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
    new_parser = add(
        "new", "write a benchmark of your own: a folder with a commented example, or filled from files", new, NEW_NOTE
    )
    new_parser.add_argument("folder", metavar="DIR", type=Path, help="folder to write into; made where it is not there")
    new_parser.add_argument("--name", metavar="NAME", help="the benchmark's name (default: the folder's)")
    mode_option(new_parser)
    filled = new_parser.add_mutually_exclusive_group()
    filled.add_argument(
        "--from-beir", metavar="DIR", type=Path, help="a folder in BEIR's layout: its corpus, queries and qrels"
    )
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
    published_parser = add(
        "published", "show the numbers that a benchmark's paper prints, and where they contradict each other", published
    )
    published_parser.add_argument("id", metavar="ID", help="a benchmark (infosearch)")
    published_parser.add_argument("--table", metavar="N", help="one table: 1, figure3, text (default: all)")
    system = "one system: an entry of the registry, or as the paper prints it (gpt-4o, GPT-4o)"
    published_parser.add_argument("--system", metavar="NAME", help=system)
    agreement_help = "Kendall's tau-b between the orders of systems by each measure"
    instead = published_parser.add_mutually_exclusive_group()
    instead.add_argument("--agreement", action="store_true", help=agreement_help)
    means_help = "the mean of each kind of systems; list-wise rerankers divided into fine-tuned and zero-shot"
    instead.add_argument("--means", action="store_true", help=means_help)
    instead.add_argument("--claims", action="store_true", help="also what the benchmark's paper claims, and whether it holds")
    table_options(published_parser, numbers=False)
    return result


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def list_all(args: argparse.Namespace) -> None:
    rows = []
    registry.warn_unread("benchmarks")
    for spec in registry.benchmarks().values():
        try:
            here = _here(spec.name)
        except ToolkitError as error:  # an entry of the user's whose layout or groups no reader knows
            note(f"warning: left out: {error.message}")
            continue
        shown = "all" if len(here) == len(spec.groups) else ",".join(here) or "none"
        rows.append((spec.name, len(spec.groups), ",".join(spec.modes), shown, spec.description))
    facts = (Column("groups"), Column("modes", priority=1), Column("here"))
    columns = (Column("name", label=True), *facts, Column("description", prose=True))
    write_tables(Table(columns, rows), args)


def _here(name: str) -> tuple[str, ...]:
    from toolkit.datasets import load, present_groups

    return tuple(present_groups(load(name)))


def show(args: argparse.Namespace) -> None:
    from toolkit.datasets import load

    selection = _whole(args.id)
    if args.stats:
        return _show_statistics(selection, args)
    spec, here = load(selection.benchmark).spec, _here(selection.benchmark)
    write_lines([f"{spec.name}: {spec.description}"])
    rows = {"modes": ", ".join(spec.modes), "measures": ", ".join(spec.measures), **spec.source, **spec.counts}
    for key, value in rows.items():
        first, *more = str(value).splitlines() or ["none"]
        write_lines([f"  {key:<10} {first}", *(f"  {'':<10} {line}" for line in more)], indent=11)
    for name, groups in spec.selections.items():
        write_lines([f"  {part_name(spec.name, name)}: {', '.join(part_name(spec.name, group) for group in groups)}"])
    for group in (group for group in spec.groups if group["name"] in selection.groups):
        facts = {key: value for key, value in group.items() if key != "name" and value} | group.get("counts", {})
        facts.pop("counts", None)
        text = "; ".join(f"{key} {_shown(value)}" for key, value in facts.items())
        state = "on this machine" if group["name"] in here else "not fetched"
        write_lines([f"  {part_name(spec.name, group['name'])} ({state}){': ' if text else ''}{text}"])
    if rows := evidence(spec.name).get("detectable", ()) if args.id == spec.name else ():
        found = ", ".join(f"{in_mode(row['measure'], row['mode'])} {row['detectable']:.4f}" for row in rows)
        said = "the smallest true difference that its core queries show in 80 % of samples: the median over pairs of"
        write_lines([f"  detectable {found}", f"  {'':<10} {said} {rows[0]['runs']} registered runs"], indent=11)


def _shown(value: object) -> str:
    """A value of a group's entry: a list by its members, counts as `40 queries, 19899 documents`."""
    if isinstance(value, dict):
        return ", ".join(f"{number} {what}" for what, number in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _show_statistics(selection: Selection, args: argparse.Namespace) -> None:
    from toolkit.datasets import load
    from toolkit.datasets.statistics import own_statistics, printed_statistics, shown

    benchmark = load(selection.benchmark)
    present = [group for group in selection.groups if benchmark.is_present(group)]
    rows = list(printed_statistics(benchmark, selection.groups, present)) or own_statistics(benchmark, present)
    cells = []
    for row in rows:
        printed, remark = ("", "") if row.printed is None else (row.printed.value, _remark(row))
        cells.append((row.place, row.statistic, _number(printed), _number(shown(row.value)), remark))
    labels = (Column("place", label=True), Column("statistic", label=True))
    write_tables(Table((*labels, Column("printed"), Column("computed"), Column("note", prose=True)), cells), args)


def _number(text: object) -> Cell:
    """A statistic as it is printed; sorted by its value."""
    try:
        return Number(float(text), text=str(text))
    except ValueError:
        return str(text)


def _remark(row: Row) -> str:
    """What is to be known of a computed statistic beside the printed one."""
    marks = {
        "not on this machine": row.value is None,
        "DIFFERENT": bool(row.problem),
        f"approximate: {row.printed.approximate}": bool(row.printed.approximate),
        f"inconsistent: {row.printed.inconsistent}": bool(row.printed.inconsistent),
    }
    return "; ".join(mark for mark, holds in marks.items() if holds)


def export_files(args: argparse.Namespace) -> None:
    from toolkit.datasets.export import export

    for path in export(_find(args.id), args.to, published_ids=args.ids == "published"):
        print(path)
    note(EXPORT_NOTE)


def _find(name: str, *, at_hand: bool = True) -> Selection:
    from toolkit.datasets import find
    from toolkit.datasets.names import part_names

    selection = find(name, at_hand=at_hand)
    if selection is None:
        known = f"known: {', '.join(registry.benchmarks())}"
        problems = list(map(str, registry.unread("benchmarks")))
        raise ToolkitError(f"no benchmark {name!r}", f"{did_you_mean(name, part_names())}{known}", problems=problems)
    return selection


def _whole(name: str) -> Selection:
    """What a name means, a benchmark's own name all of its groups."""
    selection = _find(name, at_hand=False)
    if name == selection.benchmark:
        groups = tuple(group["name"] for group in registry.benchmark(name).groups)
        return dataclasses.replace(selection, groups=groups)
    return selection


def published(args: argparse.Namespace) -> None:
    from toolkit.registry.published import outcomes
    from toolkit.registry.published.paper_tables import cells_of, graded
    from toolkit.registry.published.tables_as_text import claim_forms, lay_out, lay_out_claims, long_forms

    paper = registry.benchmark(args.id)
    if paper.mini:
        raise ToolkitError(
            f"{args.id} was written for this project: nothing is published of it", "see `tandem benchmarks list`"
        )
    if args.system and (args.agreement or args.claims or args.means):
        raise ToolkitError("agreement, claims and means are over all systems", "leave --system out")
    if args.table and args.claims:
        raise ToolkitError("claims are over all tables", "leave --table out")
    if args.agreement:
        from toolkit.metrics import agreement

        systems = [agreement.Graded(*row) for row in graded(args.id, args.table)]
        rows = agreement.agreement(agreement.orders(systems, paper.modes))
        write_tables(agreement.lay_out(rows), args, forms=agreement.long_forms(rows))
    elif args.means:
        from toolkit.registry.published import kind_means

        means = kind_means.printed_means(args.id, args.table)
        write_tables(kind_means.lay_out(means), args, forms=kind_means.long_forms(means))
    elif args.claims:
        found = outcomes(args.id, cells_of(args.id))
        write_tables(lay_out_claims(found), args, forms=claim_forms(found))
    else:
        cells = cells_of(args.id, args.table, args.system)
        write_tables(lay_out(cells), args, forms=long_forms(cells))


def new(args: argparse.Namespace) -> None:
    from toolkit.core.modes import Modes
    from toolkit.datasets.own.own_new import MODES, example, from_beir, new_folder

    modes = MODES if args.modes is None else Modes.declared(dict(args.modes), "--modes")
    if args.from_runs:
        content, modes = _from_runs(args)
    elif args.from_beir:
        modes = Modes() if args.modes is None else modes
        content = from_beir(args.from_beir, modes, args.beir_split or "")
    else:
        content = example(modes)
    for path in new_folder(args.folder, content, modes, name=args.name or ""):
        print(path)
    filled = "what is filled in" if args.from_runs or args.from_beir else "an example"
    note(f"{args.folder} holds {filled}; `tandem benchmarks check {args.folder}` says what is left to do")


def _from_runs(args: argparse.Namespace) -> tuple[Content, Modes]:
    from toolkit.datasets import resolve_topics
    from toolkit.datasets.own.own_from_runs import from_runs
    from toolkit.retrieval.texts import texts_from

    if args.modes is not None:
        raise ToolkitError("the modes are those of the runs' topics", "leave --modes out")

    def texts(topics: TopicSet):
        sources = texts_from(topics, index=args.index, docs=args.docs)
        return lambda group, ids: sources(group).find(ids)

    return from_runs(args.from_runs, texts, topics=resolve_topics(args.topics) if args.topics else None, depth=args.depth)


def check(args: argparse.Namespace) -> int:
    from toolkit.datasets.own.own_check import check_folder, lines
    from toolkit.files.runs.problems import found
    from toolkit.metrics import parse

    if args.smallest <= 0:
        raise ToolkitError(f"--smallest {args.smallest:g} is no difference", "a number above 0, as in 0.1")
    checked = check_folder(args.folder, smallest=args.smallest, parse=parse)
    write_lines(lines(checked.remarks))
    problems = len(checked.problems)
    sizes = ", ".join(f"{number:,} {what if number != 1 else _one(what)}" for what, number in checked.counts.items() if number)
    note(f"{args.folder}: {sizes or 'empty'}: {found(problems, len(checked.remarks) - problems)}")
    return int(bool(problems))


def _one(what: str) -> str:
    return {"core queries": "core query", "queries": "query"}.get(what, what.removesuffix("s"))


def add_own(args: argparse.Namespace) -> None:
    from toolkit.datasets.own.own_entry import register

    entry = register(args.folder)
    print(entry)
    note(f"{entry.stem} is a name now: --topics {entry.stem}, --benchmark {entry.stem}; the files stay in {args.folder}")


def fetch(args: argparse.Namespace) -> None:
    from toolkit.datasets import load, take
    from toolkit.datasets.copies.verify import other_counts
    from toolkit.datasets.group_data import counts

    selection = _whole(args.id) if args.folder else _find(args.id, at_hand=False)
    benchmark = load(selection.benchmark)
    parts = (
        take(selection.benchmark, args.folder, selection.groups)
        if args.folder
        else {group: benchmark.part(group) for group in selection.groups}
    )
    rows = {group["name"]: group for group in benchmark.spec.groups}
    for name, part in parts.items():
        sizes = [f"{number} {what}" for what, number in counts(part).items()]
        if part.scoreddocs:
            sizes.append(f"candidates in {', '.join(part.scoreddocs)}" if benchmark.spec.modes else "candidates")
        write_lines([f"{part_name(benchmark.spec.name, name)}: {', '.join(sizes)}"])
        for line in part.notes:
            note(f"note: {line}")
        if other := other_counts(part, rows[name]):
            note(f"note: {name}: not the published counts: {other}")


def verify_all(args: argparse.Namespace) -> int:
    from toolkit.datasets import load
    from toolkit.datasets.copies.verify import verify

    selection = _whole(args.id)
    findings = list(verify(load(selection.benchmark), selection.groups))
    if not findings:
        raise ToolkitError(f"nothing of {args.id} is on this machine", f"tandem benchmarks fetch {args.id}", status=1)
    columns = (Column("group", label=True), Column("check", label=True), Column("outcome", prose=True))
    rows = [(finding.group, finding.check, finding.problem or "OK") for finding in findings]
    write_tables(Table(columns, rows), args, heads=False)
    return int(any(finding.problem for finding in findings))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
