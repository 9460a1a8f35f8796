"""Runs and qrels from columns with a name each: the names that ir_measures, PyTerrier and ranx have for them."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.system.progress import say
from toolkit.core.tables.columns import encode
from toolkit.files.runs.problems import checked

# best first: PyTerrier's `docid` is a number of its index, beside `docno`
NAMES = {
    "query_id": ("query_id", "qid", "q_id"),
    "doc_id": ("doc_id", "docno", "docid"),
    "score": ("score",),
    "rank": ("rank",),
    "tag": ("tag", "name"),
    "relevance": ("relevance", "label", "rel", "score"),
    "iteration": ("iteration", "iter"),
}
RUN_HINT = "columns of a run: query_id (qid, q_id), doc_id (docno, docid), score (or rank), and tag"
QRELS_HINT = "columns of qrels: query_id (qid, q_id), doc_id (docno, docid), relevance (label, rel, score), and iteration"


def pick(wanted: str, names: Collection[str]) -> str | None:
    """The name that a column has here; None where there is none."""
    return next((name for name in NAMES[wanted] if name in names), None)


def is_run(names: Collection[str]) -> bool:
    """Whether these are names of a run's columns: query, document, and a score or a rank."""
    return all(pick(wanted, names) for wanted in ("query_id", "doc_id")) and any(map(names.__contains__, ("score", "rank")))


def run_from_columns(columns: Mapping[str, Any], *, source: str = "") -> Run:
    """A run from columns of equal length (lists, numpy, arrow, pandas).

    Without scores a document has 1/rank, which a note says. Raises ToolkitError for a missing column, for what is no id
    (text or a whole number) or no finite number, and for a document twice in a query.
    """
    place = f"{source}: " if source else ""
    query_ids, doc_ids = _documents(columns, "score" if pick("rank", columns) is None else "rank", place, RUN_HINT)
    if pick("score", columns):
        scores = _numbers(columns["score"], "score", place)
    else:
        # 1/rank; PyTerrier counts from 0
        queries, ranks = encode(query_ids)[0], _numbers(columns["rank"], "rank", place)
        if len(invalid := ranks[(ranks < 0) | (ranks != np.floor(ranks))]):
            raise ToolkitError(f"{place}rank {invalid[0]:g} is not a whole number", "ranks count from 1, or from 0")
        order = np.lexsort((ranks, queries))
        if ((np.diff(ranks[order]) == 0) & (np.diff(queries[order]) == 0)).any():
            raise ToolkitError(f"{place}two documents of a query have one rank", "ranks tell documents apart, or give scores")
        scores = 1 / (ranks + (ranks.min(initial=1) == 0))
        say(f"note: {place}ranks and no scores: a document scores 1/rank")
    named = pick("tag", columns)
    tag = one_word(columns[named][0]) if named and len(columns[named]) else ""
    return checked(Run.from_columns(query_ids, doc_ids, scores, tag=tag, source=source))


def qrels_from_columns(columns: Mapping[str, Any], *, source: str = "") -> Qrels:
    """Qrels from columns of equal length. Raises ToolkitError as `run_from_columns`, and for two labels of one document."""
    place = f"{source}: " if source else ""
    query_ids, doc_ids = _documents(columns, "relevance", place, QRELS_HINT)
    labels = _numbers(columns[pick("relevance", columns)], "relevance", place)
    whole = labels.astype(np.int64)
    if (broken := whole != labels).any():
        raise ToolkitError(f"{place}relevance {labels[broken][0]} is not a whole number", QRELS_HINT)
    iteration = pick("iteration", columns)
    iterations = _ids(columns[iteration], "iteration", place) if iteration else None
    qrels = Qrels.from_columns(query_ids, doc_ids, whole, iterations, source=source)
    order = np.lexsort((whole, qrels.docs, qrels.subtopics, qrels.queries))
    keys = np.stack((qrels.docs, qrels.subtopics, qrels.queries))[:, order]
    twice = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(0) & (np.diff(whole[order]) != 0))
    if len(twice):
        line = order[twice[0]]
        what = f"document {qrels.doc_ids[int(qrels.docs[line])]} of query {qrels.query_ids[qrels.queries[line]]}"
        raise ToolkitError(f"{place}{what} has two labels", "keep the label that is right")
    return qrels


def _documents(columns: Mapping[str, Any], number: str, place: str, hint: str) -> list[Any]:
    """Query ids and document ids. Raises ToolkitError for all columns that are missing, the one with numbers among them."""
    if missing := [wanted for wanted in ("query_id", "doc_id", number) if pick(wanted, columns) is None]:
        raise ToolkitError(f"{place}no column {', '.join(missing)}", hint)
    return [_ids(columns[pick(wanted, columns)], wanted, place) for wanted in ("query_id", "doc_id")]


def one_word(name: object) -> str:
    """A model's name as a tag, which has no white space (of ASCII, as in C)."""
    return "-".join(re.findall(r"[^\t\n\v\f\r \0]+", str(name or "")))


def _ids(values: Any, name: str, place: str) -> Any:
    """Ids are text always; whole numbers become it, and nothing else: 7.0 is what pandas makes of 007 beside an empty cell."""
    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        empty = compute.min(compute.binary_length(values)).as_py() == 0
    else:
        values = values.tolist() if hasattr(values, "tolist") else list(values)
        if {*map(type, values)} - {str}:
            if bad := [value for value in values if isinstance(value, bool) or not isinstance(value, str | int | np.integer)]:
                raise ToolkitError(f"{place}{name} {bad[0]!r} is no id", "ids are text or whole numbers")
            values = [str(value) for value in values]
        empty = "" in values
    if empty:
        raise ToolkitError(f"{place}{name} is empty", "ids are text or whole numbers")
    return values


def _numbers(values: Any, name: str, place: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ToolkitError(f"{place}{name} is no number: {error}", "scores, ranks and labels are numbers") from error
