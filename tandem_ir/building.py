"""Building benchmarks: the command `tandem build` as an object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.system.lazy_names import pandas

if TYPE_CHECKING:
    from toolkit.construction.checks.benchmark_check import BenchmarkCheck
    from toolkit.datasets import Collection


class Build:
    """A benchmark that is built step by step, in a folder with `build.yaml`; see the guide.

        build = tandem.Build.new("instructir", "mine")
        build.run()
        print(build.status())
        benchmark = build.benchmark("mine-benchmark")

    Raises ToolkitError with every problem of `build.yaml` when it is made.
    """

    def __init__(self, folder: str | Path):
        from toolkit.construction import BuildFolder

        self._build = BuildFolder(folder)

    @classmethod
    def new(cls, kind: str, folder: str | Path) -> Build:
        """A folder with the `build.yaml` of a kind (`instructir`, ...), to be edited; ToolkitError where there is one."""
        from toolkit.construction import new_build

        new_build(kind, folder)
        return cls(folder)

    def run(self, step: str | None = None, *, prompts: str | Path | None = None, **how: Any) -> pandas.DataFrame:
        """Do what is not up to date, up to a step or all of it; the `status` after it. What was interrupted resumes.

        prompts  a folder of published prompts (`published_prompts`): the steps' own are copied, and sent from now on
        how  `replay` (cached answers only), `loader`, `concurrency`, `retries`, `timeout` of a server; `device`, `precision`,
             `batch_size`, `trust_remote_code` of a model on this machine; `engine`, `workers`, ... of a cluster

        Raises ToolkitError for what cannot be asked or made; what was answered is cached.
        """
        if prompts is not None:
            from toolkit.construction.build_config import take_prompts

            take_prompts(self._build.path, prompts)
        self._build = type(self._build)(self._build.path)  # as build.yaml is now
        self._build.run(step, **how)
        return self.status()

    def status(self) -> pandas.DataFrame:
        """A row a step: entered, left, rejected (why -> how many), waiting, requests, cached, tokens, cost, state."""
        from toolkit.construction.records.build_tables import status_rows

        return pandas.DataFrame(status_rows(self._build.config, self._build.states()))

    def show(self, item_id: str) -> list[dict[str, Any]]:
        """An item in every step, with its ancestors and descendants: step, relation, id, fields, sources, made, rejected."""
        from toolkit.construction.records.build_tables import history_rows

        return history_rows(self._build.steps().history(item_id))

    def export_review(self, step: str, output: str | Path, **how: Any) -> list[Path]:
        """Write what reviewers of a step's items get, a page or Label Studio's tasks with their configuration; the files.

        how  `form` for a step that is none of review, `reviewers` (names), `to_settle`, `first` (so many items at most),
             `format` (`html` or `label-studio`)
        """
        from toolkit.construction.review.review_rounds import export_review

        return list(export_review(type(self._build)(self._build.path), step, output, **how).files)

    def import_review(self, *files: str | Path) -> dict[str, Any]:
        """Take reviewers' files back, all or none: how many answers are new, known, partial, whose; `run` lets them decide."""
        from toolkit.construction.review.review_rounds import import_review

        return import_review(type(self._build)(self._build.path), files)._asdict()

    def agreement(self) -> pandas.DataFrame:
        """How far reviewers agree: step, question, measure, items, value, low, high."""
        from toolkit.construction.review.review_status import agreement_rows

        columns = ["step", "question", "measure", "items", "value", "low", "high"]
        return pandas.DataFrame(agreement_rows(type(self._build)(self._build.path)), columns=columns)

    def benchmark(self, to: str | Path) -> Collection:
        """Write the benchmark into a folder, and open it as `tandem.load` does. ToolkitError where a step is not done."""
        from tandem_ir.reading import load

        return load(str(self._build.benchmark(to)))


def check_benchmark(
    benchmark: str | Path, runs: Any = None, *, similarity: float = 0.8, dense: bool = False, cosine: float = 0.9
) -> BenchmarkCheck:
    """What a benchmark rewards beside what it means to: a built one, a folder of your own, or one of the registry.

    runs        whose systems are compared with who made the items, and whose scores with those that they would have
                without the instructions
    similarity  of near-duplicates: the least Jaccard similarity of runs of five characters
    dense       also paraphrases, by vectors of all-minilm-l6-v2 with at least this `cosine`

    Its `problems` and `warnings` are sentences; `effects`, `cues`, `pairs`, `shares`, `circular` are what they rest on. Raises
    ToolkitError.
    """
    from toolkit.construction.checks.benchmark_check import check_benchmark as checked

    return checked(benchmark, runs, threshold=similarity, dense=dense, cosine=cosine)


def datasheet(benchmark: str | Path) -> str:
    """The datasheet of the benchmark in a folder, in Markdown: counts, who made it, what was found, what it is not for."""
    from toolkit.construction.records.datasheet import datasheet as of_folder

    return of_folder(benchmark)
