"""A paper's tables of results made again: fetch, search, rerank, judge, evaluate, and set every number beside the printed one.

In one folder: a folder for each part of the tables with `<system>.trec` and its record (and `<system>.qrels` where a judge
labels), and `comparison.csv` with every number. What is there and up to date is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.benchmarks import find
from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.core.progress import say
from toolkit.core.scores import Score
from toolkit.jobs import RunJob, search_job
from toolkit.jobs.judge_jobs import JudgeJob, judge_of
from toolkit.jobs.planned_runs import Failure, PlannedRun, make_run, recorded
from toolkit.jobs.rerank_jobs import rerank_job
from toolkit.provenance import file_digest, is_recorded, part, read_record
from toolkit.published.claims import Claim
from toolkit.published.comparison import claims_over, measures_of
from toolkit.reproduce.compared_cells import Compared, compared, to_csv
from toolkit.reproduce.table_rows import Row, Tables, tables_of
from toolkit.rerank import Rerank

COMPARISON = "comparison.csv"
CANDIDATES = "candidates"


@dataclass
class Outcome:
    """What came of it.

    cells     every printed number with ours, where it was made
    claims    what the paper claims in general, over our numbers: (part, claim, whether it holds, None where runs are missing)
    failures  what could not be done, and why
    """

    cells: list[Compared] = field(default_factory=list)
    claims: list[tuple[str, Claim, bool | None]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


class Reproduction:
    """Tables of a paper, looked up when it is made; nothing is fetched or loaded before `make`.

    paper, tables, systems   see `toolkit.reproduce.table_rows.tables_of`
    output   the folder; `reproduced-<paper>` where none is named
    models   what every model takes: `device`, `batch_size`, `precision`, `trust_remote_code`
    asking   how a model on a server is asked, see `core.specs.ENDPOINT`
    """

    def __init__(
        self,
        paper: str,
        tables: Sequence[str] = (),
        systems: Sequence[str] = (),
        *,
        output: str | Path | None = None,
        models: dict[str, Any] | None = None,
        asking: dict[str, Any] | None = None,
    ):
        self.tables: Tables = tables_of(paper, tables, systems)
        self.output = Path(output or f"reproduced-{paper}")
        if self.output.exists() and not self.output.is_dir():
            raise ToolkitError(f"{self.output} is a file", "name a folder with --output")
        self.models = {name: value for name, value in (models or {}).items() if value}
        self.asking = {name: value for name, value in (asking or {}).items() if value is not None}

    def planned(self, row: Row) -> PlannedRun:
        """The run of a row."""
        path = self.output / row.part.name / f"{row.system.name}.trec"
        return PlannedRun(row.part.topics, row.system.name, path, lambda: self._job(row, path))

    def _job(self, row: Row, path: Path) -> RunJob:
        asking = self.asking if row.system.loader == "endpoint" else {}
        how = {"recipe": row.recipe or None, **self.models, **asking}
        if not row.reranks:
            settings = how if row.system.checkpoint else {"recipe": how["recipe"]}
            return search_job(
                row.part.topics, system=row.system.name, output=path, tag=row.system.name, **row.part.search, **settings
            )
        reranker = Rerank(row.system.name, **how)
        source = reranker.spec.parameters.get("run", CANDIDATES)
        return rerank_job(source, reranker, topics=row.part.topics, output=path, tag=row.system.name)

    def make(self) -> Outcome:
        """Make what is not there, and compare. One system's failure ends no other's work, and is among the failures."""
        outcome = Outcome()
        made = [row for row in self.tables.rows if make_run(self.planned(row), outcome.failures)]
        scores: dict[str, list[Score]] = {}
        for row in made:
            with recorded(f"scores of {row.name}", outcome.failures):
                scores[row.name] = self._scores(row)
        outcome.cells = compared(self.tables, scores)
        outcome.claims = self._claims(made, scores)
        with open_output(self.output / COMPARISON) as file:
            file.write(to_csv(outcome.cells).encode())
        return outcome

    def _scores(self, row: Row) -> list[Score]:
        from toolkit.evaluate import evaluate

        run = self.planned(row).path
        qrels = self._judged(row, run) if row.part.judge else None
        scores = evaluate([str(run)], benchmark=row.part.topics, qrels=qrels, measures=list(measures_of(self.tables.paper)))
        return list(scores.rows)

    def _claims(self, made: Sequence[Row], scores: Mapping[str, Sequence[Score]]) -> list[tuple[str, Claim, bool | None]]:
        found = []
        for name in dict.fromkeys(row.part.name for row in made):
            rows = [row for row in made if row.part.name == name and row.name in scores]
            groups = find(rows[0].part.topics).groups if rows else ()
            own = [score for row in rows for score in scores[row.name]]
            systems = {row.system.name: row.system for row in rows}
            found += [(name, claim, holds) for claim, holds in claims_over(own, groups, self.tables.paper, systems)]
        return found

    def _judged(self, row: Row, run: Path) -> str:
        """The judge's labels of a run, made where they are not there or are of another run."""
        path, judge = run.with_suffix(".qrels"), row.part.judge
        if not _is_of(path, run, judge["name"]):
            say(f"{path}: judged by {judge['name']}")
            loaded = judge_of(judge["name"], **self.models)
            JudgeJob(
                [str(run)],
                loaded,
                topics=row.part.topics,
                index=row.part.search.get("index"),
                depth=judge["depth"],
                output=path,
            ).make()
        return str(path)


def _is_of(qrels: Path, run: Path, judge: str) -> bool:
    """Whether a file holds this judge's labels of this run, as its record says."""
    record = read_record(qrels) if qrels.exists() else None
    if not is_recorded(record, qrels, "qrels"):
        return False
    judged = part(record, "data").get("judged_runs") or [{}]
    steps = part(record, "method").get("judging") or [{}]
    return judged[0].get("sha256") == file_digest(run) and steps[0].get("name") == judge
