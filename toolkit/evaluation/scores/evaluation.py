"""Runs brought together with what judges them, ready to be scored or explained; also by types of questions."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import BASE
from toolkit.core.runs import Excerpt, Run
from toolkit.core.scores import Change, Place, Scores
from toolkit.core.system.files import check_exists
from toolkit.core.system.memory import give_back
from toolkit.core.tables.aligned_table import Table
from toolkit.core.tables.columns import AT_ONCE, lookup, to_arrow
from toolkit.datasets import Benchmark, PublishedIds
from toolkit.datasets.recorded_topics import recorded_benchmark
from toolkit.evaluation.comparison.comparison import Baseline, against, untested
from toolkit.evaluation.comparison.controls import Records, controls_among, recorded_controls
from toolkit.evaluation.comparison.intervals import NOTE
from toolkit.evaluation.comparison.intervals import intervals as intervals_of
from toolkit.evaluation.comparison.notes import falling_notes, rank_notes, run_findings, run_notes
from toolkit.evaluation.scores import subtopics
from toolkit.evaluation.scores.core_queries import CORE, INSTRUCTION, check_unit
from toolkit.evaluation.scores.judgments import Declared, Judgments, Part, check, in_modes_read, judged_by, modes_of_ids
from toolkit.evaluation.scores.run_inputs import as_sources, load_each, load_runs
from toolkit.evaluation.scores.score_table import lay_out
from toolkit.evaluation.scores.scoring import MeasureSet, score, score_references
from toolkit.evaluation.scores.subtopics import has_subtopics, perspectives
from toolkit.files.provenance import Recorded
from toolkit.metrics.evaluation import MISSING
from toolkit.metrics.explanation import lay_out as lay_out_explained
from toolkit.metrics.providers import is_ours

IDS = ("tandem", "published")


@dataclass(frozen=True)
class Evaluation:
    """Runs that fit their judgments.

    published  where query ids are read and written as the benchmark published them
    benchmark  its name, or that of an id of ir_datasets; None where qrels alone judge
    records    tag -> those of the run's files, where they are known: to verify one is to read the file again
    """

    runs: tuple[Run, ...]
    judgments: Judgments
    published: PublishedIds | None = None
    benchmark: str | None = None
    records: Mapping[str, Records] | None = None

    @property
    def has_references(self) -> bool:
        """Whether the original mode is judged, whose lists the references have."""
        return bool(self.judgments.modes.of(BASE))

    def scores(
        self,
        measures: str | Sequence[str] | None,
        *,
        by_query: bool = False,
        by_type: bool = False,
        references: bool = False,
        intervals: bool = False,
        missing: str = "worst",
        baseline: Baseline | None = None,
        ori_unit: str = INSTRUCTION,
    ) -> Scores:
        """All rows, run by run, each followed by its references; what a reader must know stands in the notes.

        measures   named ones come with their parts (`MeasureSpec.parts`)
        intervals  of every value, not only of measures that have one by themselves
        baseline   the run that the others are compared with
        ori_unit   what counts once in means over the base mode, see `core_queries.by_unit`
        """
        one_of("missing", missing, MISSING)
        check_unit(ori_unit, self.judgments)
        if (baseline or intervals) and ori_unit != INSTRUCTION:
            said = "differences to a baseline and intervals are of means over queries"
            raise ToolkitError(said, "leave --ori-unit, or --baseline and --intervals, out")
        chosen = replace(self.measure_set(with_parts(measures or ()), missing), ori_unit=ori_unit)
        wanted = chosen.every(self.judgments)
        if references:
            self._check_references()
        types, notes = types_of(self.judgments) if by_type else ((), [])
        runs, controls = _in_order(self.runs, baseline, self.records)
        rows = []
        for run in runs:
            rows += score(run, self.judgments, chosen, types=types, by_query=by_query)
            if references:
                rows += score_references(run, self.judgments, chosen, f" of {run.tag}" if len(self.runs) > 1 else "")
        found = run_findings(runs, self.judgments)
        if ori_unit == CORE:
            notes.append(f"{', '.join(self.judgments.modes.of(BASE))}: each core query counts once, not each instruction")
        notes = [*rank_notes(runs), *falling_notes(runs, self.judgments, wanted), *self.judgments.notes, *notes]
        notes += run_notes(runs, self.judgments, wanted, missing, found)
        if self.judgments.provenance or self.judgments.judges:
            from toolkit.evaluation.comparison.circularity import circularity_notes

            notes += circularity_notes(runs, self.judgments)
        present = {row.measure for row in rows}
        lacking = [measure for measure in wanted if measure not in present]
        if measures and (refused := [measure for measure in lacking if present.isdisjoint(parts_of(measure))]):
            raise ToolkitError(f"{self.judgments.name}: no value of {', '.join(refused)}", "judge all modes that they need")
        if lacking:
            notes.append(f"left out, as they need modes that are not judged here: {', '.join(lacking)}")
        own_intervals = intervals_of(runs, self.judgments, chosen, intervals)
        notes += [NOTE] if own_intervals else []
        changes: Mapping[Place, Change] = {}
        if baseline:
            changes, tested = against(baseline, self.runs, self.judgments, chosen, types)
            notes += [*tested, *untested(rows, changes)]
        if self.published:
            rows = [row._replace(query_id=self.published.theirs.get(row.query_id, row.query_id)) for row in rows]
        return Scores(tuple(rows), tuple(notes), changes, found, own_intervals, controls, lay_out)

    def _check_references(self) -> None:
        if not self.has_references:
            modes = ", ".join(self.judgments.modes)
            hint = f"judge it beside {modes}" if modes else f"{self.judgments.name} judges each query once"
            raise ToolkitError("reference rankings need judgments in the base mode", hint)

    def measure_set(self, measures: str | Sequence[str] | None, missing: str) -> MeasureSet:
        """What is computed: whoever names measures gets those alone, and in every mode."""
        judgments = self.judgments
        if measures:
            return MeasureSet(tuple(map(str, tandem.parse_all(measures))), missing=missing, together=judgments.together)
        per_group = any(part.measures for part in judgments.parts)
        named = tuple(map(str, tandem.parse_all(judgments.measures)))
        return MeasureSet(named, per_group, judgments.shown, missing, judgments.together)

    def explain(self, query_id: str) -> list[Table]:
        """What each run does with one query, given with or without its mode.

        Raises ToolkitError where the query is not judged in two modes.
        """
        split = self.judgments.known_modes.split
        base = split(query_id)[0]
        if self.published:
            base = next((ours for ours, theirs in self.published.theirs.items() if theirs == base), base)
        judging = [part for part in self.judgments.parts if any(split(known)[0] == base for known in part.qrels.query_ids)]
        if not judging:
            raise ToolkitError(f"{self.judgments.name} has no query {query_id}", f"it has {three(self.judgments.query_ids)}")
        return [lay_out_explained(run.tag, tandem.explain(run, judging[0].qrels, base)) for run in self.runs]


def _in_order(
    runs: Sequence[Run], baseline: Baseline | None, records: Mapping[str, Records] | None
) -> tuple[list[Run], Mapping[str, tuple[str, str]]]:
    """The runs, the baseline first and each followed by its controls; and those (`recorded_controls`), without the baseline."""
    known = recorded_controls(runs) if records is None else controls_among(records)
    first = [baseline.of(runs)] if baseline else []
    ordered = [*first, *(run for run in runs if run not in first)]
    controls = {tag: of for tag, of in known.items() if tag not in [run.tag for run in first]}
    places = {run.tag: place for place, run in enumerate(ordered)}
    places |= {tag: places[beside] for tag, (_, beside) in controls.items()}
    return sorted(ordered, key=lambda run: (places[run.tag], run.tag in controls)), controls


def parts_of(measure: str) -> list[str]:
    """The measures into which one is split, with its parameters."""
    spec = registry.measure(measure)
    return [measure.replace(spec.name, part, 1) for part in spec.parts]


def with_parts(measures: str | Sequence[str]) -> list[str]:
    """Measures, each before its parts, each once."""
    named = [str(measure) for measure in tandem.parse_all(measures)] if measures else []
    return list(dict.fromkeys(each for measure in named for each in (measure, *parts_of(measure))))


def prepare(
    runs,
    benchmark: str | Benchmark | None,
    qrels,
    depth: int | None,
    ids: str,
    unjudged: str = "refuse",
    *,
    modes: Declared = None,
    measures: str | Sequence[str] | None = None,
    apart: bool = False,
    every_mode: bool = True,
    lists: int | None = None,
) -> Evaluation:
    """Read everything, and check that it fits; parameters as in `toolkit.evaluation.evaluate`.

    Without benchmark and qrels, the benchmark is the one that the records of the runs name, which a note says.

    modes       name -> role, for qrels alone
    measures    that are going to be computed: a run may lack the modes that none of them reads
    apart       each file is a run by itself, and they stay in the order given
    every_mode  a run that has no query of a mode is refused, unless its record says that it was searched
    lists       of runs only judged documents and so many of each list are kept, if the measures are all computed here: those of
                ir_measures' providers read whole runs
    """
    one_of("ids", ids, IDS)
    one_of("unjudged", unjudged, subtopics.CHOICES)
    known = benchmark is not None or qrels is not None
    benchmark = (None if benchmark is None else str(benchmark)) if known else benchmark_of(runs)
    named = modes_of_ids(benchmark, modes)
    judgments = judged_by(benchmark, qrels, modes)
    notes = judgments.notes if known else (f"judged by {benchmark}, as the records of the runs say", *judgments.notes)
    judgments = replace(judgments, notes=(*notes, *subtopics.unjudged_notes(judgments.qrels, unjudged)))
    published = judgments.published if ids == "published" else None
    if ids == "published" and not published:
        raise ToolkitError(f"{judgments.name} has no published ids", "--ids published needs one of our benchmarks")
    computed = measures or [*judgments.measures, *(measure for part in judgments.parts for measure in part.measures)]
    excerpt = lists is not None and all(map(is_ours, tandem.parse_all(computed)))
    keep = excerpts(judgments, lists) if excerpt else (lambda run: run)
    load = load_each if apart else load_runs
    loaded = load(as_sources(runs, named), published.rename if published else None, lambda run: keep(to_depth(run, depth)))
    judgments, loaded = in_modes_read(judgments, loaded, measures)
    for run in loaded:
        check(run, run.tag, judgments, every_mode=every_mode)
    return Evaluation(tuple(loaded), judgments, published, benchmark)


def excerpts(judgments: Judgments, depth: int) -> Callable[[Run], Excerpt]:
    """What takes out of a run the best `depth` documents of each query, and those that are judged for it in any mode."""
    qrels, split = judgments.qrels, judgments.known_modes.split
    bases: dict[str, int] = {}
    base_of = np.array([bases.setdefault(split(query_id)[0], len(bases)) for query_id in qrels.query_ids], np.int64)
    width = len(qrels.doc_ids)
    judged = to_arrow(np.unique(base_of[qrels.queries] * width + qrels.docs))

    def excerpt(run: Run) -> Excerpt:
        run.doc_ids  # noqa: B018  numbered: a document is looked up once, and not in every line
        places = lookup(run.doc_ids, qrels.doc_ids)
        firsts = np.array([bases.get(split(query_id)[0], -1) for query_id in run.query_ids], np.int64) * width
        lines = []
        for first in range(0, len(run), AT_ONCE):
            docs, keys = (column[first : first + AT_ONCE] for column in (run.docs, run.queries))
            docs, keys = places[docs], firsts[keys]
            known = np.flatnonzero((docs >= 0) & (keys >= 0))
            lines.append(first + known[lookup(to_arrow((keys + docs)[known]), judged) >= 0])
        give_back()
        return run.excerpt(depth, np.concatenate(lines))

    return excerpt


def benchmark_of(runs: Any) -> str:
    """The benchmark that the records of the runs name. Raises ToolkitError for a missing file, and for none or several."""
    given = [source.given for source in as_sources(runs)]
    files = [Recorded(str(one), None) for one in given if isinstance(one, str | Path)]
    made = [Recorded("", one) for one in given if isinstance(one, Run) and one.record]
    for file in files:
        if file.source != "-":
            check_exists(file.source)
    try:
        return recorded_benchmark(files + made)
    except ToolkitError as error:
        raise ToolkitError(f"evaluation needs a benchmark, or qrels: {error.message}", error.hint) from error


def to_depth(run: Run, depth: int | None) -> Run:
    """The best `depth` documents of each query, all where it is None."""
    if depth is not None and depth < 1:
        raise ToolkitError(f"depth is {depth}", "at least 1")
    return run if depth is None else run.head(depth)


def one_of(what: str, given: str, known: Sequence[str]) -> None:
    """Raise ToolkitError where a word is not one of those known."""
    if given not in known:
        raise ToolkitError(f"{what} is {given!r}", f"one of {', '.join(known)}")


MANY = 3  # perspectives from which on questions are of one kind


def types_of(judgments: Judgments) -> tuple[tuple[Part, ...], list[str]]:
    """A part `type <name>` for each kind of question, by name, and what is to be said of them.

    A kind is what the benchmark says (`Topic.condition`); where it says nothing, the number of perspectives that are judged.
    Raises ToolkitError where there is neither.
    """
    qrels, notes = judgments.qrels, []
    types = {query_id: kind for part in judgments.parts for query_id, kind in part.types.items()}
    if not types:
        if not has_subtopics(qrels):
            raise ToolkitError(f"{judgments.name} has no types of questions", "leave --by-type out")
        for query_id, number in zip(qrels.query_ids, perspectives(qrels).tolist(), strict=True):
            counted = f"{MANY} or more" if number >= MANY else f"{number}"
            types[query_id] = f"{counted} perspective{'s' * (number > 1)}"
        notes.append("types of questions are their numbers of perspectives: the data name none")
    members = defaultdict(set)
    for query_id in qrels.query_ids:
        if query_id in types:
            members[types[query_id]].add(query_id)
    if without := len(qrels.query_ids) - sum(map(len, members.values())):
        notes.append(f"{without:,} queries without a type are in no row of types")
    known = {base: core for part in judgments.parts for base, core in (part.cores or {}).items()}
    parts, split = [], judgments.modes.split
    for kind, query_ids in sorted(members.items()):
        cores = {base: known[base] for base in (split(query_id)[0] for query_id in query_ids) if base in known}
        parts.append(Part(f"type {kind}", qrels.select(query_ids), cores or None))
    return tuple(parts), notes
