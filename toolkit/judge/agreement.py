"""How far a judge agrees with people, or with another judge: accuracy, precision, recall, F1, Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.templates import doc_input
from toolkit.judge.judging import ask
from toolkit.judge.labelled import Key, Labels
from toolkit.models.judges import Judge, Pair

RANDOM = "random"


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


class Scored(NamedTuple):
    """One row of the table: who judged, and how far that agrees with the reference."""

    judge: str
    agreement: Agreement


def score_judge(judge: Judge | None, reference: Labels, seed: int = 0) -> list[Scored]:
    """The judge on the pairs of the reference, and beside it one that guesses; the latter alone where there is no judge.

    Raises ToolkitError for a reference without texts.
    """
    if not reference.in_words:
        hint = "take JSON lines with texts; or compare two files: --score F --reference G"
        raise ToolkitError(f"{reference.source} has no texts to judge: they are qrels", hint)
    keys, truth = _truth(reference)
    rows = []
    if judge is not None:
        verdicts = ask(judge, [pair_of(judge, key) for key in keys])
        rows.append(Scored(judge.spec.name, agreement([verdict.holds for verdict in verdicts], truth)))
    return [*rows, _guessed(truth, seed)]


def score_labels(labels: Labels, reference: Labels, seed: int = 0) -> list[Scored]:
    """The labels of a file against those of another, over the pairs that both have; what one lacks is counted in a note.

    Raises ToolkitError where they have none in common.
    """
    ours = labels.labels
    keys, truth = _truth(reference)
    shared = [(key, label) for key, label in zip(keys, truth, strict=True) if key in ours]
    if not shared:
        message = f"{labels.source} and {reference.source} have no pair in common"
        raise ToolkitError(message, "both are JSON lines with the same texts, or qrels with the same ids")
    left_out = len(set(ours).symmetric_difference(keys))
    if left_out:
        say(f"note: {left_out:,} pairs that only one of the files has are left out")
    values = [label for _, label in shared]
    return [Scored(labels.source, agreement([ours[key] for key, _ in shared], values)), _guessed(values, seed)]


def pair_of(judge: Judge, key: Key) -> Pair:
    """A labelled pair as the judge is asked it."""
    _, document, perspective = key
    return Pair(doc_input(judge.spec.templates, Doc("", "", document)).whole, perspective)


def _truth(reference: Labels) -> tuple[list[Key], list[int]]:
    """The pairs that the reference has a label for, and these."""
    rows = [(key, label) for key, label in reference.rows if label is not None]
    if vain := len(reference.rows) - len(rows):
        say(f"note: {vain:,} pairs of {reference.source} are unjudged themselves and left out")
    if not rows:
        raise ToolkitError(f"{reference.source} has no labels", "name a file with labelled pairs")
    return [key for key, _ in rows], [label for _, label in rows]


def _guessed(values: list[int], seed: int) -> Scored:
    return Scored(RANDOM, agreement(guesses(values, seed), values))
