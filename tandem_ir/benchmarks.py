"""Benchmarks and their files: `load` and `read_...`, and the command `tandem build` as an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.system.lazy_names import pandas

if TYPE_CHECKING:
    from toolkit.core.runs import Run
    from toolkit.core.topics import Topic
    from toolkit.datasets import Collection
    from toolkit.datasets.accepted import File, Frame, Loader, Modes, Precision, QrelsForm, Records, Topics


def load(
    benchmark: File,
    *,
    docs: File | Frame | Mapping[str, str] | Records | None = None,
    topics: Frame | Mapping[str, str] | Records | None = None,
    qrels: QrelsForm | Mapping[str, QrelsForm] | None = None,
    modes: Modes | None = None,
    measures: Sequence[str] = (),
) -> Collection:
    """A benchmark by its name (`infosearch-mini`) or folder (`benchmark.yaml` in it), or a collection of ir_datasets by its id.

    With topics, what is given is written into the folder first, which is a benchmark from then on:

    docs      a DataFrame or rows with doc_id (or id), title, text; {doc_id: text}; or a file of documents
    topics    rows with id, query, instructions ({mode: text}), group, core, condition, perspectives; {query_id: query}
    qrels     query_id, doc_id, relevance, where ids end in their mode (`q1-pos`); or mode -> such judgments
    modes     name -> role: {"base": "base", "pos": "instructed", "neg": "reversed"}; left out, one without a name
    measures  what its table shows

    It has `groups`, `topics(group, mode)`, `qrels(group, mode)`, `docs(group)`, `scoreddocs(group, mode)`, and calls take it
    where they take its name. Raises ToolkitError, with the nearest known name, where there is none, and with all that is wrong
    with a folder.
    """
    from toolkit.datasets import find, open_collection
    from toolkit.datasets import load as load_benchmark

    if topics is not None:
        from toolkit.core.modes import Modes
        from toolkit.datasets.own.own_new import from_tables, new_folder

        declared = Modes.declared(modes or {}, "modes")
        content = from_tables({} if docs is None else docs, topics, qrels, declared)
        new_folder(Path(benchmark), content, declared, measures=measures)
    benchmark = str(benchmark)
    selection = find(benchmark)
    return load_benchmark(selection.benchmark) if selection else open_collection(benchmark)


def read_run(path: File, form: str = "") -> Run:
    """A run from a file of any form (TREC, JSON, JSONL, Parquet, MTEB, PyTerrier, MS MARCO, ranx), recognised by its content.

    form  which one it is, for a file that fits two

    It keeps the record beside it, so that calls know its benchmark. Raises ToolkitError with what is wrong with the file.
    """
    from toolkit.files.provenance.record import read_recorded
    from toolkit.files.runs.runs import read_run

    recorded = read_recorded(path, lambda file: read_run(file, form))
    return replace(recorded.content, record=recorded.record)


def read_topics(topics: Topics) -> list[Topic]:
    """The topics of a benchmark's name or of a file, of several, or those that a DataFrame, a mapping or a list holds."""
    from toolkit.retrieval.steps import given_topics

    return given_topics(topics).topics


class Build:
    """A benchmark that is built step by step, in a folder with `build.yaml`; see the guide.

        build = tandem.Build.new("instructir", "mine")
        build.run()
        print(build.status())
        benchmark = build.benchmark("mine-benchmark")

    Raises ToolkitError with every problem of `build.yaml` when it is made.
    """

    def __init__(self, folder: File):
        from toolkit.construction import BuildFolder

        self._build = BuildFolder(folder)

    @classmethod
    def new(cls, kind: str, folder: File) -> Build:
        """A folder with the example of a kind (`instructir`, ...), whose `build.yaml` is to be edited."""
        from toolkit.construction import new_build

        new_build(kind, folder)
        return cls(folder)

    def run(
        self,
        step: str | None = None,
        *,
        prompts: File | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        batch_size: int | None = None,
        trust_remote_code: bool = False,
        loader: Loader | None = None,
        concurrency: int | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        replay: bool | None = None,
        engine: str | None = None,
        workers: int | None = None,
        threads_per_worker: int | None = None,
        gpus_per_worker: float | None = None,
        units: File | None = None,
    ) -> pandas.DataFrame:
        """Do what is not up to date, up to a step or all of it; the `status` after it. What was interrupted resumes.

        prompts  a folder of published prompts (`published_prompts`): the steps' own are copied, and sent from now on

        Raises ToolkitError for what cannot be asked or made; what was answered is cached.
        """
        how = {name: value for name, value in locals().items() if name not in ("self", "step", "prompts")}
        if prompts is not None:
            from toolkit.construction.build_config import take_prompts

            take_prompts(self._build.path, prompts)
        self._build = type(self._build)(self._build.path)  # as build.yaml is now
        self._build.run(step, **how)
        return self.status()

    def status(self) -> pandas.DataFrame:
        """A row a step: entered, left, rejected (why -> how many), waiting, requests, cached, tokens, cost, state."""
        from toolkit.construction.build_tables import status_rows

        return pandas.DataFrame(status_rows(self._build.config, self._build.states()))

    def show(self, item_id: str) -> list[dict[str, Any]]:
        """An item in every step, with its ancestors and descendants: step, relation, id, fields, sources, made, rejected."""
        from toolkit.construction.build_tables import history_rows

        return history_rows(self._build.steps().history(item_id))

    def export_review(
        self,
        step: str,
        output: File,
        *,
        form: str = "",
        reviewers: Sequence[str] = (),
        to_settle: bool = False,
        first: int | None = None,
    ) -> Path:
        """Write the page that reviewers of a step's items get; its path.

        form  for a step that is none of review; reviewers  their names; first  so many items at most
        """
        from toolkit.construction.review.review_rounds import export_review

        build = type(self._build)(self._build.path)
        export_review(build, step, output, form=form, reviewers=reviewers, to_settle=to_settle, first=first)
        return Path(output)

    def import_review(self, *files: File) -> dict[str, Any]:
        """Take reviewers' files back, all or none: how many answers are new, known, partial, whose; `run` lets them decide."""
        from toolkit.construction.review.review_rounds import import_review

        return import_review(type(self._build)(self._build.path), files)._asdict()

    def agreement(self) -> pandas.DataFrame:
        """How far reviewers agree: step, question, measure, items, value, low, high."""
        from toolkit.construction.review.review_status import agreement_rows

        columns = ["step", "question", "measure", "items", "value", "low", "high"]
        return pandas.DataFrame(agreement_rows(type(self._build)(self._build.path)), columns=columns)

    def benchmark(self, to: File) -> Collection:
        """Write the benchmark into a folder, and open it as `tandem.load` does. ToolkitError where a step is not done."""
        return load(str(self._build.benchmark(to)))
