"""Gold documents that hardly any system finds may be none: InfoSearch's last filter (arXiv 2410.23841, appendix A.7).

The query is searched without its instruction in the documents of the benchmark to be. A gold document is an anomaly where it
is outside the first 50 in half or more of at least 12 runs, or where its score is below 0.5; people look at it then. The paper
does not say which score; here it is the mean over the runs whose scores are similarities (all of them from -1 to 1), which
BM25's are not.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from toolkit.construction.documents.built_benchmark import BREAKING, GOLD, MODES, content_of
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import BY_RULE, Tools
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, join_mode
from toolkit.core.runs import Run
from toolkit.datasets.own.own_new import new_folder

DRAFT = "draft"
# The paper's twelve have no names. More than half of these read Chinese, too: others find no gold document in Chinese.
TWELVE = (
    *("bm25", "all-minilm-l6-v2", "e5-large-v2", "bge-large-en-v1.5", "instructor-large"),
    *("multilingual-e5-small", "multilingual-e5-base", "multilingual-e5-large", "mcontriever-msmarco", "bge-m3"),
    *("gte-multilingual-base", "qwen3-embedding-0.6b"),
)
ANOMALY = "anomaly"  # the field that says why
[MODE] = MODES.of(BASE)
Found = Mapping[str, tuple[int, float]]  # document id -> rank from 1, and score


def anomaly(
    doc_id: str,
    found: Sequence[Found],
    similarities: Sequence[Found],
    *,
    depth: int = 50,
    share: float = 0.5,
    score: float = 0.5,
) -> str:
    """Why a gold document is an anomaly; empty where it is none.

    found         what each run lists for its query
    similarities  those of them whose scores are similarities; a run without the document has no say in the mean
    depth         rank up to which a run finds it
    share         of the runs that do not find it, from which on it is one
    score         mean similarity below which it is one
    """
    outside = sum(run.get(doc_id, (depth + 1, 0.0))[0] > depth for run in found)
    if found and outside >= share * len(found):
        return f"outside the first {depth} in {share:.0%} of the runs or more"
    scores = [run[doc_id][1] for run in similarities if doc_id in run]
    return f"mean similarity below {score:g}" if scores and float(np.mean(scores)) < score else ""


def is_similarity(run: Run) -> bool:
    """Whether all scores are from -1 to 1: cosines and probabilities."""
    return bool(len(run)) and bool(np.all(np.abs(run.scores) <= 1 + 1e-6))


@dataclass(frozen=True)
class Anomalies(Step):
    """Finds the queries whose gold documents are anomalies, for people to look at.

    A document that is one beside other gold documents is left out.

    people   whether the step `review` shows them to people; without, they are left out, and among the negatives of others, too
    systems  search the benchmark to be, which lies in `draft` in the build's folder
    runs     files of runs over `draft/ori` made elsewhere
    least    how many there have to be in all
    depth, share, score   see `anomaly`
    """

    people: bool = True
    systems: tuple[str, ...] = TWELVE
    runs: tuple[str, ...] = ()
    least: int = 12
    depth: int = 50
    share: float = 0.5
    score: float = 0.5

    name: ClassVar[str] = "anomalies"
    about: ClassVar[str] = "gold documents that hardly any system finds, for people to look at"
    optional: ClassVar[bool] = True
    by_default: ClassVar[bool] = True
    version: ClassVar[int] = 2

    def __post_init__(self):
        if (given := len(self.systems) + len(self.runs)) < self.least:
            message = f"anomalies: {given} systems and runs, and at least {self.least} are asked for"
            raise ToolkitError(message, "name more, say `least` with as many as there are, or `anomalies: false`")
        if not (0 < self.share <= 1 and self.depth > 0 and self.least > 0):
            raise ToolkitError("anomalies: depth and least are from 1 on, share is above 0 and up to 1", "0.5 is the paper's")

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        draft = tools.folder / DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        new_folder(draft, content_of(items), MODES)
        found: list[Mapping[str, Found]] = []  # of each run query id -> what it lists
        similarities: list[Mapping[str, Found]] = []
        for run in self._runs(draft, tools.systems):
            rows = ((query_id, enumerate(ranking, 1)) for query_id, ranking in run.rankings())
            found.append({query_id: {each.doc_id: (rank, each.score) for rank, each in ranking} for query_id, ranking in rows})
            similarities += found[-1:] if is_similarity(run) else []
        why: dict[str, str] = {}
        for item in items:
            lists = [[run.get(join_mode(item.id, MODE), {}) for run in runs] for runs in (found, similarities)]
            for document in item.fields[GOLD]:
                if reason := anomaly(document["id"], *lists, depth=self.depth, share=self.share, score=self.score):
                    why[document["id"]] = reason
        golds = {item.id: [document["id"] for document in item.fields[GOLD]] for item in items}
        shown = {item.id for item in items if self.people and all(doc_id in why for doc_id in golds[item.id])}
        left_out = {doc_id: reason for doc_id, reason in why.items() if all(doc_id not in golds[name] for name in shown)}
        for item in without_documents(items, left_out):
            yield item.having(**{ANOMALY: why[golds[item.id][0]]}) if item.id in shown else item

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """Why -> how many items are shown to people."""
        counts = Counter(item.fields[ANOMALY] for item in items if ANOMALY in item.fields)
        return {"found": counts} if counts else {}

    def _runs(self, draft: Path, files: Sequence[Path]) -> Iterator[Run]:
        from toolkit.files.formats import read_run
        from toolkit.jobs import search_job
        from toolkit.jobs.file_job import run_by

        if missing := [path for path in self.files(draft.parent) if not path.is_file()]:
            hint = f"search {draft}/{MODE} for it, or leave it out of `runs`"
            raise ToolkitError(f"anomalies: no run {missing[0]}", hint, problems=missing, status=1)
        yield from map(read_run, self.files(draft.parent))
        for system in self.systems:
            try:
                yield run_by(search_job(f"{draft}/{MODE}", system=system, systems=files))
            except ToolkitError as error:
                hint = f"{error.hint}; or name other systems, with `least`, or `anomalies: false` in build.yaml"
                raise ToolkitError(f"anomalies: {error.message}", hint, problems=error.problems, status=error.status) from error


def without_documents(items: Sequence[Item], why: Mapping[str, str]) -> Iterator[Item]:
    """The items without some documents: one is rejected that has no gold document or no instruction negative left.

    why  document id -> the reason
    """
    for item in items:
        kept = {what: [each for each in item.fields[what] if each["id"] not in why] for what in (GOLD, BREAKING)}
        if not kept[GOLD]:
            reason = why[item.fields[GOLD][0]["id"]]
            yield replace(item.passed().reject(f"gold document {reason}"), made=(BY_RULE,))
        elif not kept[BREAKING]:
            yield item.passed().by(BY_RULE).reject("no instruction negative is left")
        else:
            yield item.passed(**kept).by(BY_RULE)
