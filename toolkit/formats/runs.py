"""Run files in every format, which is recognised by the file's content, here and nowhere else."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.files import is_stream, open_input
from toolkit.core.runs import Run
from toolkit.core.yaml_json import json_end
from toolkit.formats import column_runs, json_runs, pickled
from toolkit.formats.lines import first_lines, read_bytes, source_name, without_marks
from toolkit.formats.problems import codes
from toolkit.formats.requests import parse_requests
from toolkit.formats.trec_runs import is_trec, parse_trec, stream_trec, write_run

SEARCHED = 1 << 10  # bytes
TREC_COLUMNS = 6
Parse = Callable[[bytes, str], Run]


class Form(NamedTuple):
    """A form of run files.

    name     as `runs convert --from` and `--to` have it
    content  what is in such a file, and
    tools    which tools write or read it, for the table of the guide
    is_it    whether the bytes of a file (decompressed), of this name, are in the form
    parse    the run of such bytes
    write    None where nothing is written in it
    """

    name: str
    content: str
    tools: str
    is_it: Callable[[bytes, str], bool]
    parse: Parse
    write: Callable[..., None] | None = None


FORMS = {
    form.name: form
    for form in (
        Form(
            "trec",
            "six columns a line",
            "trec_eval, Anserini, ir_measures, PyTerrier's `.res`",
            lambda data, _: is_trec(data) and not _is_json(data),
            parse_trec,
            write_run,
        ),
        Form(
            "json",
            "`{query_id: {doc_id: score}}`, without a tag",
            "pytrec_eval, ranx, BEIR",
            json_runs.is_json,
            json_runs.parse_json,
            json_runs.write_json,
        ),
        Form(
            "jsonl",
            "an object a line: query_id, doc_id, score",
            "pandas, DuckDB",
            json_runs.is_json_lines,
            json_runs.parse_json_lines,
        ),
        Form(
            "parquet",
            "columns query_id, doc_id, rank, score, tag",
            "pandas, DuckDB, Polars, ranx",
            column_runs.is_parquet,
            column_runs.parse_parquet,
            column_runs.write_parquet,
        ),
        Form(
            "csv",
            "the same columns under their names, divided by commas or tabs",
            "pandas, PyTerrier's frames",
            column_runs.is_named,
            column_runs.parse_named,
        ),
        Form(
            "msmarco",
            "query_id, doc_id, rank, divided by tabs",
            "MS MARCO's leaderboards, PyTerrier's `minimal`",
            column_runs.has_ranks,
            column_runs.parse_ranks,
        ),
        Form(
            "tsv",
            "query_id, doc_id, score, divided by tabs",
            "Tevatron",
            column_runs.has_scores,
            column_runs.parse_scores,
        ),
        Form(
            "mteb",
            "`<task>_predictions.json` of one subset and split",
            "mteb",
            json_runs.is_mteb,
            json_runs.parse_mteb,
            json_runs.write_mteb,
        ),
        Form(
            "rank-llm",
            "requests: query with text, candidates with text",
            "rank_llm, InfoSearch's rerankers",
            json_runs.is_requests,
            lambda data, source: parse_requests(data, source)[0],
        ),
        Form(
            "lz4",
            "`{query_id: {doc_id: score}}` as compressed CBOR",
            "ranx",
            json_runs.is_lz4,
            json_runs.parse_lz4,
        ),
        Form(
            "pickle",
            "`{query_id: {doc_id: score}}`, read and never executed",
            "InstructIR's authors",
            pickled.is_pickled,
            pickled.parse_pickled,
        ),
    )
}


def read_run(path: str | Path, form: str = "") -> Run:
    """A run from a file in any of FORMS, recognised by its content; .gz, .zst, `-`.

    form  which one it is, for a file that fits two

    Raises ToolkitError with what is wrong with the file, for a document twice in a query, a score that is no finite number,
    a file without documents, and one that fits two forms.
    """
    if form and form not in FORMS:
        raise ToolkitError(f"no form {form!r} of runs", f"known: {', '.join(FORMS)}")
    source = source_name(path)
    if form in ("", "trec") and not is_stream(path) and (run := stream_trec(path, source)) is not None:
        return run
    most = pickled.MOST if pickled.is_pickled(_start(path), source) else None
    return parse_run(read_bytes(path, most), source, form)


def parse_run(data: bytes, source: str, form: str = "") -> Run:
    """The same from the bytes of a file, decompressed; `source` is its name in messages."""
    run = FORMS[form or form_of(data, source)].parse(data, source)
    if not len(run):
        raise ToolkitError(f"{source}: no documents in it", codes()["F002"].hint)
    return run


def form_of(data: bytes, source: str) -> str:
    """The form that the bytes of a file are in; `trec` where none fits, whose reader says what is wrong with which line.

    Raises ToolkitError where two forms fit (neither is guessed), and for binary files of another kind.
    """
    if FORMS["trec"].is_it(data, source):
        return "trec"
    fits = [form for form in FORMS.values() if form.is_it(data, source)]
    head = next(first_lines(data), b"")
    if not fits and (b"\0" in head or (b"\0" in data[:SEARCHED] and len(head.split()) != TREC_COLUMNS)):
        known = "a run is UTF-8 text, or one of the other formats that `tandem runs convert --help` lists"
        raise ToolkitError(f"{source} is a binary file of no known format", known)
    if len(fits) > 1:
        forms = " or ".join(f"{form.name} ({form.content})" for form in fits)
        raise ToolkitError(f"{source} may be {forms}", f"tandem runs convert F --from {fits[0].name} --to trec --output G")
    return fits[0].name if fits else "trec"


def _is_json(data: bytes) -> bool:
    """Whether a JSON value stands alone on the first lines: `{` may begin a query id too."""
    if not without_marks(data[:256]).lstrip().startswith((b"{", b"[")):
        return False
    text = without_marks(data).decode(errors="replace").lstrip()
    end = json_end(text)
    return end is not None and not text[end:].partition("\n")[0].strip()


def _start(path: str | Path) -> bytes:
    """The first bytes of a file, decompressed; standard input keeps them. Whoever reads on meets what is wrong with it."""
    file = open_input(path)
    try:
        return file.peek(4)[:4]
    except (EOFError, OSError, zlib.error):
        return b""
    finally:
        if str(path) != "-":
            file.close()
