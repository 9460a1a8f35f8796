"""From runs and benchmarks that a user names to what a report is made of."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.runs import Run
from toolkit.core.scores import Score
from toolkit.datasets import find, load, resolve_topics
from toolkit.evaluation.comparison.references import is_reference
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.evaluation.scores.run_inputs import Source, as_sources, load_runs
from toolkit.evaluation.scores.scoring import score
from toolkit.evaluation.scores.stance import by_stance, contested_questions, read_stances
from toolkit.files.provenance import NamedRun, Recorded, run_names, system_name
from toolkit.files.provenance.naming import natural
from toolkit.metrics.families.diagnostics import Findings
from toolkit.reporting.pages import TOP
from toolkit.reporting.report.differences import with_baseline
from toolkit.reporting.report.model import Key, QueryValues, ReportModel, RunFacts
from toolkit.reporting.report.run_facts import cost_of, find_system, heading_of, headings

JUDGED = "Judged@10"
Records = dict[str, tuple[Mapping[str, Any], ...]]
X = ("parameters", "seconds", "tokens", "memory")  # what quality is drawn against


def collect(
    runs: Sequence[Any] | Mapping[str, Any],
    benchmarks: Sequence[str] = (),
    *,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int | None = None,
    unjudged: str = "refuse",
    missing: str = "worst",
    ori_unit: str = "instruction",
    ids: str = "tandem",
    x: str = X[0],
    radar: bool = False,
    perspectives: Sequence[Any] = (),
    stances: str | Path | None = None,
    baseline: str | None = None,
    whole: bool = True,
) -> list[ReportModel]:
    """Read and score runs, benchmark by benchmark; of several benchmarks, each run is judged by the one whose queries it has.

    runs, qrels, modes, measures, depth, unjudged, missing, ori_unit, ids   as in `toolkit.evaluation`; what is compared query
                                                 by query counts instructions
    x                                            one of `X`
    radar                                        whether groups are drawn as a radar too
    perspectives                                 runs of the perspectives of questions with two sides, ids `<question>.<n>`
    stances                                      a file that says which perspective supports, see `analyze stance`
    baseline                                     the run that others are compared with: name, tag or file; else that of BM25
    whole                                        whether all lines of runs are kept, which papers' numbers, claims and pages of
                                                 two runs read; a report of its own reads judged documents and the top of lists

    Raises ToolkitError for what cannot be read or judged, and where a run fits none of several benchmarks or two of them.
    """
    sources = as_sources(runs, Modes(modes or ()))
    if len(benchmarks) < 2:
        given = [(benchmarks[0] if benchmarks else None, sources)]
    else:
        if qrels is not None or ids != "tandem":
            raise ToolkitError("qrels or published ids are of one benchmark", "make a report of each benchmark")
        given = list(_assigned(sources, benchmarks).items())
    models = []
    for name, of_benchmark in given:
        # published ids are for reading runs: plots and queries know ours
        evaluation = replace(
            prepare(
                *(of_benchmark, name, qrels, depth, ids, unjudged), modes=modes, measures=measures, lists=None if whole else TOP
            ),
            published=None,
        )
        models.append(_model_of(evaluation, of_benchmark, measures, missing, ori_unit, x))
    if perspectives or stances:
        if len(models) > 1:
            raise ToolkitError("runs of perspectives are of one benchmark", "make a report of each benchmark")
        models = [_with_stances(models[0], as_sources(perspectives), read_stances(stances) if stances else None)]
    models = with_baseline(models, baseline)
    return [replace(each, beside=tuple(other for other in models if other is not each), radar=radar) for each in models]


def _with_stances(model: ReportModel, sources: Sequence[Source], stances: Mapping[str, str] | None) -> ReportModel:
    """With each run of perspectives at the run of the questions that has its tag, or else is the only one of its system."""
    for part in model.judgments.parts:
        contested_questions(part.qrels, stances)  # refuses stances of other questions
    lists = load_runs(sources) if sources else []
    records = _records(sources, lists)
    stance_runs = {}
    for run in lists:
        called = system_name(run.tag, next(iter(records[run.tag]), {}))
        fits = [facts for facts in model.runs if facts.run.tag == run.tag]
        fits = fits or [facts for facts in model.runs if facts.called == called]
        if len(fits) != 1:
            message = f"{run.source or run.tag}: {len(fits)} of the runs of questions are of its system, {called}"
            raise ToolkitError(message, "perspectives stand beside one run of the same tag")
        stance_runs[fits[0].name] = by_stance(run, model.judgments, stances)
    runs = tuple(replace(facts, by_stance=stance_runs.get(facts.name, {})) for facts in model.runs)
    return replace(model, runs=runs, stances=stances)


def _assigned(sources: Sequence[Source], benchmarks: Sequence[str]) -> dict[str, list[Source]]:
    """Benchmark -> the files that hold its queries."""
    judged = {name: set(from_benchmark(name).query_ids) for name in dict.fromkeys(benchmarks)}
    assigned = {name: [] for name in judged}
    for source in sources:
        query_ids = load_runs([source])[0].query_ids
        fits = [name for name, known in judged.items() if not known.isdisjoint(query_ids)]
        if len(fits) != 1:
            which = f"queries of {' and of '.join(fits)}" if fits else f"no query of {', '.join(judged)}"
            raise ToolkitError(f"{source.name} has {which}", "make a report of each benchmark")
        assigned[fits[0]].append(source)
    if without := [name for name, files in assigned.items() if not files]:
        raise ToolkitError(f"no run has queries of {', '.join(without)}", "leave the benchmark out, or name its runs")
    return assigned


def _model_of(
    evaluation: Evaluation, sources: Sequence[Source], measures: Sequence[str] | None, missing: str, ori_unit: str, x: str
) -> ReportModel:
    runs, records = _named(evaluation.runs, sources)
    evaluation = replace(evaluation, runs=tuple(runs), records=records)
    judgments = evaluation.judgments
    for run in evaluation.runs:
        run.doc_ids  # noqa: B018  numbered once: every number and every figure looks documents up
    more = {"references": evaluation.has_references, "ori_unit": ori_unit}
    scores = evaluation.scores(measures, by_query=True, missing=missing, **more)
    share = evaluation.measure_set([JUDGED], missing)
    judged = {run.tag: score(run, judgments, share) for run in evaluation.runs}
    # run -> its own name and those of its references, which stand behind its rows -> rows
    rows: dict[str, dict[str, list[Score]]] = {}
    tag = ""
    for row in scores.rows:
        tag = tag if is_reference(row.run) else row.run
        rows.setdefault(tag, {}).setdefault(row.run.removesuffix(f" of {tag}"), []).append(row)
    names = run_names([NamedRun(run.tag, run.source, records[run.tag]) for run in evaluation.runs])
    runs = [
        _facts(name, run, _files(sources, run), records[run.tag], rows[run.tag], judged[run.tag], scores.findings[run.tag])
        for name, run in zip(names, evaluation.runs, strict=True)
    ]
    order = list(headings())
    benchmark = evaluation.benchmark
    selection = find(benchmark) if benchmark else None
    return ReportModel(
        name=judgments.name,
        benchmark=load(selection.benchmark).spec if selection else None,
        judgments=judgments,
        runs=tuple(sorted(runs, key=lambda facts: (order.index(facts.heading), natural(facts.name)))),
        measures=tuple(dict.fromkeys(row.measure for row in scores.rows)),
        topics=tuple(resolve_topics(benchmark).topics) if benchmark else (),
        notes=scores.notes,
        x=x,
    )


def _named(runs: Sequence[Run], sources: Sequence[Source]) -> tuple[list[Run], Records]:
    """The runs in the order of their tags, and the records of each. Those of one tag, which are called by their files' paths,
    get a name instead: what a report says is the same wherever files lie.
    """
    records = _records(sources, runs)
    names = run_names([NamedRun(run.tag, run.source, records[run.tag]) for run in runs])
    tags = {run.tag for run in runs}
    by_path = [run.tag in run.source.split(", ") and name not in tags for run, name in zip(runs, names, strict=True)]
    named = [replace(run, tag=name) if path else run for run, name, path in zip(runs, names, by_path, strict=True)]
    return sorted(named, key=lambda run: run.tag), {new.tag: records[run.tag] for new, run in zip(named, runs, strict=True)}


def _records(sources: Sequence[Source], runs: Sequence[Run]) -> Records:
    """Tag -> what stands beside each of the run's files; of a run in memory what it was made with."""
    records = {}
    for run in runs:
        beside = [Recorded(str(each.given), run).record for each in _files(sources, run)]
        given = [each.given for each in sources if isinstance(each.given, Run) and run.tag == (each.tag or each.given.tag)]
        records[run.tag] = tuple(filter(None, [*beside, *(each.record for each in given)]))
    return records


def _files(sources: Sequence[Source], run: Run) -> list[Source]:
    """Those that the run was read from: one, or its parts, which are named side by side."""
    names = (run.source, *run.source.split(", "))
    return [each for each in sources if isinstance(each.given, str | Path) and each.name in names]


def _facts(
    name: str,
    run: Run,
    files: Sequence[Source],
    records: tuple[Mapping[str, Any], ...],
    rows: Mapping[str, Sequence[Score]],
    judged: Sequence[Score],
    findings: Findings,
) -> RunFacts:
    first = records[0] if records else {}
    # a run that is called by its file's path has a name without it
    called = system_name(name if run.tag in run.source.split(", ") else run.tag, first)
    system = find_system(called)
    by_key: dict[Key, list[Score]] = defaultdict(list)
    for row in (row for row in rows[run.tag] if row.query_id):
        by_key[Key(row.group, row.measure, row.mode)].append(row)
    values = {
        key: QueryValues(tuple(row.query_id for row in own), np.array([row.value for row in own]))
        for key, own in by_key.items()
    }
    return RunFacts(
        name=name,
        run=run,
        system=system,
        called=called,
        heading=heading_of(first, called),
        cost=cost_of(records, system),
        records=records,
        sources=tuple(files),
        scores=tuple(row for row in rows[run.tag] if not row.query_id),
        judged=tuple(judged),
        findings=findings,
        references={order: tuple(aggregate) for order, aggregate in rows.items() if order != run.tag},
        values=values,
    )
