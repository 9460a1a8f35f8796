"""A table of a report, before it is HTML, LaTeX, Markdown or CSV: rows in blocks, every number at full precision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

BEST, ALIKE = "best", "alike"


@dataclass(frozen=True)
class Head:
    """A column. above: what several neighbours share (the measure); name: its own (the mode); note: what it is, in words."""

    above: str
    name: str
    number: bool = True
    note: str = ""

    @property
    def title(self) -> str:
        """Both in one line."""
        return " ".join(filter(None, (self.above, self.name)))


@dataclass(frozen=True)
class Cell:
    """One cell. value: the number at full precision; mark: `best`, `alike` (not significantly different from it) or empty."""

    text: str
    value: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own; the heading may be empty."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Table:
    """One table.

    name     for programs and links (`infosearch-mini.average`)
    title    for people
    caption  how it is read: units, marks
    warning  what a reader must know who sees this table alone
    """

    name: str
    title: str
    caption: str
    heads: tuple[Head, ...]
    blocks: tuple[Block, ...]
    warning: str = ""

    @property
    def legend(self) -> str:
        """Caption and warning, for a table that stands alone."""
        return " ".join(filter(None, (self.caption, self.warning)))

    @property
    def spans(self) -> list[tuple[str, int]]:
        """What stands above the heads, and over how many; empty where every head says all."""
        if all(not head.above or not head.name for head in self.heads):
            return []
        groups = [(above, list(span)) for above, span in groupby(self.heads, lambda head: head.above)]
        return [(above if span[0].name else "", len(span)) for above, span in groups]


def words(text: str) -> Cell:
    """A cell of words."""
    return Cell(text)


def score(value: float | None, mark: str = "") -> Cell:
    """A score, to four decimals; `-` where there is none."""
    return figure(value, "{:.4f}", mark)


def figure(value: float | None, form: str, mark: str = "") -> Cell:
    """A number as `form` has it; `-` where there is none."""
    return Cell("-") if value is None or math.isnan(value) else Cell(form.format(value), float(value), mark)
