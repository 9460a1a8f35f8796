"""Labelled examples that stand before the question: JSON lines with document, statement and label."""

from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.files.texts.lines import json_rows, read_bytes, source_name, text_lines
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
    problems: list[str] = []
    shots = list(json_rows(text_lines(read_bytes(path), source), _shot, problems))
    if problems or not shots:
        raise ToolkitError(f"{source}: no labelled examples", FORM, problems=problems)
    return shots


def _shot(row: Any) -> Shot:
    """An example; ValueError with what is wrong with the row."""
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("document", "statement")):
        raise ValueError("document and statement are texts")
    if type(row.get("label")) not in (int, bool) or row["label"] not in (0, 1):
        raise ValueError("label is 0 or 1")
    if any(slot in row[name] for slot in (DOCUMENT, QUERY) for name in ("document", "statement")):
        raise ValueError(f"{DOCUMENT} and {QUERY} are slots of prompts")
    return Shot(row["document"], row["statement"], int(row["label"]))
