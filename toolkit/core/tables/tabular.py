"""Rows as text for programs, JSON and CSV, and for notebooks; `aligned_table` is what people read."""

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SCHEMA = 1
FORMULA = re.compile(r"[=+\-@\t\r](?!\d*\.?\d+([eE][+-]?\d+)?$)")  # numbers with a sign are none


def to_json(records: Iterable[Mapping[str, Any]], notes: Sequence[str] = (), **facts: str) -> str:
    """`{"schema": 1, "rows": [...], "notes": [...]}`, a record a line, NaN as null; facts  of all rows, before them."""
    lines = ",\n".join("  " + json.dumps(without_nan(row), ensure_ascii=False) for row in records)
    named = "".join(f', "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in facts.items())
    return f'{{"schema": {SCHEMA}{named}, "rows": [\n{lines}\n], "notes": {json.dumps(list(notes), ensure_ascii=False)}}}\n'


def to_html(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A plain table for a notebook; every text escaped, floats with four decimals."""

    def cells(tag: str, values: Iterable[object]) -> str:
        shown = (f"{value:.4f}" if isinstance(value, float) else str(value) for value in values)
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in shown) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{top}<thead>{cells('th', heads)}</thead><tbody>{body}</tbody></table>"


def to_csv(heads: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Comma-separated lines below their heads, NaN as nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(without_nan, records))
    return text.getvalue()


def for_spreadsheet(record: Mapping[str, Any]) -> dict[str, Any]:
    """The same; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    return {name: f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value for name, value in record.items()}


def without_nan(record: Mapping[str, Any]) -> dict[str, Any]:
    """The same with None for no number."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in record.items()}
