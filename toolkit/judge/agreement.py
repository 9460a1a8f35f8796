"""How far a judge agrees with a reference: accuracy, precision, recall, F1, Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """Of the pairs that both have labelled; a share whose denominator is 0 is None.

    pairs      that the reference has; `unjudged`: of these, unanswered, and left out of all that follows
    positives  the judge's share of positive labels; `reference_positives`: the reference's
    kappa      Cohen 1960: (observed - expected agreement) / (1 - expected)
    """

    pairs: int
    unjudged: int
    positives: float | None
    reference_positives: float | None
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None


def agreement(judged: Sequence[int | bool | None], reference: Sequence[int | bool]) -> Agreement:
    """The judge's labels against the reference's, pair by pair."""
    both = [(bool(ours), bool(theirs)) for ours, theirs in zip(judged, reference, strict=True) if ours is not None]
    count = len(both)
    hits = sum(ours and theirs for ours, theirs in both)
    positive, truly = sum(ours for ours, _ in both), sum(theirs for _, theirs in both)
    same = sum(ours == theirs for ours, theirs in both)
    expected = (positive * truly + (count - positive) * (count - truly)) / count**2 if count else 1.0
    return Agreement(
        pairs=len(reference),
        unjudged=len(reference) - count,
        positives=_share(positive, count),
        reference_positives=_share(truly, count),
        accuracy=_share(same, count),
        precision=_share(hits, positive),
        recall=_share(hits, truly),
        f1=_share(2 * hits, positive + truly),
        kappa=_share(same / count - expected, 1 - expected) if count else None,
    )


def guesses(reference: Sequence[int | bool], seed: int = 0) -> list[bool]:
    """A judge that guesses: positive with the reference's own share of positives, drawn with a seed."""
    rate = sum(map(bool, reference)) / len(reference)
    return (np.random.default_rng(seed).random(len(reference)) < rate).tolist()


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
