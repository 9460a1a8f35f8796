"""Whether what is on this machine of a benchmark is what it should be."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import shipped
from toolkit.core.tables.aligned_table import Column, Table
from toolkit.datasets.benchmark import Benchmark
from toolkit.datasets.copies import local_copies
from toolkit.datasets.export import write_topics_and_qrels
from toolkit.datasets.group_data import Part, counts, totals
from toolkit.datasets.own.own_check import check_folder
from toolkit.datasets.statistics import printed_statistics


class Finding(NamedTuple):
    """One check of one group. problem: empty where all is well."""

    group: str
    check: str
    problem: str


def verify(benchmark: Benchmark, groups: Sequence[str]) -> Iterator[Finding]:
    """Check those of the groups that are here: stored files against their SHA-256, shipped topics and qrels against the sources
    they were made from, counts against the published ones, what the layout promises (FollowIR's changed instructions only
    take relevance away), and what the paper's table of statistics prints, as far as nothing in the paper contradicts it."""
    if benchmark.spec.folder:
        problems = check_folder(benchmark.spec.folder).problems
        yield Finding(benchmark.spec.name, "files", "; ".join(map(str, problems)))
        if problems:
            return
    sound = []
    for name in benchmark.groups:
        if name in groups and benchmark.is_present(name):
            findings = list(_files(benchmark, name))
            yield from findings
            if not any(finding.problem for finding in findings) or benchmark.comes_with_tandem:
                sound.append(name)  # what is damaged need not be readable
                part, row = benchmark.part(name), benchmark.spec.group(name)
                yield Finding(name, "counts", other_counts(part, row))
                if "totals" in row:
                    yield Finding(name, "totals over all modes", _differences(totals(part), row["totals"]))
                yield from (Finding(name, check, problem) for check, problem in benchmark.checks(name))
    # the paper's table of statistics, as far as the groups that are here have what it counts
    if rows := [row for row in printed_statistics(benchmark, sound, sound) if row.value is not None]:
        differing = "; ".join(row.problem for row in rows if row.problem)
        yield Finding(benchmark.spec.name, f"table {rows[0].printed.table}", differing)


def findings_table(findings: Iterable[Finding]) -> Table:
    """A row a check."""
    columns = (Column("group", label=True), Column("check", label=True), Column("outcome", prose=True))
    return Table(columns, [(finding.group, finding.check, finding.problem or "OK") for finding in findings])


def _files(benchmark: Benchmark, group: str) -> Iterator[Finding]:
    if benchmark.comes_with_tandem:
        made = shipped_files(benchmark, group)
        stale = [path.name for path, content in made if (path.read_bytes() if path.is_file() else b"") != content]
        yield Finding(group, "topics and qrels", f"not as the sources say: {', '.join(stale)}" if stale else "")
    elif not benchmark.spec.folder:
        folder = local_copies.copy_folder(benchmark.spec, benchmark.spec.group(group))
        try:
            recorded = dict(local_copies.facts(folder)["sha256"])
        except (FileNotFoundError, KeyError, TypeError, ValueError, ToolkitError):
            yield Finding(group, "checksums", f"{folder / 'kept.yaml'} is missing or damaged")
            return
        actual = local_copies.checksums(folder)
        names = sorted(name for name in {*recorded, *actual} if recorded.get(name) != actual.get(name))
        yield Finding(group, "checksums", f"changed since it was fetched: {', '.join(names)}" if names else "")


def other_counts(part: Part, group: Mapping[str, Any]) -> str:
    """Where the counts of a group are not the published ones; empty where they are, and where nobody knows them.

    What the group does not hold (documents that are not on this machine) cannot be counted, and is not.
    """
    return _differences(counts(part), group.get("counts", {}))


def _differences(counted: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    differing = {what: number for what, number in wanted.items() if what in counted and counted[what] != number}
    return "; ".join(f"{number} {what} expected, {counted[what]} found" for what, number in differing.items())


def shipped_files(benchmark: Benchmark, group: str) -> Iterator[tuple[Path, bytes]]:
    """The shipped topics and qrels of a group, with the content that its source gives them."""
    with tempfile.TemporaryDirectory() as made:
        for mode in benchmark.spec.modes or ("",):
            for path in write_topics_and_qrels(benchmark, group, mode, Path(made), Path(made)):
                yield shipped("qrels" if path.name.startswith("qrels") else "topics", path.name), path.read_bytes()
