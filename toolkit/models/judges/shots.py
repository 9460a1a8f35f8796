"""Labelled examples that stand before the question: JSON lines with document, statement and label."""

from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.yaml_json import Malformed, decode_json
from toolkit.formats.lines import read_bytes, source_name, text_lines
from toolkit.models.rerankers.prompts import DOCUMENT, QUERY

FORM = 'each line is {"document": text, "statement": text, "label": 0 or 1}'


class Shot(NamedTuple):
    """One example: the document holds the statement (label 1) or does not (0)."""

    document: str
    statement: str
    label: int


def read_shots(path: str | Path) -> list[Shot]:
    """The examples of a file, in their order. ToolkitError with all problems of the file."""
    source = source_name(path)
    shots, problems = [], []
    for number, line in text_lines(read_bytes(path), source):
        shot = _shot(line)
        if isinstance(shot, str):
            problems.append(f"line {number}: {shot}")
        else:
            shots.append(shot)
    if problems or not shots:
        raise ToolkitError(f"{source}: no labelled examples", FORM, problems=problems)
    return shots


def _shot(line: str) -> Shot | str:
    """An example, or what is wrong with the line."""
    try:
        row = decode_json(line)
    except Malformed as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("document", "statement")):
        return "document and statement are texts"
    if type(row.get("label")) not in (int, bool) or row["label"] not in (0, 1):
        return "label is 0 or 1"
    if any(slot in row[name] for slot in (DOCUMENT, QUERY) for name in ("document", "statement")):
        return f"{DOCUMENT} and {QUERY} are slots of prompts"
    return Shot(row["document"], row["statement"], int(row["label"]))
