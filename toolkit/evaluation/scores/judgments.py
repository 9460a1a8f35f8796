"""What a run is evaluated against: the qrels of each group, their modes, and the measures that are shown by default."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import REVERSED, Modes
from toolkit.core.notes import MISLEADS, Note
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.core.topics import Topic
from toolkit.datasets import Benchmark, PublishedIds, Selection
from toolkit.datasets.own import provenance_file
from toolkit.datasets.recorded_topics import recorded_topics
from toolkit.evaluation.scores import subtopics
from toolkit.evaluation.scores.run_inputs import Source, as_sources, load_qrels, sorted_by_query
from toolkit.files.formats import read_run
from toolkit.files.provenance import Recorded, part, read_record
from toolkit.metrics import parse_all

Declared = Mapping[str, str] | Sequence[tuple[str, str]] | None  # modes, each with its role

PLAIN = ("nDCG@10", "RR@10", "R@100", "AP")
MODE_OF_FILE = "name the mode of each file, as in --qrels MODE=F"


@dataclass(frozen=True, eq=False)
class Part:
    """One group (dimension, language, data set) of what is judged.

    qrels     of all modes; query ids carry their mode, one of `qrels.modes`, and are sorted
    cores     query id without mode -> core query; None where nobody knows (then the id tells)
    measures  that the benchmark's table shows for this group alone; the first is the group's score
    types     query id -> what kind of question it is (`Topic.condition`), where the benchmark says
    """

    group: str
    qrels: Qrels
    cores: Mapping[str, str] | None = None
    measures: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgments:
    """All that is judged, group by group.

    name       the benchmark, or the files
    reference  what the benchmark is found by: its name, or a folder and the part of it; empty for files
    modes      that are judged, in the order in which they are shown; empty where query ids carry none
    measures   shown where nobody asks for others
    shown      the modes in which they are then; all where it is empty (a measure of several modes is always shown)
    published  the benchmark's published ids; None where there are only files
    notes      what a reader of the scores must know about this benchmark
    together   modes whose queries have a mean over all of them too, as the benchmark's table has it
    provenance the file that says who wrote, filtered and judged the items; empty where there is none
    judges     the models that made the judgments, as the records of their files say
    """

    name: str
    modes: Modes
    parts: tuple[Part, ...]
    measures: tuple[str, ...]
    published: PublishedIds | None = None
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    reference: str = ""
    provenance: str = ""
    judges: tuple[str, ...] = ()

    @property
    def qrels(self) -> Qrels:
        """All of them."""
        return join_qrels((part.qrels for part in self.parts), self.name)

    @property
    def known_modes(self) -> Modes:
        """All that query ids may carry, judged or not."""
        return registry.modes_of(self.parts[0].qrels)

    @property
    def query_ids(self) -> list[str]:
        """Every judged query id, with its mode."""
        return [query_id for part in self.parts for query_id in part.qrels.query_ids]


def from_files(sources: Sequence[Source], modes: Modes | None = None) -> Judgments:
    """Judgments of qrels files, DataFrames or Qrels; the ids show what they have in common with a benchmark.

    modes  that the query ids carry; without, those of a benchmark whose modes they carry. ToolkitError where an id has none
    """
    qrels = sorted_by_query(load_qrels(sources))
    if not qrels.query_ids:
        raise ToolkitError(f"{qrels.source or 'the qrels'}: no judgments", "name a file with judgments")
    qrels = replace(qrels, modes=modes or registry.modes_of(qrels))
    modes_of_ids = {qrels.modes.split(query_id)[1] for query_id in qrels.query_ids}
    name = ", ".join(source.name for source in sources if source.name) or "qrels"
    if modes and "" in modes_of_ids:
        without = [query_id for query_id in qrels.query_ids if not modes.split(query_id)[1]]
        raise ToolkitError(f"{name}: query ids without one of the modes {', '.join(modes)}: {three(without)}", MODE_OF_FILE)
    judged = Modes() if "" in modes_of_ids else qrels.modes.only(modes_of_ids)
    notes = ()
    if not modes and (unnamed := registry.unnamed_modes(qrels.query_ids, qrels.modes)):
        # no measure would compare what belongs together
        endings, named = ", ".join(f"-{name}" for name in unnamed), " ".join(f"{name}=ROLE" for name in unnamed)
        notes = (f"warning: query ids end in {endings} as if in modes, and are taken as queries without: say --modes {named}",)
    parts, measures = (Part("all", qrels),), _default_measures(judged, qrels)
    return Judgments(name, judged, parts, measures, notes=notes, judges=_judges(sources))


def _default_measures(modes: Modes, qrels: Qrels) -> tuple[str, ...]:
    """For files: what the benchmark with these modes, or with perspectives, shows."""
    if not modes:
        return subtopics.MEASURES if subtopics.has_subtopics(qrels) else PLAIN
    return registry.benchmark("infosearch" if qrels.modes.of(REVERSED) else "followir").measures


def from_benchmark(name: str, sources: Sequence[Source] = ()) -> Judgments:
    """Judgments of a registered benchmark, one of its groups or modes (`infosearch-audience-ins`), or of an ir_datasets id.

    sources  qrels to take in place of the benchmark's own: groups and kinds of questions are still the benchmark's
    """
    selection = datasets.find(name)
    if selection is None:
        if sources:
            raise ToolkitError(f"{name} has no groups to divide {sources[0].name} into", "leave --benchmark out")
        qrels = datasets.open_collection(name).qrels("all")
        return Judgments(name, Modes(), (Part("all", sorted_by_query(qrels)),), PLAIN)
    benchmark, given = datasets.load(selection.benchmark), load_qrels(sources) if sources else None
    modes = selection.modes or ("",)
    topics = {group: [t for mode in modes for t in benchmark.topics(group, mode)] for group in selection.groups}
    asked = {topic.mode for of_group in topics.values() for topic in of_group}  # a copy may lack a whole mode
    known = tuple(mode for mode in selection.modes if mode in asked)
    together = tuple(mode for mode in benchmark.spec.options.get("together", ()) if mode in known)
    parts = tuple(_part(benchmark, group, selection, topics[group], given) for group in selection.groups)
    notes = tuple(_benchmark_notes(benchmark, selection))
    return Judgments(
        selection.name,
        benchmark.spec.modes.only(known),
        tuple(part for part in parts if part.qrels.query_ids),
        benchmark.spec.measures or _default_measures(benchmark.spec.modes, join_qrels(part.qrels for part in parts)),
        PublishedIds.of(topic for group in selection.groups for topic in topics[group]),
        notes if given is None else (*notes, *_given_notes(selection.name, given, topics), *_wording_notes(sources)),
        tuple(mode for mode in benchmark.spec.options.get("shown", ()) if mode in selection.modes),
        together if len(together) > 1 else (),
        selection.reference,
        str(provenance_file(benchmark.spec.folder) or ""),
        _judges(sources),
    )


def modes_of_ids(benchmark: str | None, declared: Declared = None) -> Modes | None:
    """What query ids may carry: the modes declared, name -> role, else those of a benchmark of ours, also where only a part of
    it is named; None for anything else. Raises ToolkitError where a benchmark and modes are named.
    """
    if benchmark and declared:
        raise ToolkitError(f"the modes of {benchmark} are known", "leave --modes out, or name --qrels instead of a benchmark")
    if declared:
        return Modes.declared(dict(declared), "--modes")
    selection = datasets.find(benchmark) if benchmark else None
    return datasets.load(selection.benchmark).spec.modes if selection else None


def judged_by(benchmark: str | None, qrels: Any = None, declared: Declared = None) -> Judgments:
    """What judges runs, as users name it: a benchmark, qrels with the modes of their ids, or qrels of a benchmark's queries."""
    modes = modes_of_ids(benchmark, declared)
    sources = [] if qrels is None else as_sources(qrels, modes)
    return from_benchmark(benchmark, sources) if benchmark else from_files(sources, modes)


def _part(benchmark: Benchmark, group: str, selection: Selection, topics: Sequence[Topic], given: Qrels | None) -> Part:
    modes = selection.modes or ("",)
    if given is None:
        qrels = join_qrels(benchmark.qrels(group, mode) for mode in modes)
    else:
        own = given.select(topic.query_id for topic in topics)
        of_modes = [benchmark.qrels(group, mode).weights for mode in modes] if benchmark.has_qrels(group) else []
        weights = {key: weight for each in of_modes for key, weight in each.items()}
        named = {"modes": benchmark.spec.modes, "weights": weights, "documents": lambda: benchmark.documents(group)}
        qrels = replace(subtopics.with_all_perspectives(own, topics), **named)
    row = next(row for row in benchmark.spec.groups if row["name"] == group)
    cores = {topic.base_id: topic.group_id for topic in topics}
    types = {topic.query_id: topic.condition for topic in topics if topic.condition}
    name = group if len(selection.groups) > 1 else "all"
    return Part(name, sorted_by_query(qrels), cores, tuple(row.get("measures", ())), types)


def _given_notes(name: str, given: Qrels, topics: Mapping[str, Sequence[Topic]]) -> Iterator[str]:
    """Whose judgments these are, and where they are of other questions or fewer perspectives than the benchmark's."""
    known = {topic.query_id: topic for each in topics.values() for topic in each}
    judged = [query_id for query_id in given.query_ids if query_id in known]
    if not judged:
        hint = f"query ids are those of {name}, as in {three(known)}"
        raise ToolkitError(f"{given.source} judges no query of {name}: it has {three(given.query_ids) or 'none'}", hint)
    yield f"judged by {given.source}"
    if without := known.keys() - set(judged):
        # a pair without a line does not hold, and so a question without one holds none of its perspectives
        what = "their perspectives count as not covered" if any(known[each].perspectives for each in without) else "left out"
        yield f"{len(without):,} of {len(known):,} queries of {name} are not judged: {what} ({three(without)})"
    if strange := len(given.query_ids) - len(judged):
        yield f"{strange:,} judged queries are not of {name}: left out"
    named = dict(zip(given.query_ids, subtopics.perspectives(given).tolist(), strict=True))
    if fewer := [query_id for query_id in judged if named[query_id] < len(known[query_id].perspectives)]:
        judged_in_part = f"{len(fewer):,} questions are judged for some perspectives only"
        yield f"{judged_in_part}: the others count as not covered ({three(fewer)})"


def _judging(sources: Sequence[Source]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """File and report of each judge that made the judgments, as the files' records say."""
    for file in [source.name for source in sources if source.name and Path(source.name).is_file()]:
        reports = part(read_record(file), "method").get("judging")
        yield from ((file, report) for report in (reports if isinstance(reports, list) else ()) if part(report))


def _judges(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(report["name"]) for _, report in _judging(sources) if report.get("name")))


def _wording_notes(sources: Sequence[Source]) -> Iterator[str]:
    """Where a judge was asked in other words than those that the published judgments were made with, or may have been."""
    for file, report in _judging(sources):
        if "prompt_source" in report and not re.fullmatch(r"(paper|model) \(.*\)", str(report.get("prompt_of"))):
            prompt = f"our {report.get('prompt_name')}" if report.get("prompt") == "ours" else report.get("prompt")
            asked = f"{report.get('name')} was asked by {prompt}; the published wording is in {report['prompt_source']}"
            yield f"{file}: {asked}, and only that wording's judgments compare with published numbers"


def _benchmark_notes(benchmark: Benchmark, selection: Selection) -> Iterator[str]:
    if benchmark.spec.mini:
        said = f"{benchmark.spec.name} was written for this project: no score on it is comparable with a published one"
        yield Note(said, MISLEADS)
    if selection.absent:
        here, meant = len(selection.groups), len(selection.groups) + len(selection.absent)
        name = benchmark.spec.name if meant == len(benchmark.groups) else selection.name
        yield f"{here} of the {meant} groups of {name} are on this machine: {', '.join(selection.groups)}"


def in_modes_read(
    judgments: Judgments, runs: Sequence[Run], measures: str | Sequence[str] | None
) -> tuple[Judgments, list[Run]]:
    """Judgments and runs in the modes that the measures read, where a run has no query in another; else all of them."""
    split = judgments.modes.split
    found = [{split(query_id)[1] for query_id in run.query_ids} for run in runs]
    read = _modes_read(judgments, measures or ())
    if not read or all(modes.issuperset(judgments.modes) for modes in found):
        return judgments, list(runs)
    parts = [replace(part, qrels=part.qrels.select(_in(read, part.qrels, judgments))) for part in judgments.parts]
    note = f"judged only in the modes {' and '.join(read)}, as {', '.join(map(str, parse_all(measures)))} reads no other"
    narrowed = replace(judgments, modes=judgments.modes.only(read), parts=tuple(parts), notes=(*judgments.notes, note))
    return narrowed, [run.select(_in(read, run, judgments)) for run in runs]


def _in(modes: Sequence[str], of: Run | Qrels, judgments: Judgments) -> list[str]:
    return [query_id for query_id in of.query_ids if judgments.modes.split(query_id)[1] in modes]


def _modes_read(judgments: Judgments, measures: str | Sequence[str]) -> tuple[str, ...]:
    """The modes that measures over several modes read, in order; none where one of them is a measure of each mode."""
    specs = [registry.measure(measure.NAME) for measure in parse_all(measures)]
    if not all(spec.over == PAIRED for spec in specs):
        return ()
    return judgments.modes.of(*{role for spec in specs for role in (*spec.modes, *spec.needs)})


def check(run: Run, name: str, judgments: Judgments, *, every_mode: bool = True) -> None:
    """Raise ToolkitError where a run is of another benchmark, or was not made for any query in one of the modes.

    name        what to call it in the message
    every_mode  whether a mode may be empty only where the run's record says that it was searched
    """
    modes = judgments.modes if every_mode else ()
    try:
        _check(set(run.query_ids), name, judgments, modes)
    except ToolkitError:
        if not (searched := _searched(run)):
            raise
        _check(searched.union(run.query_ids), name, judgments, modes)


def read_runs(paths: Sequence[str], judgments: Judgments, *, apart: bool = False) -> list[Run]:
    """Run files in the order given; ToolkitError for one that has nothing to do with what is judged.

    apart  runs of one tag or none are called by their files: rows of one name would be one
    """
    runs = [read_run(path) for path in paths]
    for run in runs:
        check(run, run.source, judgments)
    tags = [run.tag for run in runs]
    return [replace(run, tag=run.source) if apart and (not run.tag or tags.count(run.tag) > 1) else run for run in runs]


def _searched(run: Run) -> set[str]:
    """The queries that a run was made for, as its record says; none where nothing says so.

    BM25 finds nothing across scripts: a query without documents is not yet one that was never searched. What was converted
    from a run with more queries has a copy of that run's metadata: they do not say why queries are missing here.
    """
    recorded = Recorded(run.source, run)
    data = part(recorded.record, "data")
    converted = part(data, "run", "converted from")
    if "topics" not in data or (converted and converted.get("queries") != len(run.query_ids)):
        return set()
    try:
        return {topic.query_id for topic in recorded_topics(recorded).topics}
    except ToolkitError:  # the topics have moved or changed: what the run lacks is said as of any other
        return set()


def _check(run_ids: Set[str], name: str, judgments: Judgments, modes: Sequence[str]) -> None:
    judged = judgments.query_ids
    shared = run_ids.intersection(judged)
    if not shared:
        bases = {judgments.modes.split(query_id)[0] for query_id in judged}
        hint = "is it the run of another benchmark?"
        if judgments.modes and bases & run_ids:
            files = " ".join(f"{mode}=F" for mode in judgments.modes)
            hint = f"its ids carry no mode: name the mode of each file, as in --run {files}"
        message = f"{name} has no query of {judgments.name}: it has {three(run_ids) or 'none'}; judged are {three(judged)}"
        raise ToolkitError(message, hint)
    for mode in modes:
        wanted = [query_id for query_id in judged if judgments.modes.split(query_id)[1] == mode]
        if not wanted:
            hint = f"give qrels of every mode, or {_one_mode(judgments, shared)}"
            raise ToolkitError(f"{judgments.name}: no judgments in mode {mode}", hint)
        if run_ids.isdisjoint(wanted):
            message = f"{name} has no query in mode {mode}: it lacks {three(wanted)}"
            raise ToolkitError(message, f"give the run of every mode, {_less(judgments, shared)}")


def _less(judgments: Judgments, query_ids: Set[str]) -> str:
    """What can be evaluated of these queries: measures that read no other mode, or one mode."""
    found = {judgments.modes.split(query_id)[1] for query_id in query_ids}
    read = {measure: _modes_read(judgments, measure) for measure in judgments.measures}
    enough = [measure for measure, modes in read.items() if modes and found.issuperset(modes)]
    modes = " and ".join(judgments.modes.only(found))
    named = f"name measures that read only {modes} (-m {' '.join(enough)}), " if enough else ""
    return f"{named}or {_one_mode(judgments, query_ids)}"


def _one_mode(judgments: Judgments, query_ids: Set[str]) -> str:
    """How to judge only the mode of these queries: the end of a hint."""
    mode = judgments.modes.split(min(query_ids))[1]
    return f"judge one mode: {f'--benchmark {judgments.name}-{mode}' if judgments.published else 'its qrels alone'}"
