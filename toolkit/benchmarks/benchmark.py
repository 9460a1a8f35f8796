"""A benchmark: topics, qrels, documents and candidates of each of its groups, read on first use."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolkit import registry
from toolkit.benchmarks import kept, mini
from toolkit.benchmarks.parts import Part
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.home import home
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic

# a registry entry's `layout` -> the module that reads it. It has `NEEDED`, the keys of a group's entry, and
# `is_present(spec, group)` and `read(spec, group) -> Part`
LAYOUTS = {"infosearch": kept, "infosearch-mini": mini}


class Collection(Protocol):
    """What every benchmark offers, ours and those of ir_datasets. Modes are `""` where a benchmark has none."""

    spec: BenchmarkSpec
    groups: tuple[str, ...]

    def topics(self, group: str, mode: str = "") -> list[Topic]:
        """The queries of one group in one mode."""

    def qrels(self, group: str, mode: str = "") -> Qrels:
        """The judgments of one group in one mode."""

    def docs(self, group: str) -> Iterator[Doc]:
        """The group's own corpus."""

    def scoreddocs(self, group: str, mode: str = "") -> Run | None:
        """Candidates to rerank; None where there are none."""


class Benchmark:
    """A benchmark of the registry.

    spec    its registry entry
    groups  the names of its dimensions, languages or data sets, in the registry's order
    """

    def __init__(self, spec: BenchmarkSpec):
        if spec.layout not in LAYOUTS:
            raise ToolkitError(f"benchmark {spec.name}: unknown layout {spec.layout!r}", f"known: {', '.join(LAYOUTS)}")
        for group in spec.groups:
            if missing := [key for key in LAYOUTS[spec.layout].NEEDED if not isinstance(group.get(key), str)]:
                raise ToolkitError(f"benchmark {spec.name}: a group lacks {', '.join(missing)} (text)", f"its entry: {group}")
        self.spec = spec
        self.groups = tuple(group["name"] for group in spec.groups)
        self._rows = {group["name"]: group for group in spec.groups}
        self._parts: dict[str, Part] = {}

    def is_present(self, group: str) -> bool:
        """Whether the group's data are on this machine; nothing is fetched to know it."""
        return LAYOUTS[self.spec.layout].is_present(self.spec, self._rows[group])

    def part(self, group: str) -> Part:
        """All of one group; fetched first where it is not on this machine (ToolkitError where that fails)."""
        if group not in self._rows:
            raise ToolkitError(f"{self.spec.name} has no group {group!r}", f"known: {', '.join(self.groups)}")
        if group not in self._parts:
            self._parts[group] = LAYOUTS[self.spec.layout].read(self.spec, self._rows[group])
        return self._parts[group]

    def topics(self, group: str, mode: str = "") -> list[Topic]:
        """The queries of one group in one mode, in the benchmark's order."""
        return list(self._of_mode(self.part(group).topics, mode))

    def qrels(self, group: str, mode: str = "") -> Qrels:
        """The judgments of one group in one mode."""
        return self._of_mode(self.part(group).qrels, mode)

    def docs(self, group: str) -> Iterator[Doc]:
        """The group's own corpus."""
        return iter(self.part(group).docs)

    def scoreddocs(self, group: str, mode: str = "") -> Run | None:
        """Candidates to rerank, None where the benchmark (or the local copy) has none."""
        return self.part(group).scoreddocs.get(mode)

    def _of_mode(self, values: Any, mode: str) -> Any:
        if mode not in values:
            raise ToolkitError(f"{self.spec.name} has no mode {mode!r}", f"known: {', '.join(values)}")
        return values[mode]


@functools.cache
def _load(name: str, user_home: Path) -> Benchmark:
    return Benchmark(registry.benchmark(name))


def load(name: str) -> Benchmark:
    """The benchmark of this name; its data are read on first use and stay in memory."""
    return _load(name, home())


def take(name: str, folder: Path, groups: Sequence[str] = ()) -> dict[str, Part]:
    """Keep what a local folder in the published layout holds of a benchmark, by group (see `kept.take`).

    groups  only these; all where none is named
    """
    benchmark = load(name)
    if LAYOUTS[benchmark.spec.layout] is not kept:
        raise ToolkitError(f"{name} comes with Tandem", "there is nothing to fetch")
    wanted = [group for group in benchmark.spec.groups if not groups or group["name"] in groups]
    parts = kept.take(benchmark.spec, wanted, folder)
    benchmark._parts.update(parts)
    return parts


def present_groups(benchmark: Benchmark) -> Sequence[str]:
    """The groups whose data are on this machine, in order."""
    return tuple(group for group in benchmark.groups if benchmark.is_present(group))
