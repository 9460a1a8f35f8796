"""A judge compared with people, or with another judge."""

from __future__ import annotations

from typing import NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.templates import doc_input
from toolkit.judge.agreement import Agreement, agreement, guesses
from toolkit.judge.judging import ask
from toolkit.judge.labelled import Key, Labels
from toolkit.models.judges import Judge, Pair

RANDOM = "random"


class Scored(NamedTuple):
    """One row of the table: who judged, and how far that agrees with the reference."""

    judge: str
    agreement: Agreement


def score_judge(judge: Judge | None, reference: Labels, seed: int = 0) -> list[Scored]:
    """The judge on the pairs of the reference, and beside it one that guesses; the latter alone where there is no judge.

    Raises ToolkitError for a reference without texts.
    """
    if not reference.in_words:
        hint = "take JSON lines with texts; or hold two files against each other: --score F --reference G"
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
