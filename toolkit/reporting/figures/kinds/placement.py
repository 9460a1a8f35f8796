"""Labels beside what they name: where they stand so that none covers another, and when they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures import theme

LINE = 13  # pixels from one label of 11 px to the next
WIDTH = 6.5  # of a character of 11 px, on average
FAR = 60  # square pixels that a label rather covers than to stand a step away from its point
OUT = 60  # pixels
PALE = 0.3
NONE_CHOSEN = f"length({theme.FOCUS}) == 0"
AROUND = ((8, 0, "left"), (-8, 0, "right"), (0, -13, "center"), (0, 13, "center"))
DIAGONAL = ((7, -11, "left"), (7, 11, "left"), (-7, -11, "right"), (-7, 11, "right"))


def spread(wanted: Sequence[float], height: float, gap: float = LINE) -> list[float]:
    """Places in a column, in the order given: as near to the wanted ones as a gap between any two allows.

    wanted  pixels from the top, parallel to what is given back; where more labels come than the height holds, the gap shrinks

    The least squares of what moves: isotonic regression of the places less their gaps.
    """
    from scipy.optimize import isotonic_regression

    gap = min(gap, height / max(len(wanted) - 1, 1))
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    places = np.empty(len(wanted))
    places[order] = np.clip(isotonic_regression(np.array(wanted, float)[order] - steps).x, 0, height - sum(steps[-1:])) + steps
    return places.tolist()


class Beside(NamedTuple):
    """A label beside a point: pixels to the right and down, and how it is aligned (`left`, `right`, `center`)."""

    dx: float
    dy: float
    align: str


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        """Square pixels that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0) * max(high, 0)


def beside_points(
    points: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float], others: Sequence[tuple] = ()
) -> list[Beside]:
    """A label for each point, where it covers the least of points, of labels before it, and of what lies outside.

    points  pixels from left and top, in the order in which they choose
    size    of the panel; a label may stand a little out of it to the right
    others  boxes (left, top, right, bottom) that are not to be covered either
    """
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for x, y in points] + [_Box(*box) for box in others]
    placed = []
    for own, (point, name) in enumerate(zip(points, names, strict=True)):
        choices = [(far, Beside(dx * far, dy * far, align)) for far in (1, 2, 3) for dx, dy, align in (*AROUND, *DIAGONAL)]
        hindered = [box for number, box in enumerate(taken) if number != own]
        costs = []
        for far, choice in choices:
            box = _box(point, choice, name)
            outside = max(-box.left, 0) + max(-box.top, 0) + max(box.bottom - size[1], 0) + max(box.right - size[0] - OUT, 0)
            costs.append(sum(map(box.overlap, hindered)) + 20 * outside + FAR * (far - 1))
        best = min(range(len(choices)), key=lambda place: (costs[place], place))
        placed.append(choices[best][1])
        taken.append(_box(point, placed[-1], name))
    return placed


def _box(point: tuple[float, float], label: Beside, name: str) -> _Box:
    wide = WIDTH * len(name)
    start = point[0] + label.dx - {"left": 0, "right": wide, "center": wide / 2}[label.align]
    middle = point[1] + label.dy
    return _Box(start, middle - LINE / 2, start + wide, middle + LINE / 2)


def label_opacity() -> Any:
    """Of a label with the fields `run` and `_shown`: there where its run is chosen, or it is shown and none is."""
    return _visible().when("datum._shown").then(alt.value(theme.FADED)).otherwise(alt.value(0))


def line_opacity() -> Any:
    """Of a run's marks: runs without a label that shows are pale until they are chosen, so that many stay readable."""
    return _visible().when(NONE_CHOSEN).then(alt.value(PALE)).otherwise(alt.value(theme.FADED))


def _visible() -> Any:
    return alt.when(f"indexof({theme.FOCUS}, datum.run) >= 0 || ({NONE_CHOSEN} && datum._shown)").then(alt.value(1))
