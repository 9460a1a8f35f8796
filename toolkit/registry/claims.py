"""What the papers say of their tables, claim by claim (`published/claims.csv`), and whether it holds over some numbers."""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from typing import NamedTuple

from toolkit.registry.expressions import Missing, evaluate
from toolkit.registry.tables import PUBLISHED, Cell

YES = {"yes": True, "no": False}


class Claim(NamedTuple):
    """One claim of a paper.

    section     where it stands there
    claim       in our words
    expression  the same over its tables (`toolkit.registry.expressions`)
    general     whether it can be asked of other runs too; the rest is about the paper's own numbers
    holds       whether it does over the published tables
    note        where the tables contradict it: how
    """

    id: str
    paper: str
    section: str
    claim: str
    expression: str
    general: bool
    holds: bool
    note: str


@functools.cache
def _read() -> tuple[Claim, ...]:
    with (PUBLISHED / "claims.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Claim(**{**row, **{name: YES[row[name]] for name in ("general", "holds")}}) for row in csv.DictReader(file)
        )


def claims(paper: str) -> tuple[Claim, ...]:
    """The claims of a paper, in its order; empty where none are known."""
    return tuple(claim for claim in _read() if claim.paper == paper)


def outcomes(paper: str, cells: Sequence[Cell]) -> list[tuple[Claim, bool | None]]:
    """Whether each claim of a paper holds over some cells, its own or others in their form; None where cells are missing."""
    return [(claim, _holds(claim, cells)) for claim in claims(paper)]


def _holds(claim: Claim, cells: Sequence[Cell]) -> bool | None:
    try:
        return evaluate(claim.expression, cells)
    except Missing:
        return None
