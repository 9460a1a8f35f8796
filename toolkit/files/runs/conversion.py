"""Files of qrels; and what Python users have for a run or qrels, as ours: one place for every call that takes one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.files import open_output
from toolkit.files.runs.lint import qrels_from_lines, scan_qrels
from toolkit.files.runs.problems import by_line, refuse
from toolkit.files.runs.runs import read_run
from toolkit.files.texts.lines import check_ids, read_bytes, source_name, text_problems
from toolkit.files.texts.named_columns import one_word, qrels_from_columns, run_from_columns
from toolkit.files.texts.parse import evened, parse_plain_qrels

RUN = (
    "a run is a path, a Run, a DataFrame (query_id, doc_id, score; or qid, docno), {query_id: {doc_id: score}}, a ranx Run, "
    "or (query_id, doc_id, score) rows"
)
QRELS = (
    "qrels are a path, Qrels, a DataFrame (query_id, doc_id, relevance; or qid, docno, label), "
    "{query_id: {doc_id: relevance}}, ranx Qrels, or (query_id, doc_id, relevance) rows"
)


def as_run(value: Any) -> Run:
    """A Run of any form that `RUN` lists; rows may be ScoredDocs of ours, of ir_measures and of ir_datasets.

    Raises ToolkitError for anything else, and as `run_from_columns`.
    """
    if isinstance(value, Run):
        return value
    if isinstance(value, str | Path):
        return read_run(value)
    run = run_from_columns(_columns(value, "run", ("query_id", "doc_id", "score"), RUN))
    return replace(run, tag=one_word(getattr(value, "name", ""))) if _is_ranx(value, "run") else run


def as_qrels(value: Any) -> Qrels:
    """Qrels of any form that `QRELS` lists. Raises ToolkitError for anything else, and as `qrels_from_columns`."""
    if isinstance(value, Qrels):
        return value
    if isinstance(value, str | Path):
        return read_qrels(value)
    return qrels_from_columns(_columns(value, "qrels", ("query_id", "doc_id", "relevance", "iteration"), QRELS))


def is_one(value: Any) -> bool:
    """Whether a list, tuple or mapping is itself a run or qrels, and not several of them."""
    if isinstance(value, Mapping) and value:
        each = list(value.values())
        return all(isinstance(docs, Mapping) for docs in each) and not isinstance(next(iter(each[0].values()), None), Mapping)
    return isinstance(value, list | tuple) and bool(value) and _is_row(value[0])


def each_of(value: Any) -> list[tuple[str, Any]]:
    """The runs in a list, or those of a mapping with their names; one run alone is a list of one. Without a name it is ""."""
    if isinstance(value, Mapping) and not is_one(value):
        return [(str(name), each) for name, each in value.items()]
    return [("", each) for each in (value if isinstance(value, list | tuple) and not is_one(value) else [value])]


def _columns(value: Any, noun: str, names: tuple[str, ...], hint: str) -> Mapping[str, Any]:
    """The columns of a DataFrame, of nested dictionaries or of rows, by name."""
    if hasattr(value, "columns") and hasattr(value, "__getitem__"):
        return {str(name): value[name] for name in value.columns}
    if _is_ranx(value, noun):
        value = value.to_dict()
    unknown = ToolkitError(f"no {noun}: {type(value).__name__}", hint)
    if isinstance(value, Mapping):
        if not all(isinstance(docs, Mapping) for docs in value.values()):
            raise unknown
        rows = [(query_id, doc_id, number) for query_id, docs in value.items() for doc_id, number in docs.items()]
    elif isinstance(value, Iterable):
        rows = [_row(row, names) if _is_row(row) else None for row in value]
        if None in rows:
            raise unknown
    else:
        raise unknown
    widths = {len(row) for row in rows} or {3}
    if len(widths) > 1:
        raise ToolkitError(f"{noun} with rows of {' and of '.join(map(str, sorted(widths)))} columns", hint)
    return {name: [row[place] for row in rows] for place, name in enumerate(names[: widths.pop()])}


def _is_ranx(value: Any, noun: str) -> bool:
    return hasattr(value, "to_dict") and hasattr(value, noun) and not hasattr(value, "columns")


def _is_row(row: Any) -> bool:
    """A ScoredDoc, a Qrel, or a tuple like one. A DataFrame has its columns as attributes."""
    if hasattr(row, "query_id"):
        return not hasattr(row, "columns")
    return isinstance(row, tuple | list) and len(row) in (3, 4) and isinstance(row[2], Real)


def _row(row: Any, names: tuple[str, ...]) -> tuple:
    if hasattr(row, "query_id"):
        return tuple(getattr(row, name) for name in names if hasattr(row, name))
    return tuple(row)


def read_qrels(path: str | Path) -> Qrels:
    """Qrels from a TREC file, four columns divided by blanks or tabs, or BEIR's TSV with its header (query-id corpus-id score).

    The same (query, iteration, document) twice counts once where the labels are equal. `#` lines are comments; .gz, .zst, `-`.

    Raises ToolkitError with all problems of the file (wrong number of columns, a relevance that is no whole number,
    contradictory judgments, bytes that are not UTF-8, no lines at all).
    """
    data, source = read_bytes(path), source_name(path)
    plain = parse_plain_qrels(data, source)
    plain = parse_plain_qrels(evened(data), source) if plain is None else plain
    if plain is not None:
        return plain
    lines, problems = scan_qrels(data)
    refuse(source, by_line(problems + text_problems(data)))
    return qrels_from_lines(lines, source)


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write TREC qrels, `query_id iteration doc_id relevance`, in the order of the judgments."""
    check_ids("query_id", qrels.query_ids)
    check_ids("doc_id", qrels.doc_ids)
    check_ids("iteration", qrels.iterations)
    with open_output(path) as out:
        for query_id, doc_id, relevance, iteration in qrels:
            out.write(f"{query_id} {iteration} {doc_id} {relevance}\n".encode())
