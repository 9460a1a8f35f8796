"""Runs brought together with what judges them, ready to be scored or explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolkit import measures as tandem
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Scores
from toolkit.evaluate.inputs import as_sources, load_runs
from toolkit.evaluate.judgments import Judgments, PublishedIds, check, from_benchmark, from_files
from toolkit.evaluate.notes import run_notes
from toolkit.evaluate.scoring import score, score_references

MISSING = ("worst", "skip", "error")
IDS = ("tandem", "published")


@dataclass(frozen=True)
class Evaluation:
    """Runs that fit their judgments.

    published  where query ids are read and written as the benchmark published them
    """

    runs: tuple[Run, ...]
    judgments: Judgments
    published: PublishedIds | None = None

    def scores(
        self, measures: Sequence[str] | None, *, by_query: bool = False, references: bool = False, missing: str = "worst"
    ) -> Scores:
        """All rows, run by run, each followed by its references; what a reader must know stands in the notes."""
        one_of("missing", missing, MISSING)
        wanted = [str(tandem.parse(measure)) for measure in measures or self.judgments.measures]
        if references and not self.judgments.modes:
            raise ToolkitError("references need modes", f"{self.judgments.name} judges each query once")
        rows = []
        for run in self.runs:
            rows += score(run, self.judgments, wanted, missing, by_query=by_query)
            if references:
                name = "{}" if len(self.runs) == 1 else f"{{}} of {run.tag}"
                rows += score_references(run, self.judgments, wanted, missing, name)
        notes = [*self.judgments.notes, *run_notes(self.runs, self.judgments, missing)]
        lacking = [measure for measure in wanted if all(row.measure != measure for row in rows)]
        if lacking and measures:
            raise ToolkitError(f"{self.judgments.name}: no value of {', '.join(lacking)}", "judge all modes that they need")
        if lacking:
            notes.append(f"left out, as they need modes that are not judged here: {', '.join(lacking)}")
        if self.published:
            rows = [row._replace(query_id=self.published.theirs.get(row.query_id, row.query_id)) for row in rows]
        return Scores(tuple(rows), tuple(notes))


def prepare(runs, benchmark: str | None, qrels, depth: int | None, ids: str) -> Evaluation:
    """Read everything, and check that it fits; parameters as in `toolkit.evaluate.evaluate`."""
    one_of("ids", ids, IDS)
    if (benchmark is None) == (qrels is None):
        raise ToolkitError("evaluation needs a benchmark or qrels, and not both", "--benchmark ID, or --qrels F")
    judgments = from_benchmark(benchmark) if benchmark else from_files(as_sources(qrels))
    published = judgments.published if ids == "published" else None
    if ids == "published" and not published:
        raise ToolkitError(f"{judgments.name} has no published ids", "--ids published needs one of our benchmarks")
    loaded = load_runs(as_sources(runs), published.rename if published else None)
    for run in loaded:
        check(run.query_ids, run.tag, judgments)
    if depth is not None:
        if depth < 1:
            raise ToolkitError(f"depth is {depth}", "at least 1")
        loaded = [run.head(depth) for run in loaded]
    return Evaluation(tuple(loaded), judgments, published)


def one_of(what: str, given: str, known: Sequence[str]) -> None:
    """Raise ToolkitError where a word is not one of those known."""
    if given not in known:
        raise ToolkitError(f"{what} is {given!r}", f"one of {', '.join(known)}")
