"""Numbers picked out of tables for what is claimed of them, and how two of them are compared.

A frame has a row for each number of a paper's tables, or of runs in their form, with the columns of `Cell`: fractions, counts
and ranks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

TOLERANCE = 1e-9  # sums of printed decimals


class Missing(Exception):
    """There are no numbers for something that a claim is about."""


def rows(frame: DataFrame, **where: object) -> DataFrame:
    """The rows that have, in every column that is named, the value or one of the values. `Missing` where there are none."""
    for name, value in where.items():
        frame = frame[frame[name].isin([str(each) for each in (value if isinstance(value, list) else [value])])]
    if frame.empty:
        raise Missing(f"no numbers for {where}")
    return frame


def numbers(frame: DataFrame, *by: str, **where: object) -> Series:
    """The numbers of `rows`, by the columns named in `by`, or by system, kind and group.

    Raises ToolkitError where two numbers share a place: tables print some twice.
    """
    by = by or ("system", "kind", "group")
    values = rows(frame, **where).drop_duplicates([*by, "value"]).set_index(list(by))["value"]
    if not values.index.is_unique:
        raise ToolkitError(f"several numbers fit {where}", "name what tells them apart")
    return values


def value(frame: DataFrame, **where: object) -> float:
    """The one number that fits; errors as of `numbers`."""
    return numbers(frame, "measure", **where).item()


def above(left: float | Series, right: float | Series) -> bool | Series:
    """Whether one number is larger than another by more than sums of decimals are inexact; of columns, for each place."""
    return left > right + TOLERANCE


def same(left: float, right: float) -> bool:
    """Whether neither number is above the other."""
    return abs(left - right) <= TOLERANCE


def every(parts: list[bool]) -> bool:
    """Whether all parts of a claim hold; in a list each is computed, so that a claim is open where one lacks its numbers."""
    return all(parts)


def all_above(left: Series, right: Series) -> bool:
    """Whether each number is above that of the same place in another column; `Missing` where they share no place."""
    differences = (left - right).dropna()
    if differences.empty:
        raise Missing("no place has both")
    return above(differences.min(), 0)


def leads(system: str | tuple[str, str], column: Series) -> bool:
    """Whether a system, or one at its place (`("DPR", "sphere")`), is above every other one of a column; `Missing` where it or
    others are not there."""
    is_system = column.index.isin([system], level="system" if isinstance(system, str) else None)
    if is_system.all() or not is_system.any():
        raise Missing(f"{system} and others")
    return above(column[is_system].min(), column[~is_system].max())


def rises(column: Series, *places: str) -> bool:
    """Whether each of some places of a column is above the one before it; `Missing` where one is not there."""
    if missing := set(places) - set(column.index):
        raise Missing(f"no numbers for {missing}")
    return all(above(column[after], column[before]) for before, after in pairwise(places))
