"""What benchmarks there are; export, fetch and verify them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.registry.loader import look_up
from toolkit.shell import command, guard, note, subcommands

EXPORT_NOTE = """\
Anserini's and Pyserini's own reader of TREC topics keeps only the digits of an id and would merge queries: give them the
.tsv topics (Anserini: -topicReader TsvString)."""


def parser() -> argparse.ArgumentParser:
    result = command("benchmarks", __doc__)
    add = subcommands(result)
    add("list", "every benchmark, and what of it is on this machine", list_all)
    show_parser = add("show", "all that is known of one benchmark", show)
    show_parser.add_argument("id", metavar="ID", help="a benchmark's name, as in `list`")
    export_parser = add("export", "write topics, qrels, candidates and corpora as files", export_files, EXPORT_NOTE)
    export_parser.add_argument("id", metavar="ID", help="a benchmark or a part of it (infosearch-audience-ins)")
    export_parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="folder to write into")
    ids = "query ids: ours, which carry the mode, or as published (default: ours)"
    export_parser.add_argument("--ids", choices=("ours", "published"), default="ours", help=ids)
    fetch_parser = add("fetch", "download a benchmark, or take a local copy in the published layout", fetch)
    fetch_parser.add_argument("id", metavar="ID", help="a benchmark or one of its groups (infosearch-audience)")
    fetch_parser.add_argument("--from", metavar="DIR", type=Path, dest="folder", help="a folder with the published files")
    verify_parser = add("verify", "check what is on this machine: counts, checksums, files made from sources", verify_all)
    verify_parser.add_argument("id", metavar="ID", help="a benchmark's name, as in `list`")
    return result


def main(args: argparse.Namespace) -> int | None:
    return args.run_subcommand(args)


def list_all(args: argparse.Namespace) -> None:
    print("name\tgroups\tmodes\there\tdescription")
    for spec in registry.benchmarks().values():
        here = _here(spec)
        shown = "all" if len(here) == len(spec.groups) else ",".join(here) or "none"
        print(f"{spec.name}\t{len(spec.groups)}\t{','.join(spec.modes)}\t{shown}\t{spec.description}")


def _here(spec: BenchmarkSpec) -> tuple[str, ...]:
    from toolkit.benchmarks import load, present_groups

    return tuple(present_groups(load(spec.name)))


def show(args: argparse.Namespace) -> None:
    spec = look_up("benchmark", args.id, registry.benchmarks())
    here = _here(spec)
    print(f"{spec.name}: {spec.description}")
    rows = {"modes": ", ".join(spec.modes), "measures": ", ".join(spec.measures), **spec.source, **spec.counts}
    print("\n".join(f"  {key:<10} {value}" for key, value in rows.items()))
    for group in spec.groups:
        facts = {key: value for key, value in group.items() if key != "name" and value} | group.get("counts", {})
        facts.pop("counts", None)
        text = "; ".join(f"{key} {', '.join(value) if isinstance(value, list) else value}" for key, value in facts.items())
        state = "on this machine" if group["name"] in here else "not fetched"
        print(f"  {spec.name}-{group['name']} ({state}){': ' if text else ''}{text}")


def export_files(args: argparse.Namespace) -> None:
    from toolkit.benchmarks.export import export

    for path in export(_find(args.id), args.to, published_ids=args.ids == "published"):
        print(path)
    note(EXPORT_NOTE)


def _find(name: str):
    from toolkit.benchmarks import find

    selection = find(name)
    if selection is None:
        look_up("benchmark", name, registry.benchmarks())
    return selection


def fetch(args: argparse.Namespace) -> None:
    from toolkit.benchmarks import load, take
    from toolkit.benchmarks.parts import counts

    selection = _find(args.id)
    benchmark = load(selection.benchmark)
    # the name alone means all groups here, also where some are on this machine already
    groups = benchmark.groups if args.id == benchmark.spec.name else selection.groups
    parts = (
        take(benchmark.spec.name, args.folder, groups) if args.folder else {group: benchmark.part(group) for group in groups}
    )
    for name, part in parts.items():
        found = ", ".join(f"{number} {what}" for what, number in counts(part).items())
        print(f"{benchmark.spec.name}-{name}: {found}, candidates in {len(part.scoreddocs)} modes")
        for line in part.notes:
            note(f"note: {line}")


def verify_all(args: argparse.Namespace) -> int:
    from toolkit.benchmarks import load
    from toolkit.benchmarks.verify import verify

    spec = look_up("benchmark", args.id, registry.benchmarks())
    findings = list(verify(load(spec.name)))
    if not findings:
        raise ToolkitError(f"nothing of {spec.name} is on this machine", f"tandem benchmarks fetch {spec.name}", status=1)
    for finding in findings:
        print(f"{finding.group}\t{finding.check}\t{finding.problem or 'OK'}")
    return int(any(finding.problem for finding in findings))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
