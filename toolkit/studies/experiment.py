"""Several systems on several benchmarks: search, rerank, evaluate, report.

In one folder: a folder for each benchmark with `<system>.trec` (and its record), `<system>.rerank-NAME.trec`, `scores.json`;
and `report.html` of all. What is there and up to date, as its record says, is not made again. With a set of templates each
system has a run for each, `<system>.template-NAME.trec`, and for each control, `<system>.placebo.trec`; `templates.json` has
what they say.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Scores
from toolkit.core.specs import SERVED
from toolkit.core.system.files import write_text
from toolkit.core.system.progress import say
from toolkit.core.tables.aligned_table import Table
from toolkit.core.tables.shown_result import ShownResult
from toolkit.datasets import TopicSet
from toolkit.datasets.accepted import File, Loader, Measures, Missing, Precision
from toolkit.evaluation.scores.score_table import lay_out
from toolkit.files.provenance import Output, Provenance, file_digest
from toolkit.jobs import RunJob, pipeline_job
from toolkit.jobs.file_job import engine_of, opened
from toolkit.jobs.search_jobs import rerank_job
from toolkit.retrieval.instructions import PLACEBO, topics_sent
from toolkit.retrieval.rerank.rerank_step import Rerank
from toolkit.retrieval.search.chosen_system import on_servers
from toolkit.retrieval.search.retrieve import DEFAULT_HITS, Retrieve
from toolkit.retrieval.steps import given_topics
from toolkit.studies.planned_rows import Failure, PlannedRow, make_row, recorded, why_unlike
from toolkit.studies.template_sets import CONTROLS, Variant, movement_notes, read_templates, template_table

SCORES, REPORT, TEMPLATES = "scores.json", "report.html", "templates.json"


@dataclass(repr=False)
class Results(ShownResult):
    """scores: benchmark -> scores of all of its runs; runs: their files; failures: what could not be done.

    templates  benchmark -> what a set of templates says of each system
    """

    runs: dict[str, list[Path]] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    report: Path | None = None
    templates: dict[str, Table] = field(default_factory=dict)

    def __repr__(self) -> str:
        runs = sum(map(len, self.runs.values()))
        return f"Results({len(self.scores)} benchmarks, {runs} runs, {len(self.failures)} failures)"

    def tables(self) -> list[Table]:
        """The scores of each benchmark, and what templates say."""
        scored = [replace(lay_out(scores), title=f"{name}\n\n") for name, scores in self.scores.items()]
        return scored + [replace(table, title=f"{name}, by templates\n\n") for name, table in self.templates.items()]


class Experiment:
    """Systems on benchmarks, looked up and checked when it is made; options are those of `experiment`.

    templates   a file or mapping of name -> template of a query: each system is searched with each, and with each control in
                the place of instructions, see `toolkit.studies.template_sets`; its documents are encoded once
    controls    whether each system is run with placebos in the place of instructions, too, where the benchmark has some
    rerank_recipe, rerank_kind   of rerankers alone, as `core.specs.SERVED` in `how` is; `instruction_as` goes to every server
    how         what `Retrieve` takes; `device`, `batch_size`, `trust_remote_code` and `systems` (files) are rerankers', too

    Raises ToolkitError with everything that is wrong at once.
    """

    def __init__(
        self,
        names: Sequence[str],
        benchmarks: Sequence[str],
        *,
        output: str | Path,
        rerank: Sequence[str] = (),
        hits: int = DEFAULT_HITS,
        depth: int | None = None,
        measures: Sequence[str] | None = None,
        missing: str = "worst",
        precision: str | None = None,
        rerank_recipe: str | None = None,
        rerank_kind: str | None = None,
        templates: str | Path | Mapping[str, str] | None = None,
        controls: bool = True,
        **how: Any,
    ):
        self.controls = controls
        self.output, self.measures, self.missing = Path(output), measures, missing
        self.templates = read_templates(templates) if templates is not None else {}
        if self.output.exists() and not self.output.is_dir():
            raise ToolkitError(f"{output} is a file", "name a folder with --output")
        if not names or not benchmarks:
            raise ToolkitError("an experiment is of systems on benchmarks", "name one of each")
        shared = ("device", "batch_size", "trust_remote_code", "systems")
        of_both = {name: how[name] for name in shared if how.get(name)} | {"precision": precision}
        reranking = {"recipe": rerank_recipe, "kind": rerank_kind} | {name: how.pop(name, None) for name in SERVED}
        problems: list[Failure] = []
        topics, searches, rerankers = {}, [], []
        for name in dict.fromkeys(benchmarks):
            with recorded(name, problems, bugs=False):
                topics[name] = given_topics(name)
                if topics[name].benchmark is None:
                    raise ToolkitError(f"{name} has no judgments", "name a benchmark")
        files, instruction_as = how.get("systems") or (), reranking["instruction_as"]
        for name in dict.fromkeys(names):
            with recorded(name, problems, bugs=False):
                [served] = on_servers([name], None, files=files)
                given = {**how, "hits": hits, "instruction_as": instruction_as if served else None}
                for variant, template in {"": None, **self.templates}.items():
                    step = Retrieve(name, **given, **({"query_template": template} if template else {}))
                    searches.append((step.in_precision(precision) if precision else step, variant))
        for name in dict.fromkeys(rerank):
            with recorded(name, problems, bugs=False):
                rerankers.append(Rerank(name, depth=depth, **of_both, **reranking))
        _refuse(problems)
        self.variants: dict[Path, tuple[str, str, str]] = {}  # path -> system, template and control
        self.runs: list[PlannedRow] = []
        for benchmark, topic_set in topics.items():
            for step, variant in searches:
                with recorded(f"{step.name} on {benchmark}", problems, bugs=False):
                    self.runs += self._rows(benchmark, topic_set, step, rerankers, variant)
        _refuse(problems)
        if twice := [path for path, count in Counter(run.path for run in self.runs).items() if count > 1]:
            raise ToolkitError(f"two of these runs are {twice[0]}", "name each system and benchmark once")

    def _rows(
        self, benchmark: str, topics: TopicSet, step: Retrieve, rerankers: Sequence[Rerank], template: str
    ) -> Iterator[PlannedRow]:
        """A system's rows on a benchmark: its run, those of the rerankers over it, and beside its own template the controls."""
        yield from self._reranked(self._searched(benchmark, topics, step, template=template), topics, rerankers)
        for control in self._controls(topics, step) if not template else ():
            run = self._searched(benchmark, topics, step, control=control)
            yield from self._reranked(run, topics, () if self.templates else rerankers, control)

    def _controls(self, topics: TopicSet, step: Retrieve) -> Sequence[str]:
        """What stands in the place of instructions in further runs of a system: of a set of templates all of `CONTROLS`."""
        if self.templates:
            return CONTROLS
        # rules read the instructions themselves, whatever a system is sent in their place
        if not self.controls or step.chosen.rules or not any(topic.instruction for topic in topics.topics):
            return ()
        try:
            topics_sent(topics, PLACEBO)
        except ToolkitError as error:
            say(f"note: {topics.name} has no control run: {error.message}")
            return ()
        return (PLACEBO,)

    @staticmethod
    def _reranked(run: PlannedRow, topics: TopicSet, rerankers: Sequence[Rerank], control: str = "") -> Iterator[PlannedRow]:
        """A run, and each reranker's over it."""
        yield run
        for reranker in rerankers:
            name = f"{run.name}.{reranker.name}"
            place = run.path.with_name(f"{name}.trec")
            how = {"topics": topics, "output": place, "tag": name, "instruction": control or "full"}
            yield PlannedRow(place, partial(rerank_job, run.path, reranker, **how), run, benchmark=run.benchmark)

    def _searched(
        self, benchmark: str, topics: TopicSet, step: Retrieve, *, template: str = "", control: str = ""
    ) -> PlannedRow:
        """The run of a system, with one of the templates or a control in the place of instructions, looked up and checked."""
        called = f"template-{template}" if template else control
        system = step.tag if called and self.templates else step.name
        name = ".".join(filter(None, [system, *step.limits, called]))
        path = self.output / topics.name / f"{name}.trec"
        self.variants[path] = (step.tag, template, control)

        def job() -> RunJob:
            # a copy: its model goes with the job
            return pipeline_job(copy(step), topics, output=path, tag=name, instruction=control or "full")

        job()
        return PlannedRow(path, job, benchmark=benchmark)

    def describe(self) -> list[str]:
        """What `make` would do, a line or more for each run."""
        lines, remade = [], set()
        for run in self.runs:
            waits = run.before in remade or not run.is_ready
            reason = "the run that it reranks is made first" if waits else run.reason_to_make()
            if not reason:
                lines.append(f"{run.path}: up to date")
                continue
            remade.add(run)
            lines.append(f"{run.path}: {reason}")
            if run.is_ready:
                job = run.job()
                lines += [f"  {line}" for line in [*(["resume what was interrupted"] if job.resumes() else []), *job.plan()]]
        lines += [f"{run.path.with_name(SCORES)}: evaluate" for run in self._first_runs()]
        return [*lines, f"{self.output / REPORT}: report"]

    def _first_runs(self) -> list[PlannedRow]:
        """One run of each benchmark."""
        return list({run.benchmark: run for run in reversed(self.runs)}.values())[::-1]

    def make(self, **engine: Any) -> Results:
        """Make what is not there or out of date, evaluate and report. What fails is in `failures`, and nothing else is lost.

        engine  who computes the runs, see `toolkit.jobs.file_job.opened`
        """
        results = Results()
        with opened(**engine) as executor:
            made = [run for run in self.runs if make_row(run, results.failures, executor)]
        for first in self._first_runs():
            runs = [run.path for run in made if run.benchmark == first.benchmark]
            with recorded(f"evaluation on {first.benchmark}", results.failures):
                self._evaluate(first.benchmark, runs, results)
        with recorded("report", results.failures):
            self._report(results)
        return results

    def _evaluate(self, benchmark: str, runs: Sequence[Path], results: Results) -> None:
        from toolkit.core.tables.table_forms import to_json
        from toolkit.evaluation import evaluate
        from toolkit.evaluation.scores.evaluation import prepare
        from toolkit.evaluation.scores.score_output import render

        if not runs:
            return
        scores = evaluate(list(map(str, runs)), benchmark=benchmark, measures=self.measures, missing=self.missing)
        write_text(runs[0].with_name(SCORES), render(scores, "json"))
        results.runs[benchmark], results.scores[benchmark] = list(runs), scores
        if self.templates:  # what they say of each system is written beside the scores
            own = [path for path in runs if path in self.variants]
            given = prepare(list(map(str, own)), benchmark, None, None, "tandem", apart=True)
            found = [Variant(*self.variants[path], run) for path, run in zip(own, given.runs, strict=True)]
            table = template_table(given, found, self.measures, self.missing)
            table = replace(table, notes=(*movement_notes(given, found, self.missing), *table.notes))
            write_text(own[0].with_name(TEMPLATES), to_json(table))
            results.templates[benchmark] = table

    def _report(self, results: Results) -> None:
        """One page of all, unless the one that is there is of these very runs and scores."""
        from toolkit.reporting.report.collect import collect
        from toolkit.reporting.report.make_report import report, to_html

        if not results.runs:
            return
        paths, started = [path for paths in results.runs.values() for path in paths], time.time()
        made_of = [*paths, *(runs[0].with_name(SCORES) for runs in results.runs.values())]
        data = {"files": {str(path.relative_to(self.output)): file_digest(path) for path in made_of}}
        results.report = self.output / REPORT
        if not why_unlike(results.report, "report", {"data/files": data["files"]}):
            return
        models = collect([*map(str, paths)], list(results.runs), measures=self.measures, missing=self.missing)
        text = to_html(report(models, missing=self.missing), missing=self.missing)
        about = {"tag": "report", "counts": {"runs": len(paths)}, "started": started, "what": "report"}
        Output(results.report).write(lambda path: write_text(path, text), Provenance(data=data), **about)


def _refuse(problems: Sequence[Failure]) -> None:
    """Raise the only problem, or one error with all of them."""
    if len(problems) == 1:
        raise problems[0].error
    if problems:
        shown = [f"{each.what}: {each.error.message} ({each.error.hint})" for each in problems]
        raise ToolkitError(f"{len(shown)} things are wrong", "nothing was done yet", problems=shown)


def experiment(
    names: str | Sequence[str],
    benchmarks: str | Sequence[str],
    *,
    output: File,
    rerank: str | Sequence[str] = (),
    rerank_recipe: str | None = None,
    rerank_kind: str | None = None,
    templates: File | Mapping[str, str] | None = None,
    controls: bool = True,
    hits: int = 1000,
    depth: int | None = None,
    threads: int | None = None,
    measures: Measures | None = None,
    missing: Missing = "worst",
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    instruction_as: Literal["field", "text"] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
) -> Results:
    """Search, rerank, evaluate and report several systems on several benchmarks; what is in `output` and up to date stays.

    names      of systems: of the registry, folders, Hugging Face ids
    rerank     rerankers, each of which reranks the run of every system
    output     a folder: a folder for each benchmark with its runs, their records and `scores.json`; `report.html`
    templates  names and templates of queries, each of which every system is searched with
    controls   False for no placebo run of each system

    Its `scores` are by benchmark, `runs` the files, `failures` what could not be made. Raises ToolkitError, with everything
    that is wrong, before anything is made.
    """
    how = dict(locals())
    made_by = engine_of(how)
    several = {name: [value] if isinstance(value := how[name], str) else value for name in ("names", "benchmarks", "rerank")}
    return Experiment(**how | several).make(**made_by)
