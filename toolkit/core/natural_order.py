"""The order in which people count: v2 before v10."""

import re

_NUMBER = re.compile(r"([0-9]+)")


def natural(text: str) -> tuple[tuple, str]:
    """A key to sort names by: numbers in them by their value, letters without regard to case unless nothing else differs."""
    parts = _NUMBER.split(text.casefold())  # words and numbers in turn
    parts[1::2] = [(len(digits), digits) for digits in (part.lstrip("0") for part in parts[1::2])]
    return tuple(parts), text
