"""A paper's tables of results made again: fetch, index, search, rerank, judge, evaluate, and compare with the printed numbers.

In one folder: a folder for each part of the tables with `<system>.trec` and its record (and `<system>.qrels` where a judge
labels), `comparison.csv` with every number, `claims.csv`, and `comparison.html`, a page of all. What is there and up to date
is not made again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score
from toolkit.core.specs import ENDPOINT, MODEL
from toolkit.core.system.files import write_text
from toolkit.core.system.progress import say
from toolkit.core.tables.aligned_table import Table
from toolkit.core.tables.shown_result import ShownResult
from toolkit.datasets import find, load
from toolkit.datasets.accepted import File, Loader, Precision
from toolkit.engine import Executor, LocalExecutor
from toolkit.jobs.file_job import engine_of, opened
from toolkit.models.llm.prompts import check_prompts_folder
from toolkit.registry.published.claims import Claim
from toolkit.registry.published.tables_as_text import lay_out_claims
from toolkit.studies.planned_rows import Failure, is_sound, make_row, recorded
from toolkit.studies.reproduce.compared_cells import Compared, claims_csv, claims_of, compared, lay_out, prompts_table, to_csv
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.row_prompts import as_recorded
from toolkit.studies.reproduce.table_rows import AGREEMENT, Row, Tables, needed, tables_of

COMPARISON, CLAIMS, PAGE = "comparison.csv", "claims.csv", "comparison.html"


@dataclass(repr=False)
class Outcome(ShownResult):
    """What came of it.

    cells     every printed number of the chosen tables with ours, where it was made
    claims    what the paper claims in general, over our numbers: whether it holds, None where numbers are missing
    failures  what could not be done, and why
    """

    cells: list[Compared] = field(default_factory=list)
    claims: list[tuple[Claim, bool | None]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Outcome({len(self.cells):,} printed numbers, {len(self.failures)} failures)"

    def tables(self) -> list[Table]:
        """As `tandem reproduce` prints it."""
        made = (lay_out(self.cells), prompts_table(self.cells), replace(lay_out_claims(self.claims), title="claims"))
        return [table for table in made if table.rows]


class Reproduction:
    """Tables of a paper, looked up when it is made; nothing is fetched or loaded before `make`.

    paper, tables, systems, indexes   see `toolkit.studies.reproduce.table_rows.tables_of`
    output   the folder; `reproduced-<paper>` where none is named
    prompts  a folder of published prompts: each system whose own is there is sent that, others ours
    how      what every model takes, and how one on a server is asked, see `core.specs.MODEL` and `ENDPOINT`
    """

    def __init__(
        self,
        paper: str,
        tables: Sequence[str] = (),
        systems: Sequence[str] = (),
        *,
        indexes: Mapping[str, str] | None = None,
        output: str | Path | None = None,
        prompts: str | Path | None = None,
        **how: Any,
    ):
        if prompts is not None:
            check_prompts_folder(prompts)
        self.tables: Tables = tables_of(paper, tables, systems, indexes, str(prompts or ""))
        self.output = Path(output or f"reproduced-{paper}")
        if self.output.exists() and not self.output.is_dir():
            raise ToolkitError(f"{self.output} is a file", "name a folder with --output")
        self.models = {name: value for name in MODEL if (value := how.get(name))}
        self.asking = {name: value for name in ENDPOINT if (value := how.get(name)) is not None}
        self.files = RowFiles(self.tables, self.output, self.models, self.asking)

    def make(self, **engine: Any) -> Outcome:
        """Make what is not there, and compare. One system's failure ends no other's work, and is among the failures.

        engine  who computes, see `toolkit.jobs.file_job.opened`
        """
        outcome = Outcome()
        why: dict[str, str] = {}  # row -> why it was not made
        scores: dict[str, list[Score]] = {}
        self._fetch(outcome.failures)
        with opened(**engine) as executor:
            self.files.shares_judges = isinstance(executor, LocalExecutor)
            for row in self.tables.rows:
                before = len(outcome.failures)
                made = self._make(row, executor, outcome.failures, why)
                if made and self._is_scored(row):
                    with recorded(f"scores of {row.name}", outcome.failures):
                        scores[row.name] = self._scores(row, executor)
                if not made or (self._is_scored(row) and row.name not in scores):
                    own = outcome.failures[before:]
                    why.setdefault(row.name, own[-1].error.message if own else "what it is made of is not there")
        files = self.files  # rows that are not made now were sent what their records say
        sent = ((row, as_recorded(row.sent, (files.path(row), files.qrels_path(row)))) for row in self.tables.others)
        self.tables = files.tables = replace(self.tables, others=tuple(replace(row, sent=said) for row, said in sent))
        # rows that nobody asked for now, and whose files are there with their records: they are compared, too
        for row in (row for row in self.tables.others if row.part.scores == "evaluate"):
            is_judged = not row.part.judge or is_sound(self.files.qrels_path(row), "qrels")
            if is_judged and is_sound(self.files.path(row)):
                with recorded(f"scores of {row.name}", outcome.failures):
                    scores[row.name] = self._scores(row)
        self._compare(outcome, scores, why)
        return outcome

    def _fetch(self, failures: list[Failure]) -> None:
        """Get what the hub has of the benchmark and is not here: its name alone would mean the groups that an interrupted
        fetch has left."""
        for topics in dict.fromkeys(row.part.topics for row in self.tables.rows):
            selection = find(topics, at_hand=False)
            benchmark = load(selection.benchmark)
            for group in selection.groups:
                if "repository" in benchmark.spec.group(group) and not benchmark.is_present(group):
                    with recorded(f"data of {topics}", failures):
                        benchmark.part(group)

    def _make(self, row: Row, executor: Executor, failures: list[Failure], why: dict[str, str]) -> bool:
        """Make what a row is scored by, before it is judged; whether all is there."""
        if missing := [name for name in needed(row, self.tables.rows) if name in why]:
            why[row.name] = f"needs {missing[0]}: {why[missing[0]]}"
            say(f"{row.name}: left out, as it {why[row.name]}")
            return False
        return all(make_row(run, failures, executor) for run in self.files.runs(row))

    def _is_scored(self, row: Row) -> bool:
        """Whether a row's numbers are shown, or others are changes from them; others need its run alone."""
        return bool(row.cells) or any(f"{each.part.against}/{each.system.name}" == row.name for each in self.tables.rows)

    def _scores(self, row: Row, executor: Executor | None = None) -> list[Score]:
        """The scores of a row; its labels are made where they are not there, with an executor alone."""
        from toolkit.studies.reproduce.row_scores import scores_of

        runs = self.files.scored(row)
        if row.part.scores == AGREEMENT:
            self.files.write_labelled(row)
        labels = self.files.labels(row, runs)
        if labels and executor:
            failures: list[Failure] = []
            if not make_row(labels, failures, executor):
                raise failures[0].error
        return scores_of(self.files, row, runs, labels.path if labels else None)

    def _compare(self, outcome: Outcome, scores: Mapping[str, list[Score]], why: Mapping[str, str]) -> None:
        """Every cell, the claims, and the files that say them."""
        from toolkit.studies.reproduce.comparison_page import render
        from toolkit.studies.reproduce.row_scores import underlined

        outcome.cells = compared(self.tables, scores, why)
        if self.tables.tests:
            outcome.cells = underlined(self.files, outcome.cells)
        asked = {row.name: row for row in self.tables.rows}
        numbers = {each.cell.table for each in outcome.cells if each.row and each.row.name in asked and each.value is not None}
        for table in dict.fromkeys(cell.table for row in asked.values() for cell in row.cells if cell.table not in numbers):
            error = ToolkitError("it has not one number", f"`known` of each of its cells in {COMPARISON} says why", status=1)
            outcome.failures.append(Failure(f"table {table}", error))
        outcome.claims = claims_of(self.tables.paper, outcome.cells)
        texts = {COMPARISON: to_csv(outcome.cells), CLAIMS: claims_csv(outcome.claims), PAGE: render(self, outcome)}
        for name, text in texts.items():
            write_text(self.output / name, text)


def reproduce(
    paper: str,
    *,
    tables: Sequence[str] = (),
    systems: Sequence[str] = (),
    indexes: Mapping[str, str] | None = None,
    output: File | None = None,
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
) -> Outcome:
    """Make a paper's tables of results again, or some of its tables and systems; what is in `output` and up to date stays.

    paper    infosearch, instructir, mfollowir or berds
    indexes  of one's own, by the name that `--own-index` has for them
    output   a folder; `reproduced-<paper>` where none is named
    prompts  a folder of published ones (`published_prompts`)

    Its `cells` are every printed number with ours, `claims` what the paper claims and whether it holds, `failures` what could
    not be made. Raises ToolkitError before anything is made.
    """
    how = dict(locals())
    made_by = engine_of(how)
    return Reproduction(**how).make(**made_by)
