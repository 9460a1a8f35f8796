"""A benchmark: topics, qrels, documents and candidates of each of its groups, read on first use."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import home
from toolkit.core.topics import Topic
from toolkit.datasets.copies import local_copies
from toolkit.datasets.group_data import Group, Part, part_name
from toolkit.datasets.layouts import find, layout_of
from toolkit.datasets.minis import MINIS

if TYPE_CHECKING:
    from toolkit.datasets.own.own_folder import OwnFolder


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

    As text it is what a command may be given for it: its name, or the folder that it was opened from.
    """

    def __init__(self, spec: BenchmarkSpec, reference: str = ""):
        self._layout = layout_of(spec.layout, spec.name)
        for group in spec.groups:
            if missing := [key for key in self._layout.NEEDED if not isinstance(group.get(key), str)]:
                raise ToolkitError(f"benchmark {spec.name}: a group lacks {', '.join(missing)} (text)", f"its entry: {group}")
        self.spec = spec
        self.groups = tuple(group["name"] for group in spec.groups)
        self._reference = reference or spec.name
        self._parts: dict[str, Part] = {}

    def __str__(self) -> str:
        return self._reference

    @property
    def _modes(self) -> str:
        return f"; modes {', '.join(self.spec.modes)}" if self.spec.modes else ""

    def __repr__(self) -> str:
        return f"Benchmark({self._reference}: {', '.join(self.groups)}{self._modes})"

    def _repr_html_(self) -> str:
        from toolkit.core.tables.aligned_table import Column, Table  # of a notebook alone

        counts = {
            group["name"]: {"here": "yes" if self.is_present(group["name"]) else "no", **group.get("counts", {})}
            for group in self.spec.groups
        }
        kinds = list(dict.fromkeys(kind for row in counts.values() for kind in row))
        rows = [(name, *(row.get(kind) for kind in kinds)) for name, row in counts.items()]
        title = f"{self._reference}{self._modes}: {self.spec.description}"
        return Table([Column("group", label=True), *map(Column, kinds)], rows, title=title)._repr_html_()

    @property
    def comes_with_tandem(self) -> bool:
        """Whether its sources are shipped: nothing is fetched or stored."""
        return self.spec.layout in MINIS

    def is_present(self, group: str) -> bool:
        """Whether the group's data are on this machine; nothing is fetched to know it."""
        row = self.spec.group(group)
        if self.spec.folder:
            return find(self._layout, Path(self.spec.folder), row) is not None
        return self.comes_with_tandem or local_copies.is_present(self.spec, row)

    def part(self, group: str) -> Part:
        """All of one group; fetched first where it is not on this machine (ToolkitError where that fails)."""
        row = self.spec.group(group)
        if group not in self._parts:
            self._parts[group] = self._read(row)
        return self._parts[group]

    def _read(self, row: Group) -> Part:
        if self.comes_with_tandem:
            return self._layout.read(self.spec, row)
        if not self.spec.folder:
            return local_copies.read(self.spec, row)
        folder = find(self._layout, Path(self.spec.folder), row)
        if folder is None:
            raise ToolkitError(f"{self.spec.name} is no longer in {self.spec.folder}", "put the folder back, or add it again")
        return self._layout.read(folder, self.spec, row)

    def checks(self, group: str) -> Iterator[tuple[str, str]]:
        """What the layout checks of a group: the name of a check and the problem, empty where all is well."""
        check = getattr(self._layout, "checks", None)
        return check(self.part(group), self.spec.group(group)) if check else iter(())

    def topics(self, group: str, mode: str = "") -> list[Topic]:
        """The queries of one group in one mode, in the benchmark's order."""
        return list(self._of_mode(self.part(group).topics, mode))

    def qrels(self, group: str, mode: str = "") -> Qrels:
        """The judgments of one group in one mode. ToolkitError where the benchmark was published without."""
        if not self.has_qrels(group):
            raise self._lacks(group, "qrels")
        qrels = self._of_mode(self.part(group).qrels, mode)
        return replace(qrels, modes=self.spec.modes, documents=lambda: self.documents(group))

    def documents(self, group: str) -> int | None:
        """How many documents the group is searched over: as published, or counted where they are here; None where neither."""
        corpus = self.spec.corpus(group)
        published = self.spec.group(corpus).get("counts", {}).get("documents")
        if published or not self.is_present(corpus):
            return published
        docs = self.part(corpus).docs
        return None if docs is None else len(docs)

    def docs(self, group: str) -> Iterator[Doc]:
        """The corpus that the group is searched over. ToolkitError where the documents are not here."""
        corpus = self.spec.corpus(group)
        docs = self.part(corpus).docs
        if docs is None:
            raise self._lacks(corpus, "documents")
        return iter(docs)

    def has_qrels(self, group: str) -> bool:
        """Whether the group was published with judgments."""
        return bool(self.part(group).qrels)

    def has_docs(self, group: str) -> bool:
        """Whether the documents of the group are here, or would be fetched with it."""
        return self.part(self.spec.corpus(group)).docs is not None

    def check_docs(self, group: str) -> None:
        """ToolkitError where the documents are known not to be here: nothing is fetched to know it."""
        if self.is_present(self.spec.corpus(group)):
            self.docs(group)

    def _lacks(self, group: str, what: str) -> ToolkitError:
        hint = self.part(group).lacks.get(what, f"`tandem benchmarks show {self.spec.name}` says where they are")
        return ToolkitError(f"the {what} of {part_name(self.spec.name, group)} are not on this machine", hint)

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
    """The benchmark of this name, or in this folder (see `own`); its data are read on first use and stay in memory."""
    if os.path.isabs(name):
        from toolkit.datasets.own.own_folder import open_folder

        return _load_folder(name, open_folder(name))
    return _load(name, home())


@functools.lru_cache(maxsize=8)
def _load_folder(path: str, own: OwnFolder) -> Benchmark:
    """own: what the folder holds now: another one where a file of it has changed."""
    own.check()
    return Benchmark(own.spec, path)


def take(name: str, folder: Path, groups: Sequence[str] = ()) -> dict[str, Part]:
    """Store what a local folder in the published layout holds of a benchmark, by group (see `local_copies.take`).

    groups  only these; all where none is named
    """
    benchmark = load(name)
    if benchmark.comes_with_tandem:
        raise ToolkitError(f"{name} comes with Tandem", "there is nothing to fetch")
    if benchmark.spec.folder:
        raise ToolkitError(f"{name} is read where it lies: {benchmark.spec.folder}", "tandem benchmarks add DIR names another")
    wanted = [group for group in benchmark.spec.groups if not groups or group["name"] in groups]
    parts = local_copies.take(benchmark.spec, wanted, folder)
    benchmark._parts.update(parts)
    return parts


def present_groups(benchmark: Benchmark) -> Sequence[str]:
    """The groups whose data are on this machine, in order."""
    return tuple(group for group in benchmark.groups if benchmark.is_present(group))
