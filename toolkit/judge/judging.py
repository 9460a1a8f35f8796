"""A run judged: subtopic qrels, one line for each document and perspective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.judge.pool import Row, pool, rows_of
from toolkit.models.judges import Judge, Pair, Verdict
from toolkit.steps import Executor, LocalExecutor, units_of
from toolkit.texts import Texts

HOLDS, LACKS, UNJUDGED = 1, 0, -1
UNIT = 4096  # pairs


class Judged(NamedTuple):
    """qrels: `<query_id> <n> <doc_id> <label>`, see `judge_run`; report: for the record."""

    qrels: Qrels
    report: dict[str, Any]


def judge_run(
    runs: Run | Sequence[Run],
    topics: TopicSet,
    texts: Texts,
    judge: Judge,
    depth: int = 10,
    executor: Executor | None = None,
) -> Judged:
    """Which perspectives the best `depth` documents of each question hold, as subtopic qrels.

    runs    one, or several, whose best documents are judged together
    topics  with perspectives: the n-th, from 1, is subtopic n
    texts   see `toolkit.texts`

    Labels: 1 holds, 0 does not, -1 is unanswered (a later call asks again). A question without documents has a line of
    document `-` and label 0 for each of its perspectives, so that all of them are counted. Raises ToolkitError for what is
    missing, before anything is asked, and where not one pair was answered.
    """
    rows = rows_of(pool([runs] if isinstance(runs, Run) else runs, depth), topics, texts, judge.spec)
    qrels = qrels_of(rows, verdicts_of(judge, rows, executor))
    questions = len({row.query_id for row in rows})
    without = len({row.query_id for row in rows if row.pair is None})
    counts = {"depth": depth, "questions": questions, "questions without documents": without}
    return Judged(qrels, {"name": judge.spec.name, **judge.facts(), **counts})


def verdicts_of(judge: Judge, rows: Sequence[Row], executor: Executor | None = None) -> list[Verdict]:
    """The verdict of each row; a row without a pair is negative and not asked."""
    verdicts = iter(ask(judge, [row.pair for row in rows if row.pair], executor))
    return [next(verdicts) if row.pair else Verdict(False) for row in rows]


def ask(judge: Judge, pairs: Sequence[Pair], executor: Executor | None = None) -> list[Verdict]:
    """The verdicts, with progress, in units of UNIT pairs. ToolkitError where not one pair was answered: that is no result."""
    if not pairs:
        return []
    judge.check()
    with progress(f"judging with {judge.spec.name}", len(pairs), "pairs") as advance:
        units = (executor or LocalExecutor()).map(lambda unit: judge.judge(unit, advance), units_of(pairs, UNIT))
        verdicts = [verdict for unit in units for verdict in unit]
    if all(verdict.holds is None for verdict in verdicts):
        message = f"{judge.spec.name} answered none of {len(pairs)} pairs: {verdicts[0].said}"
        raise ToolkitError(message, "see to the server, and run again", status=1)
    return verdicts


def qrels_of(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Qrels:
    """The rows with their labels, in their order."""
    return Qrels.from_rows(
        Qrel(row.query_id, row.doc_id, UNJUDGED if verdict.holds is None else int(verdict.holds), row.subtopic)
        for row, verdict in zip(rows, verdicts, strict=True)
    )
