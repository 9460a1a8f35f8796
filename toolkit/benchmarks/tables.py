"""Tables of a data repository: JSONL, TSV with a header, or Parquet, found by the name of their configuration."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_input

# a folder may hold the same table in two forms: the first of these counts
FORMATS = (".jsonl", ".jsonl.gz", ".tsv", ".parquet")


class Record(NamedTuple):
    """One row of a table, and where it stands (`corpus.jsonl, line 3`)."""

    place: str
    values: Mapping[str, Any]


def read_table(folder: Path, configuration: str) -> Iterator[Record]:
    """The rows of a configuration (`corpus`, `qrels_og`), in the order of its files and lines.

    Raises ToolkitError where there is no such table, and at a row that cannot be read, with file and line.
    """
    for path in table_files(folder, configuration):
        if path.suffix == ".parquet":
            yield from _parquet(path)
        elif path.suffix == ".tsv":
            yield from _tsv(path)
        else:
            yield from _jsonl(path)


def table_files(folder: Path, configuration: str) -> list[Path]:
    """The files of a configuration: those that the repository's README declares, otherwise by their names."""
    patterns = _declared(folder).get(configuration) or [
        f"{configuration}.*",
        f"{configuration}/*",
        f"{configuration}-*",
        f"data/{configuration}-*",
    ]
    found = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    for suffix in FORMATS:
        if files := [path for path in found if path.name.endswith(suffix)]:
            return files
    forms = f"{configuration}.jsonl, {configuration}/*.tsv or {configuration}/*.parquet"
    raise ToolkitError(f"{folder} has no table {configuration!r}", f"expected {forms}")


def _declared(folder: Path) -> dict[str, list[str]]:
    """Configuration -> patterns of its files, from the head of a hub repository's README (`configs`)."""
    import yaml

    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not text.startswith("---\n"):
        return {}
    head = yaml.safe_load(text[4:].partition("\n---")[0]) or {}
    return {
        config["config_name"]: _patterns(config["data_files"]) for config in head.get("configs", []) if "data_files" in config
    }


def _patterns(data_files: str | list) -> list[str]:
    if isinstance(data_files, str):
        return [data_files]
    return [pattern for entry in data_files for pattern in (_patterns(entry["path"]) if isinstance(entry, dict) else [entry])]


def _jsonl(path: Path) -> Iterator[Record]:
    for place, line in _lines(path):
        try:
            values = json.loads(line)
        except json.JSONDecodeError as error:
            raise ToolkitError(f"{place}: no JSON ({error.msg})", "every line is one JSON object") from error
        if not isinstance(values, dict):
            raise ToolkitError(f"{place}: expected a JSON object, found {line.strip()[:40]}", "every line is one JSON object")
        yield Record(place, values)


def _tsv(path: Path) -> Iterator[Record]:
    header: list[str] = []
    for place, line in _lines(path):
        columns = next(csv.reader([line.rstrip("\r\n")], delimiter="\t", quoting=csv.QUOTE_NONE))
        if not header:
            header = columns
        elif len(columns) != len(header):
            raise ToolkitError(f"{place}: expected {len(header)} columns, found {len(columns)}", "columns are divided by tabs")
        else:
            yield Record(place, dict(zip(header, columns, strict=True)))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Non-empty lines with their places."""
    with open_input(path) as file:
        number = 0
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ToolkitError(f"{path}, line {number}: no UTF-8", "save the file as UTF-8") from error
        except (EOFError, OSError) as error:
            raise ToolkitError(f"{path}: damaged after line {number} ({error})", "get the file again") from error


def _parquet(path: Path) -> Iterator[Record]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        hint = "get the file again (a clone without Git LFS holds pointers only)"
        raise ToolkitError(f"{path} is no Parquet file", hint) from error
    for number, values in enumerate(table.to_pylist(), 1):
        yield Record(f"{path}, row {number}", values)
