"""What does not agree in a paper, or between a paper and its data: `registry/published/inconsistencies.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER


class Inconsistency(NamedTuple):
    """One thing that does not agree.

    what   in words
    cells  the cells that it is about, each as the columns that pick them out: table, system, kind, group, mode, measure, with
           a value or several; no cells where it is about the text or the data
    """

    what: str
    cells: tuple[dict[str, Any], ...]


def inconsistencies(paper: str) -> tuple[Inconsistency, ...]:
    """Everything known of a paper; empty where nothing is."""
    return _read().get(paper, ())


@functools.cache
def _read() -> dict[str, tuple[Inconsistency, ...]]:
    content = read_yaml(FOLDER / "published" / "inconsistencies.yaml")
    return {
        paper: tuple(Inconsistency(row["what"], tuple(row.get("cells", ()))) for row in rows) for paper, rows in content.items()
    }


def of_cell(paper: str, row: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with a cell of a table, given by its columns."""
    return tuple(each.what for each in inconsistencies(paper) if any(picks(cell, row) for cell in each.cells))


def picks(cell: Mapping[str, Any], row: Mapping[str, str]) -> bool:
    """Whether a row has, in every column that is named, the value or one of the values."""
    return all(row[name] in map(str, value if isinstance(value, list) else [value]) for name, value in cell.items())
