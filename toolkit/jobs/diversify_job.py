"""The job that diversifies runs: several runs and lambdas in one pass, a file for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolkit.core.errors import ToolkitError, three
from toolkit.datasets import join_topics, resolve_topics
from toolkit.files.formats import read_qrels, read_run
from toolkit.files.provenance import Output
from toolkit.jobs.file_job import RunJob, run_by, runs_job, stem_of
from toolkit.retrieval.diversify.diversify_step import Diversify
from toolkit.retrieval.steps import Made, Results, given_run, given_topics

if TYPE_CHECKING:
    from toolkit.core.runs import Run
    from toolkit.datasets.accepted import File, Precision, RunForm, Topics
    from toolkit.models.checkpoints.own_systems import TextEncoder

OUTPUT = "runs/{run}.{method}.trec"


class DiversifyJob(RunJob):
    """Diversify runs.

    runs, dev  files, in any form that `runs convert` reads; `dev` are those that lambda is tuned on, `qrels` their judgments: a
               file is a data set, or, with `topics` of several groups, a group is
    output     a file, with the slots {run}, {lam} and {method} where there are several
    how        see `Diversify`

    Raises ToolkitError.
    """

    def __init__(
        self,
        runs: Sequence[str | Path],
        *,
        dev: Sequence[str | Path] = (),
        qrels: Sequence[str | Path] = (),
        topics: Sequence[str] | None = None,
        output: str | Path | None = None,
        tag: str | None = None,
        **how: Any,
    ):
        for paths in (runs, dev):
            if twice := {str(path) for path in paths if list(paths).count(path) > 1}:
                raise ToolkitError(f"{three(twice)} is named twice", "name each run once")
        tuned_on = {str(path): read_run(path) for path in dev}
        topic_sets = [resolve_topics(name) for name in topics or ()]
        join_topics(topic_sets)  # a query of two of them would be in two groups
        step = Diversify(dev=tuned_on, judged=[read_qrels(path) for path in qrels], topics=topic_sets, **how)
        self.pattern = OUTPUT if output is None else str(output)
        super().__init__(Results(runs=tuple(map(given_run, runs))), step, tag=tag or "")
        # a tuned lambda is one, and not known yet
        slots = [{"lam": f"{lam:g}", "method": step.method(lam)} for lam in (step.lams[:1] if step.dev else step.lams)]
        places = [self.place(Made(made.run, source=made.source, slots=each)) for made in self.inputs.runs for each in slots]
        if len({place.path for place in places}) < len(places):
            message = f"{len(places)} runs would be written to {len({place.path for place in places})} files"
            raise ToolkitError(message, "put {run} and {lam} into --output, as in runs/{run}.mmr-{lam}.trec")
        if len(places) == 1:
            [self.output] = places  # beside which a cluster's workers would have their results

    def place(self, made: Made) -> Output:
        """The file of a run."""
        name = self.pattern
        for slot, value in {"run": stem_of(made.source), **made.slots}.items():
            name = name.replace(f"{{{slot}}}", value)
        return Output.at(name)

    def describe(self) -> list[str]:
        """See `Job`."""
        return [*self.plan(), f"write {self.pattern}"]


def diversify(
    run: RunForm,
    *,
    lam: float | None = None,
    setting: str | None = None,
    depth: int = 100,
    normalisation: Literal["paper", "release"] = "paper",
    scale: str | float | None = None,
    tail: Literal["keep", "drop"] = "keep",
    system: str | TextEncoder | None = None,
    vectors: File | None = None,
    topics: Topics | None = None,
    index: str | None = None,
    docs: str | None = None,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    output: File | None = None,
    tag: str | None = None,
) -> Run:
    """Maximal marginal relevance over a run's best documents.

    lam      the weight of relevance, from 0 to 1
    setting  instead of it lambda and scale of BERDS for a corpus and a retriever, `wikipedia/bm25`
    topics   the run's, whose corpora have the texts; or `index`, `docs`, or `vectors` of `encode`

    Raises ToolkitError.
    """
    how = dict(locals())
    if lam is None and setting is None:
        raise ToolkitError("neither lambda nor a setting is given", "lam=0.75, or setting='wikipedia/bm25'")
    of_step = {name: value for name, value in how.items() if name not in ("run", "lam", "output", "tag")}
    of_step["topics"] = [] if topics is None else [given_topics(topics)]
    return run_by(runs_job(Diversify(lams=[] if lam is None else [lam], **of_step), [run], output=output, tag=tag))
