"""How runs look in figures: told apart without colour, legible on light and dark, names that stay text."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from toolkit import registry
from toolkit.core.scores import shown_measure
from toolkit.metrics.evaluation import PAIRED

# the page's colour of text, black in files
INK = "currentColor"
# Each has a contrast of 3 to white and to a dark page; any two differ in simulated protanopia and deuteranopia, and in grey as
# far as both pages allow (a test computes it): shape and dash tell apart what colour does not
COLOURS = (INK, "#028DED", "#986D2C", "#229062", "#9351A4", "#7E9F00", "#4B6576")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (8, 3, 2, 3), (2, 2))
GREY = "#808080"
PALE, NEAR_BLACK = "#ffffff", "#010101"  # on coloured ground, which no page turns
WIDEST = 40  # characters of a name; the middle of a longer one is left out


def labels(names: Iterable[str]) -> dict[str, str]:
    """Name -> what is written for it: one line that XML can hold; long ones without their middle, if they still differ."""
    whole = {name: "".join(sign if sign.isprintable() else "\ufffd" for sign in name) for name in names}
    short = {name: text if len(text) <= WIDEST else _without_middle(text) for name, text in whole.items()}
    times = Counter(short.values())
    return {name: text if times[text] == 1 else whole[name] for name, text in short.items()}


def _without_middle(text: str) -> str:
    kept = (WIDEST - 1) // 2
    return f"{text[:kept]}\u2026{text[-kept:]}"


def axis_name(measure: str, mode: str = PAIRED) -> str:
    """What stands at an axis: measure, mode and unit."""
    return f"{' '.join(filter(None, (shown_measure(measure), mode.removeprefix(PAIRED))))} ({registry.measure(measure).unit})"


def cell(value: float, digits: int = 2) -> str:
    """A number in a figure, with a true minus and never minus zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "\u2212")


def ticks(values: Sequence[float]) -> list[float]:
    """Two to seven round numbers from below the smallest value, or 0, to above the largest."""
    low, high = min([0.0, *values]), max([0.0, *values])
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.floor(low / step)
    return [round(number * step, 12) for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
