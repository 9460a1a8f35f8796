"""The files that a row is made of, in order: an index where none is prebuilt, queries, lists, its run; and its labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.datasets import find, load
from toolkit.files.formats import write_run
from toolkit.files.formats.indexes import made_with, read_index_record
from toolkit.files.provenance import file_digest, topics_digest
from toolkit.jobs.diversify_job import DiversifyJob
from toolkit.jobs.encode_jobs import IndexJob
from toolkit.jobs.expand_jobs import ExpandJob, MergeJob
from toolkit.jobs.judge_jobs import JudgeJob, StanceJob, judge_of
from toolkit.jobs.search_jobs import rerank_job, search_job
from toolkit.models import choose_system
from toolkit.registry.published.paper_tables import cells, is_of
from toolkit.retrieval.index.index_types import LUCENE
from toolkit.retrieval.rerank.rerank_step import Rerank
from toolkit.retrieval.steps import given_topics
from toolkit.studies.planned_rows import PlannedRow, shell_command
from toolkit.studies.reproduce.table_rows import AGREEMENT, DIVERSIFY, EXPAND, STANCE, UNION, Row, Tables, has_candidates

if TYPE_CHECKING:
    from toolkit.jobs.file_job import Job, RunJob
    from toolkit.models.judges import Judge

CANDIDATES = "candidates"
ASKED = ("judge", "listwise")  # kinds of language models whose answers are words, which a server can give
LAMBDAS = "8"  # BERDS' table of what MMR weighs relevance by
LABELLED = "labelled.trec"


@dataclass
class RowFiles:
    """Where the files of rows lie, and the jobs that make them; everything is looked up when a job is made.

    models, asking  what models, and models on a server, take
    shares_judges   whether a judge that was loaded once judges all runs
    """

    tables: Tables
    output: Path
    models: dict[str, Any]
    asking: dict[str, Any]
    shares_judges: bool = True
    labelled_depth = 1000  # more documents than people labelled of a question
    _judges: dict[str, Judge] = field(default_factory=dict)

    def path(self, row: Row) -> Path:
        """The run of a row: its own, or that of the part that it scores in another way."""
        part = row.part.name if row.part.has_runs else row.part.of
        return self.output / part / f"{row.system.name}.trec"

    def qrels_path(self, row: Row) -> Path:
        """A judge's labels of a row: its own, or those of the runs whose stances it counts."""
        part = row.part.of if row.part.scores == STANCE else row.part.name
        return self.output / part / f"{row.system.name}.qrels"

    def scored(self, row: Row) -> list[Path]:
        """The runs that a row scores: its own, all that a union is of, or what people labelled."""
        if row.part.scores == AGREEMENT:
            return [self.output / row.part.name / LABELLED]
        if row.part.scores != UNION:
            return [self.path(row)]
        return [self.path(each) for each in self.tables.rows if each.part.name == row.part.of]

    @property
    def stances_path(self) -> Path:
        """Which perspective of each question supports."""
        return self.output / "stances.tsv"

    def runs(self, row: Row) -> list[PlannedRow]:
        """What is made before a row can be scored, in order, the run last; nothing where another row has made it."""
        if row.part.scores == STANCE:
            return [self._stances(row)]
        if not row.part.has_runs:
            return []
        if row.part.how == EXPAND:
            return list(self._expanded(row))
        if row.part.how == DIVERSIFY:
            return [self._diversified(row)]
        own = self._index(row)
        return [*([own] if own else []), self._run(row)]

    def planned(self, row: Row) -> list[PlannedRow]:
        """The same, and its labels."""
        labels = self.labels(row, self.scored(row))
        return [*self.runs(row), *([labels] if labels else [])]

    def _run(self, row: Row) -> PlannedRow:
        """The run that a system makes by searching or reranking."""
        if not row.reranks:
            return self._search(row, row.part.topics, self.path(row))
        path, before, name, topics = self.path(row), self.first_stage(row), row.system.name, row.part.topics
        source = before.path if before else row.system.parameters.get("run", CANDIDATES)

        def job() -> RunJob:
            how = {**self.models, **self.asking_of(row.system), **_prompt(row, name)}
            return rerank_job(str(source), Rerank(name, recipe=row.recipe or None, **how), topics=topics, output=path, tag=name)

        command = self.command("rerank", run=source, topics=topics, **self._said_of(row), output=path, tag=name)
        return PlannedRow(path, job, before, command=command)

    def first_stage(self, row: Row) -> PlannedRow | None:
        """The run that a reranker reranks where the benchmark's candidates are not here."""
        if not (row.reranks and row.part.first_stage) or has_candidates(row.part.topics):
            return None
        return self._run(self.tables.row(f"{row.part.name}/{row.part.first_stage}"))

    def _search(self, row: Row, topics: str | Path, path: Path) -> PlannedRow:
        name = row.system.name

        def job() -> RunJob:
            models = {**self.models, **self.asking_of(row.system)} if row.system.checkpoint else {}
            index = self.index_of(row)
            how = {**row.part.search, **({"index": index} if index else {}), "recipe": row.recipe or None, **models}
            return search_job(str(topics), system=name, output=path, tag=name, **how)

        try:
            index: str | Path = self.index_of(row)
            index = Path(index) if self.builds_index(row) else index
        except ToolkitError:
            index = "DIR"  # it has to be named first
        how = {**row.part.search, "index": index}
        command = self.command("search", topics=topics, **self._said_of(row), **how, output=path, tag=name)
        return PlannedRow(path, job, command=command)

    def asking_of(self, system: SystemSpec) -> dict[str, Any]:
        """How a system is asked: one on a server, and a language model that the user has on one (`--loader endpoint`)."""
        is_served = system.loader == "endpoint" or (self.asking.get("loader") == "endpoint" and system.kind in ASKED)
        return self.asking if is_served else {}

    def index_of(self, row: Row) -> str:
        """What a system searches: its own index, one that is built of the part's corpus, or that of the part; empty for the
        topics' own documents. ToolkitError where a model is to search an index of words."""
        part, system = row.part, row.system
        shared = str(part.search.get("index", ""))
        if system.name in part.indexes or not shared or not system.checkpoint:
            return part.indexes.get(system.name, shared)
        if part.corpus:
            return str(self.output / "indexes" / f"{part.corpus}.{system.name}")
        if _kind(shared) == LUCENE:
            name = f"{part.of or part.name}/{system.name}"
            hint = f"`tandem index` makes them: name the folder with --own-index {name}=DIR"
            raise ToolkitError(f"no vectors of {shared} by {system.name}", hint)
        return shared

    def builds_index(self, row: Row) -> bool:
        """Whether a row's system searches vectors that are to be made of the part's corpus."""
        part = row.part
        return bool(part.corpus and row.system.checkpoint and row.system.name not in part.indexes)

    def command(self, *given: object, **options: object) -> str:
        """A command of Tandem in the folder of the reproduction: files are named by their place there."""

        def said(value: object) -> object:
            return os.path.relpath(value, self.output) if isinstance(value, Path) else value

        return shell_command(*map(said, given), **{name: said(value) for name, value in options.items()})

    def _said_of(self, row: Row) -> dict[str, object]:
        """What a command says of the row's system."""
        system = row.system
        precision = self.models.get("precision") if system.checkpoint else None
        return {"system": system.name, "recipe": row.recipe, "precision": precision, **self._said_prompts(row, system.name)}

    def _said_prompts(self, row: Row, system: str) -> dict[str, object]:
        sent = row.sent_to(system)
        return {"prompts": Path(self.tables.prompts)} if sent and sent.file else {}

    def _index(self, row: Row) -> PlannedRow | None:
        if not self.builds_index(row):
            return None
        folder, corpus = Path(self.index_of(row)), row.part.corpus
        how = {"system": row.system.name, "recipe": row.recipe or None}

        def outdated() -> str:
            record = read_index_record(folder) if folder.is_dir() else None
            if record is None:
                return "not there yet"
            return "" if made_with(record, choose_system(**how)) else "made with another revision, recipe or template"

        job = partial(IndexJob, corpus, folder, **how, **self.models)
        return PlannedRow(folder, job, outdated=outdated, command=self.command("index", corpus, **how, output=folder))

    def _expanded(self, row: Row) -> Iterator[PlannedRow]:
        """Queries for every question, made once for all systems; their lists; these merged."""
        part, path, how = row.part, self.path(row), {"depth": int(row.part.search["hits"]), "tag": row.system.name}
        before = self._run(self.tables.row(f"{part.of}/{row.system.name}")) if self.builds_index(row) else None
        queries, lists = path.with_name("queries.jsonl"), path.with_name(f"{row.system.name}.lists.trec")

        expand = partial(ExpandJob, part.topics, part.expander, output=queries, **self.asking, **_prompt(row, part.expander))
        merge = partial(MergeJob, lists, output=path, queries=str(queries), **how)
        said = {"topics": part.topics, "from": part.expander, **self._said_prompts(row, part.expander), "output": queries}
        yield PlannedRow(
            queries,
            expand,
            before,
            lambda: {**_topics_recorded(part.topics), **_asked(row, part.expander, "expansion")},
            kind="expanded",
            command=self.command("expand", "topics", **said),
        )
        yield self._search(row, queries, lists)
        command = self.command("expand", "merge", lists, depth=how["depth"], output=path, tag=how["tag"])
        yield PlannedRow(path, merge, expected=lambda: {"data/made of/sha256": file_digest(lists)}, command=command)

    def _diversified(self, row: Row) -> PlannedRow:
        """MMR with what the authors' code divides scores by, and the lambda of table 8."""
        part, path, tag = row.part, self.path(row), row.system.name
        before, index = self._run(self.tables.row(f"{part.of}/{tag}")), part.search.get("index")
        lam, constant = self.mmr(row)

        def expected() -> dict[str, Any]:
            step = "method/diversification/0"
            return {"data/made of/sha256": file_digest(before.path), f"{step}/lambda": lam, f"{step}/constant": constant}

        how = {"lams": [lam], "scale": constant, "topics": [part.topics], "index": index, **self.models}
        job = partial(DiversifyJob, [before.path], output=path, tag=tag, **how)
        said = {"topics": part.topics, "index": index, "lam": f"{lam:g}", "scale": constant, "output": path, "tag": tag}
        return PlannedRow(path, job, before, expected, command=self.command("diversify", before.path, **said))

    def _stances(self, row: Row) -> PlannedRow:
        """Which perspective supports, asked once for all systems and corpora."""
        part, path = row.part, self.stances_path
        said = {"task": "stance", "topics": part.topics, "judge": part.stances, **self._said_prompts(row, part.stances)}
        return PlannedRow(
            path,
            lambda: StanceJob(part.topics, self._load_judge(row, part.stances, task="stance"), output=path),
            expected=lambda: {**_topics_recorded(part.topics), **_asked(row, part.stances, "judging")},
            kind="qrels",
            command=self.command("judge", **said, output=path),
        )

    def mmr(self, row: Row) -> tuple[float, str]:
        """The lambda that the paper chose for a retriever and a corpus, and the name of the constant of its scores."""
        printed = row.system.printed[self.tables.paper]
        lams = (cell for cell in cells(self.tables.paper) if cell.table == LAMBDAS and is_of(cell, printed))
        name = printed["name"] if isinstance(printed["name"], str) else printed["name"][0]
        return next(cell.value for cell in lams if cell.group == row.part.mmr), f"{row.part.mmr}/{name.lower()}"

    def labels(self, row: Row, runs: list[Path]) -> PlannedRow | None:
        """A judge's labels of runs; of a judge that is compared with people, its labels of what they labelled. None where
        nothing is judged."""
        part, path = row.part, self.qrels_path(row)
        name, depth = part.judge.get("name", row.system.name), part.judge.get("depth", self.labelled_depth)
        recipe = "" if part.judge else row.recipe
        if not part.judge and row.system.kind != "judge":
            return None
        how = {"topics": part.topics, "index": part.search.get("index"), "depth": depth, "output": path}

        def expected() -> dict[str, Any]:
            judged = {f"data/judged runs/{place}/sha256": file_digest(run) for place, run in enumerate(runs)}
            last = {f"data/judged runs/{len(runs)}": None}
            return {**judged, **last, **_asked(row, name, "judging"), "method/judging/0/depth": depth}

        def job() -> Job:
            return JudgeJob(list(map(str, runs)), self._judge(row, name, recipe), **how)

        command = self.command("judge", *runs, judge=name, recipe=recipe, **self._said_prompts(row, name), **how)
        return PlannedRow(path, job, expected=expected, kind="qrels", command=command)

    def _judge(self, row: Row, name: str, recipe: str) -> Judge:
        """A judge, loaded once for all that it judges."""
        key = f"{name} {recipe}"
        if key not in self._judges or not self.shares_judges:
            self._judges.clear()  # the model of another one may go
            self._judges[key] = self._load_judge(row, name, recipe=recipe or None)
        self._judges[key].start_counts()
        return self._judges[key]

    def _load_judge(self, row: Row, name: str, **how: Any) -> Judge:
        return judge_of(name, **how, **self.models, **self.asking_of(registry.system(name)), **_prompt(row, name))

    def write_labelled(self, row: Row) -> None:
        """A run of the documents that people labelled for each question, which is what judges are compared on."""
        selection, [path] = find(row.part.topics), self.scored(row)
        [qrels] = [load(selection.benchmark).qrels(group) for group in selection.groups]
        documents: dict[str, dict[str, float]] = {}
        for line in qrels:
            documents.setdefault(line.query_id, {}).setdefault(line.doc_id, 0.0)
        ranked = {
            query_id: {doc_id: float(len(found) - place) for place, doc_id in enumerate(found)}
            for query_id, found in documents.items()
        }
        write_run(Run.from_dict(ranked), path, tag="labelled")


def _prompt(row: Row, system: str) -> dict[str, str]:
    """The published prompt that a system of a row is sent, as an option; none for its own."""
    sent = row.sent_to(system)
    return {"prompt": sent.file} if sent and sent.file else {}


def _asked(row: Row, system: str, step: str) -> dict[str, str]:
    """What the record of a file says of who was asked, and with which prompt."""
    sent = row.sent_to(system)
    prompt = {f"method/{step}/0/prompt_sha256": sent.sha256} if sent else {}
    return {f"method/{step}/0/name": system, **prompt}


def _topics_recorded(topics: str) -> dict[str, str]:
    return {"data/topics/sha256": topics_digest(given_topics(topics).topics)}


def _kind(index: str) -> str:
    """The kind of an index; empty where nothing says."""
    if index in registry.indexes() or index in registry.index_aliases():
        return registry.index(index).kind
    return str((read_index_record(Path(index)) or {}).get("kind", "")) if Path(index).is_dir() else ""
