"""Whether what is on this machine of a benchmark is what it should be."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.benchmarks import kept
from toolkit.benchmarks.benchmark import Benchmark
from toolkit.benchmarks.export import write_topics_and_qrels
from toolkit.benchmarks.parts import Part, counts
from toolkit.core.shipped import shipped


class Finding(NamedTuple):
    """One check of one group. problem: empty where all is well."""

    group: str
    check: str
    problem: str


def verify(benchmark: Benchmark, groups: Sequence[str]) -> Iterator[Finding]:
    """Check those of the groups that are here: its counts against the published ones, kept files against their SHA-256,
    shipped topics and qrels against the sources they were made from."""
    for group in benchmark.spec.groups:
        if group["name"] in groups and benchmark.is_present(group["name"]):
            yield from _verify_group(benchmark, group)


def _verify_group(benchmark: Benchmark, group: Mapping[str, Any]) -> Iterator[Finding]:
    name = group["name"]
    if not benchmark.comes_with_tandem:
        changed = _changed_files(kept.kept_folder(benchmark.spec, group))
        yield Finding(name, "checksums", changed)
        if changed:  # what is damaged need not be readable
            return
    else:
        yield Finding(name, "topics and qrels", _stale_files(benchmark, name))
    part = benchmark.part(name)
    yield Finding(name, "counts", other_counts(part, group))
    yield from (Finding(name, check, problem) for check, problem in benchmark.checks(name))


def other_counts(part: Part, group: Mapping[str, Any]) -> str:
    """Where the counts of a group are not the published ones; empty where they are, and where nobody knows them.

    What the group does not hold (documents that are not on this machine) cannot be counted, and is not.
    """
    found, wanted = counts(part), group.get("counts", {})
    return "; ".join(
        f"{number} {what} expected, {found[what]} found"
        for what, number in wanted.items()
        if what in found and found[what] != number
    )


def _changed_files(folder: Path) -> str:
    try:
        recorded, found = kept.facts(folder)["sha256"], kept.checksums(folder)
    except (FileNotFoundError, KeyError, TypeError):
        return f"{folder / 'kept.yaml'} is missing or damaged"
    names = sorted(name for name in {*recorded, *found} if recorded.get(name) != found.get(name))
    return f"not as kept: {', '.join(names)}" if names else ""


def _stale_files(benchmark: Benchmark, group: str) -> str:
    stale = [str(path.name) for path, content in shipped_files(benchmark, group) if _read(path) != content]
    return f"not as the sources say: {', '.join(stale)}" if stale else ""


def shipped_files(benchmark: Benchmark, group: str) -> Iterator[tuple[Path, bytes]]:
    """The shipped topics and qrels of a group, with the content that its source gives them."""
    with tempfile.TemporaryDirectory() as made:
        for mode in benchmark.spec.modes or ("",):
            for path in write_topics_and_qrels(benchmark, group, mode, Path(made), Path(made)):
                yield shipped("qrels" if path.name.startswith("qrels") else "topics", path.name), path.read_bytes()


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
