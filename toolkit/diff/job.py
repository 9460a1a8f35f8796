"""From what a user names to the comparisons of each run with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolkit import measures as tandem
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.diff.comparison import Comparison, compare
from toolkit.diff.moved import most_moved, to_lines
from toolkit.diff.output import Pair
from toolkit.diff.rankings import identical, likeness
from toolkit.evaluate.evaluation import Evaluation, prepare
from toolkit.evaluate.inputs import as_sources, load_runs


def diff(
    runs: Sequence[Any],
    *,
    benchmark: str | None = None,
    qrels: Any = None,
    measures: Sequence[str] | None = None,
    depth: int | None = None,
    ids: str = "tandem",
    top: int = 5,
    by: str | None = None,
    **how: Any,
) -> list[Pair]:
    """Compare each run with the first, in the order given.

    runs       paths, Runs or DataFrames, each one run
    benchmark, qrels, measures, depth, ids  as in `toolkit.evaluate`; without benchmark and qrels, rankings alone are compared
    top, by    how many queries that moved most are shown, by which measure
    how        `missing`, `test`, `samples`, `seed` of `toolkit.diff.compare`

    Raises ToolkitError for fewer than two runs and for what cannot be read or judged.
    """
    if len(runs) < 2:
        raise ToolkitError(f"{len(runs)} run, nothing to compare it with", "tandem diff A B")
    if benchmark or qrels is not None:
        prepared = [prepare([run], benchmark, qrels, depth, ids) for run in runs]
        loaded = [evaluation.runs[0] for evaluation in prepared]
    else:
        prepared, loaded = None, [_cut(load_runs(as_sources([run]))[0], depth) for run in runs]
    names = _names(loaded)
    return [
        _pair(prepared[0] if prepared else None, loaded[0], other, (names[0], name), measures, top, by, how)
        for other, name in zip(loaded[1:], names[1:], strict=True)
    ]


def _cut(run: Run, depth: int | None) -> Run:
    return run if depth is None else run.head(depth)


def _names(runs: Sequence[Run]) -> list[str]:
    """Tags, or where two are the same, files."""
    tags = [run.tag for run in runs]
    return tags if len(set(tags)) == len(tags) else [run.source or f"run {number}" for number, run in enumerate(runs, 1)]


def _pair(
    evaluation: Evaluation | None,
    a: Run,
    b: Run,
    names: tuple[str, str],
    measures: Sequence[str] | None,
    top: int,
    by: str | None,
    how: dict[str, Any],
) -> Pair:
    if identical(a, b):
        return Pair(*names, True, (), None)
    alike = tuple(likeness(a, b))
    if evaluation is None:
        return Pair(*names, False, alike, None)
    wanted = [str(tandem.parse(measure)) for measure in measures or evaluation.judgments.measures]
    found = compare(a, b, evaluation.judgments, wanted, **how)
    found = replace(found, notes=(*evaluation.judgments.notes, *found.notes))
    return Pair(*names, False, alike, found, tuple(_moved(found, a, b, evaluation, top, by)))


def _moved(found: Comparison, a: Run, b: Run, evaluation: Evaluation, top: int, by: str | None) -> list[str]:
    measure = str(tandem.parse(by)) if by else None
    if measure and all(change.measure != measure for change in found.changes):
        raise ToolkitError(f"{measure} was not compared", "name it with -m too")
    return list(to_lines(most_moved(found, top, measure), a, b, evaluation.judgments))
