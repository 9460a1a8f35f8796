"""Labelled pairs, by people or by another judge: JSON lines with texts, or subtopic qrels."""

from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.files.formats import read_qrels
from toolkit.files.texts.lines import json_rows, read_bytes, source_name, text_lines, without_marks
from toolkit.retrieval.judge.judging import NOTHING

FIELDS = ("question", "document", "perspective")
FORM = 'each line is {"question": text, "document": text, "perspective": text, "label": 0 or 1}'

# what is labelled: (question, document, perspective) as texts, or (query id, subtopic, document id)
Key = tuple[str, str, str]


class Labels(NamedTuple):
    """What a file has labelled: 1, 0, or None where the request was unanswered.

    rows      in the file's order; a pair that it has twice, with one label, stays twice (two systems found the document)
    in_words  whether keys are texts
    """

    source: str
    rows: tuple[tuple[Key, int | None], ...]
    in_words: bool

    @property
    def labels(self) -> dict[Key, int | None]:
        """Each pair with its label."""
        return dict(self.rows)


def read_labels(path: str | Path) -> Labels:
    """The labels of a file: JSON lines (see `FORM`), anything else as subtopic qrels, whose document `-` is none.

    Raises ToolkitError with all problems of the file, and for one pair with two labels.
    """
    data, source = read_bytes(path), source_name(path)
    if without_marks(data).lstrip().startswith(b"{"):
        return Labels(source, _from_json(data, source), True)
    lines = (row for row in read_qrels(path) if row.doc_id != NOTHING)
    rows = (((row.query_id, row.iteration, row.doc_id), row.relevance) for row in lines)
    return Labels(source_name(path), tuple((key, None if label < 0 else int(label > 0)) for key, label in rows), False)


def _from_json(data: bytes, source: str) -> tuple[tuple[Key, int | None], ...]:
    labels: dict[Key, int | None] = {}
    problems: list[str] = []

    def read(row: Any) -> tuple[Key, int | None]:
        key, label = _row(row)
        if labels.setdefault(key, label) != label:
            raise ValueError("the same pair again, with another label")
        return key, label

    rows = tuple(json_rows(text_lines(data, source), read, problems))
    if problems or not labels:
        raise ToolkitError(f"{source}: no labelled pairs", FORM, problems=problems)
    return rows


def _row(row: Any) -> tuple[Key, int | None]:
    """A pair and its label; ValueError with what is wrong with the row."""
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in FIELDS):
        raise ValueError(f"{', '.join(FIELDS)} are texts")
    if type(row.get("label")) not in (int, bool) or row["label"] not in (-1, 0, 1):
        raise ValueError("label is 0 or 1")
    question, document, perspective = (row[name] for name in FIELDS)
    return (question, document, perspective), None if row["label"] < 0 else int(row["label"])
