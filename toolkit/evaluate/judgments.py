"""What a run is held against: the qrels of each group, their modes, and the measures that are shown by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import FOLLOWIR, KNOWN, split_mode
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.evaluate.inputs import Source, load_qrels, sorted_by_query

if TYPE_CHECKING:
    from toolkit.benchmarks import Benchmark, PublishedIds, Selection

PLAIN = ("nDCG@10", "RR@10", "R@100", "AP")
FOLLOWED = ("nDCG@20", "pMRR")


@dataclass(frozen=True)
class Part:
    """One group (dimension, language, data set) of what is judged.

    qrels  of all modes; query ids carry their mode and are sorted
    cores  query id without mode -> core query; None where nobody knows (then the id tells)
    """

    group: str
    qrels: Qrels
    cores: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Judgments:
    """All that is judged, group by group.

    name       the benchmark, or the files
    modes      in the order in which they are shown; empty where query ids carry none
    measures   shown where nobody asks for others
    published  the benchmark's published ids; None where there are only files
    notes      what a reader of the scores must know about this benchmark
    """

    name: str
    modes: tuple[str, ...]
    parts: tuple[Part, ...]
    measures: tuple[str, ...]
    published: PublishedIds | None = None
    notes: tuple[str, ...] = ()

    @property
    def query_ids(self) -> list[str]:
        """Every judged query id, with its mode."""
        return [query_id for part in self.parts for query_id in part.qrels.query_ids]


def from_files(sources: Sequence[Source]) -> Judgments:
    """Judgments of qrels files, DataFrames or Qrels; what they have in common with a benchmark is told by the ids."""
    qrels = sorted_by_query(load_qrels(sources))
    if not qrels.query_ids:
        raise ToolkitError(f"{qrels.source or 'the qrels'}: no judgments", "name a file with judgments")
    found = {split_mode(query_id)[1] for query_id in qrels.query_ids}
    modes = () if "" in found else tuple(mode for mode in KNOWN if mode in found)
    name = ", ".join(source.name for source in sources if source.name)
    return Judgments(name or "qrels", modes, (Part("all", qrels),), _default_measures(modes))


def _default_measures(modes: tuple[str, ...]) -> tuple[str, ...]:
    """For files: what the benchmark with these modes shows."""
    if not modes:
        return PLAIN
    if set(modes) <= set(FOLLOWIR):
        return FOLLOWED
    from toolkit import registry

    return registry.benchmark("infosearch").measures


def from_benchmark(name: str) -> Judgments:
    """Judgments of a registered benchmark, one of its groups or modes (`infosearch-audience-ins`), or of an ir_datasets id."""
    from toolkit import benchmarks

    selection = benchmarks.find(name)
    if selection is None:
        qrels = benchmarks.open_collection(name).qrels("all")
        return Judgments(name, (), (Part("all", sorted_by_query(qrels)),), PLAIN)
    benchmark = benchmarks.load(selection.benchmark)
    modes = selection.modes or ("",)
    topics = (topic for group in selection.groups for mode in modes for topic in benchmark.topics(group, mode))
    return Judgments(
        selection.name,
        selection.modes,
        tuple(_part(benchmark, group, selection) for group in selection.groups),
        benchmark.spec.measures or PLAIN,
        benchmarks.PublishedIds.of(topics),
        tuple(_benchmark_notes(benchmark, selection)),
    )


def _part(benchmark: Benchmark, group: str, selection: Selection) -> Part:
    modes = selection.modes or ("",)
    qrels = join_qrels(benchmark.qrels(group, mode) for mode in modes)
    topics = (topic for mode in modes for topic in benchmark.topics(group, mode))
    cores = {split_mode(topic.query_id)[0]: topic.group_id for topic in topics}
    return Part(group if len(selection.groups) > 1 else "all", sorted_by_query(qrels), cores)


def _benchmark_notes(benchmark: Benchmark, selection: Selection) -> Iterator[str]:
    if benchmark.spec.mini:
        yield f"{benchmark.spec.name} was written for this project: no score on it is comparable with a published one"
    if len(selection.groups) < len(benchmark.groups) and selection.groups[0] not in selection.name:
        yield (
            f"{len(selection.groups)} of the {len(benchmark.groups)} groups of {benchmark.spec.name} are on this machine: "
            f"{', '.join(selection.groups)}"
        )


def check(run_ids: Iterable[str], name: str, judgments: Judgments) -> None:
    """Raise ToolkitError where a run is of another benchmark, or has no query at all in one of the modes."""
    judged, run_ids = judgments.query_ids, set(run_ids)
    shared = run_ids.intersection(judged)
    if not shared:
        bases = {split_mode(query_id)[0] for query_id in judged}
        hint = "is it the run of another benchmark?"
        if judgments.modes and bases & run_ids:
            hint = "its ids carry no mode: name the mode of each file, as in --run " + " ".join(
                f"{mode}=F" for mode in judgments.modes
            )
        raise ToolkitError(
            f"{name} has no query of {judgments.name}: it has {three(run_ids) or 'none'}; judged are {three(judged)}", hint
        )
    for mode in judgments.modes:
        wanted = [query_id for query_id in judged if split_mode(query_id)[1] == mode]
        if run_ids.isdisjoint(wanted):
            alone = f"--benchmark {judgments.name}-{split_mode(min(shared))[1]}" if judgments.published else "its qrels alone"
            raise ToolkitError(
                f"{name} has no query in mode {mode}: it lacks {three(wanted)}",
                f"give the run of every mode, or judge one mode: {alone}",
            )
