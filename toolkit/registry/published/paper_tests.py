"""What is told from the best of its column by a paper's own tests: mFollowIR's underlines (section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from toolkit.core.scores import SIGNIFICANT
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.published.paper_tables import PUBLISHED


def tests_of(paper: str) -> Mapping[str, str]:
    """Measure -> the test by which a paper says what is similar to the best, one of `evaluate.comparison.TESTS`."""
    return read_yaml(PUBLISHED / "reproductions.yaml")[paper].get("tests", {})


class Tested(NamedTuple):
    """A number beside the best of its column.

    best   whose number is the highest; empty where the paper tests nothing
    p      against it, by the paper's test; NaN for the best itself, and where fewer than six core queries differ
    first  whether it is the best: what the paper prints in bold
    """

    best: str = ""
    p: float = math.nan
    first: bool = False

    @property
    def is_similar(self) -> bool:
        """Whether it is not told from the best: what the paper underlines."""
        return bool(self.best) and not self.first and not self.p < SIGNIFICANT

    def said(self, kind: str) -> str:
        """In words; kind  of the systems that are compared."""
        if not self.best:
            return ""
        column = f"{kind} of this column".strip()
        if self.first:
            return f"the best {column}"
        if math.isnan(self.p):
            return f"not tested against {self.best}, the best {column}: fewer than six queries differ"
        return f"{'not ' * self.is_similar}told from {self.best}, the best {column} (p = {self.p:.3f})"


def tested(numbers: Sequence[tuple[Hashable, str, float]], p_of: Callable[[int, int], float]) -> list[Tested]:
    """Each number beside the best of its column.

    numbers  column, system and value
    p_of     of two numbers of one column, by their places
    """
    columns: dict[Hashable, list[int]] = {}
    for place, (column, _, _) in enumerate(numbers):
        columns.setdefault(column, []).append(place)
    found = [Tested()] * len(numbers)
    for places in columns.values():
        best = max(places, key=lambda place: numbers[place][2])
        for place in places:
            p = math.nan if place == best else p_of(best, place)
            found[place] = Tested(numbers[best][1], p, place == best)
    return found
