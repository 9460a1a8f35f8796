"""Run files in every format, which is recognised by the file's content, here and nowhere else."""

import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.files import is_stream, open_input
from toolkit.core.system.yaml_json import json_end, read_yaml
from toolkit.files.runs import column_runs, json_runs, pickled
from toolkit.files.runs.problems import codes
from toolkit.files.runs.requests import parse_requests
from toolkit.files.runs.trec_runs import is_trec, parse_trec, stream_trec, write_run
from toolkit.files.texts.lines import first_lines, read_bytes, source_name, without_marks

SEARCHED = 1 << 10  # bytes

Parse = Callable[[bytes, str], Run]


class Form(NamedTuple):
    """A form of run files.

    name     as `runs convert --from` and `--to` have it
    is_it    whether the bytes of a file (decompressed), of this name, are in the form
    parse    the run of such bytes
    write    None where nothing is written in it
    """

    name: str
    is_it: Callable[[bytes, str], bool]
    parse: Parse
    write: Callable[..., None] | None = None

    @property
    def words(self) -> Mapping[str, str]:
        """`content`, what is in such a file, and `tools`, which tools write or read it."""
        return _words()[self.name]


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return read_yaml(Path(__file__).with_name("run_forms.yaml"))


FORMS = {
    form.name: form
    for form in (
        Form("trec", lambda data, _: is_trec(data) and not _is_json(data), parse_trec, write_run),
        Form("json", json_runs.is_json, json_runs.parse_json, json_runs.write_json),
        Form("jsonl", json_runs.is_json_lines, json_runs.parse_json_lines),
        Form("parquet", lambda data, _: data.startswith(b"PAR1"), column_runs.parse_parquet, column_runs.write_parquet),
        Form("csv", column_runs.is_named, column_runs.parse_named),
        Form("msmarco", column_runs.has_ranks, column_runs.parse_ranks),
        Form("tsv", column_runs.has_scores, column_runs.parse_scores),
        Form("mteb", json_runs.is_mteb, json_runs.parse_mteb, json_runs.write_mteb),
        Form("rank-llm", json_runs.is_requests, lambda data, source: parse_requests(data, source)[0]),
        Form("lz4", lambda data, _: data.startswith(json_runs.LZ4), json_runs.parse_lz4),
        Form("pickle", pickled.is_pickled, pickled.parse_pickled),
    )
}


def read_run(path: str | Path, form: str = "") -> Run:
    """A run from a file in any of FORMS, recognised by its content, or in the one that is named; .gz, .zst, `-`.

    Raises ToolkitError with what is wrong with the file, for a document twice in a query, a score that is no finite number, a
    file without documents, and one that fits two forms.
    """
    if form and form not in FORMS:
        raise ToolkitError(f"no form {form!r} of runs", f"known: {', '.join(FORMS)}")
    source = source_name(path)
    if form in ("", "trec") and not is_stream(path) and (run := stream_trec(path, source)) is not None:
        return run
    return parse_run(read_bytes(path, pickled.MOST if pickled.is_pickled(_start(path), source) else None), source, form)


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
    if not fits and (b"\0" in head or (b"\0" in data[:SEARCHED] and len(head.split()) != 6)):
        known = "a run is UTF-8 text, or one of the other formats that `tandem runs convert --help` lists"
        raise ToolkitError(f"{source} is a binary file of no known format", known)
    if len(fits) > 1:
        forms = " or ".join(f"{form.name} ({form.words['content']})" for form in fits)
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
