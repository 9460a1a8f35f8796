"""One comparison of what is registered with what was found, and its outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

OK, OKISH, FAIL, MISSING = OUTCOMES = ("OK", "OKish", "FAIL", "MISSING")
NEAR = 0.0005  # what a model may be off on another machine


class Check(NamedTuple):
    """expected and got as they are printed; outcome is empty for what is compared and not expected (published numbers)."""

    what: str
    expected: str
    got: str
    outcome: str


def same(what: str, expected: object, got: object) -> Check:
    """A check of two things that must be equal."""
    return Check(what, str(expected), str(got), OK if expected == got else FAIL)


def near(what: str, expected: float, got: float | None, *, tolerance: float, deterministic: bool) -> Check:
    """A check of two numbers; OKish is for systems whose runs are not the same bytes on every machine."""
    if got is None:
        return Check(what, repr(expected), "no value", FAIL)
    distance = 0.0 if math.isnan(expected) and math.isnan(got) else abs(expected - got)
    outcome = OK if distance <= tolerance else OKISH if distance <= NEAR and not deterministic else FAIL
    return Check(what, repr(expected), repr(got), outcome)


def worst(checks: Iterable[Check]) -> str:
    """The outcome of all together."""
    found = {check.outcome for check in checks}
    return next((outcome for outcome in (FAIL, MISSING, OKISH) if outcome in found), OK)
