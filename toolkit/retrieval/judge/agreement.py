"""How far a judge agrees with labels, by people or by another judge: accuracy, precision, recall, F1, Cohen's kappa."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.core.templates import doc_input
from toolkit.files.formats import read_qrels
from toolkit.files.texts.lines import json_rows, read_bytes, source_name, text_lines, without_marks
from toolkit.metrics.inference import Cores, estimate
from toolkit.models.judges import Judge, Pair
from toolkit.retrieval.judge.judging import NOTHING, ask

FIELDS = ("question", "document", "perspective")
FORM = 'each line is {"question": text, "document": text, "perspective": text, "label": 0 or 1}'

# what is labelled: (question, document, perspective) as texts, or (query id, subtopic, document id)
Key = tuple[str, str, str]
RANDOM = "random"


class Labels(NamedTuple):
    """What a file has labelled: 1, 0, or None where the request was unanswered.

    rows      in the file's order; a pair that it has twice, with one label, stays twice (two systems found the document)
    in_words  whether keys are texts
    """

    source: str
    rows: tuple[tuple[Key, int | None], ...]
    in_words: bool

    @property
    def labels(self) -> dict[Key, int | None]:
        """Each pair with its label."""
        return dict(self.rows)


def read_labels(path: str | Path) -> Labels:
    """The labels of a file: JSON lines (see `FORM`), anything else as subtopic qrels, whose document `-` is none.

    Raises ToolkitError with all problems of the file, and for one pair with two labels.
    """
    data, source = read_bytes(path), source_name(path)
    if without_marks(data).lstrip().startswith(b"{"):
        labels: dict[Key, int | None] = {}
        problems: list[str] = []

        def read(row: Any) -> tuple[Key, int | None]:
            key, label = _row(row)
            if labels.setdefault(key, label) != label:
                raise ValueError("the same pair again, with another label")
            return key, label

        rows = tuple(json_rows(text_lines(data, source), read, problems))
        if problems or not labels:
            raise ToolkitError(f"{source}: no labelled pairs", FORM, problems=problems)
        return Labels(source, rows, True)
    lines = (row for row in read_qrels(path) if row.doc_id != NOTHING)
    given = (((row.query_id, row.iteration, row.doc_id), row.relevance) for row in lines)
    return Labels(source, tuple((key, None if label < 0 else int(label > 0)) for key, label in given), False)


def _row(row: Any) -> tuple[Key, int | None]:
    """A pair and its label; ValueError with what is wrong with the row."""
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in FIELDS):
        raise ValueError(f"{', '.join(FIELDS)} are texts")
    if type(row.get("label")) not in (int, bool) or row["label"] not in (-1, 0, 1):
        raise ValueError("label is 0 or 1")
    question, document, perspective = (row[name] for name in FIELDS)
    return (question, document, perspective), None if row["label"] < 0 else int(row["label"])


class Agreement(NamedTuple):
    """Of the pairs that both have labelled; a share whose denominator is 0 is None.

    pairs      that the reference has; `unjudged`: of these, unanswered, and left out of all that follows
    positives  the judge's share of positive labels; `reference_positives`: the reference's
    kappa      Cohen 1960: (observed - expected agreement) / (1 - expected)
    ..._low, ..._high   95 % intervals over questions, whose pairs are no independent evidence: Wilson's, with the effective
                        number of pairs; of kappa that of the observed agreement, the expected one held fixed
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
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None
    recall_low: float | None = None
    recall_high: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None


def agreement(
    judged: Sequence[int | bool | None], reference: Sequence[int | bool], questions: Sequence[str] | None = None
) -> Agreement:
    """The judge's labels against the reference's, pair by pair; questions  what each pair is of, its own where it is None."""
    known = np.array([each is not None for each in judged], bool)
    ours, theirs = (np.array([bool(each) for each in labels], bool)[known] for labels in (judged, reference))
    asked = np.arange(len(known)) if questions is None else np.array(questions, object)
    codes = np.unique(asked, return_inverse=True)[1][known]
    count, positive, truly = len(ours), int(ours.sum()), int(theirs.sum())
    hits, same = int((ours & theirs).sum()), int((ours == theirs).sum())
    expected = (positive * truly + (count - positive) * (count - truly)) / count**2 if count else 1.0
    of_accuracy = _interval(ours == theirs, codes)
    bounded = expected < 1 and None not in of_accuracy
    of_kappa = [max(-1.0, (bound - expected) / (1 - expected)) for bound in of_accuracy] if bounded else (None, None)
    found = (_share(same, count), _share(hits, positive), _share(hits, truly), _share(2 * hits, positive + truly))
    kappa = _share(same / count - expected, 1 - expected) if count else None
    bounds = (*of_accuracy, *_interval(theirs[ours], codes[ours]), *_interval(ours[theirs], codes[theirs]), *of_kappa)
    shares = (_share(positive, count), _share(truly, count))
    return Agreement(len(reference), len(reference) - count, *shares, *found, kappa, *bounds)


def _interval(right: np.ndarray, codes: np.ndarray) -> tuple[float | None, float | None]:
    """Of the share of pairs that are right, over questions; none of no pair."""
    if not len(right):
        return None, None
    present = np.unique(codes, return_inverse=True)[1]
    return estimate([Cores.of(right.astype(float), present)]).value_interval(binary=True) or (0.0, 1.0)


def expectations(reference: Sequence[int | bool]) -> Agreement:
    """What a judge has on average that says yes at random to the reference's own share of positives."""
    share = sum(map(bool, reference)) / len(reference)
    of_positives = share or None
    same = share**2 + (1 - share) ** 2
    kappa = 0.0 if 0 < share < 1 else None
    return Agreement(len(reference), 0, share, share, same, of_positives, of_positives, of_positives, kappa)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


class Scored(NamedTuple):
    """One row of the table: who judged, and how far that agrees with the reference."""

    judge: str
    agreement: Agreement


def score_judge(judge: Judge | None, reference: Labels) -> list[Scored]:
    """The judge on the pairs of the reference, and beside it what guesses would have; the latter alone where there is no judge.

    Raises ToolkitError for a reference without texts.
    """
    if not reference.in_words:
        hint = "take JSON lines with texts; or compare two files: --score F --reference G"
        raise ToolkitError(f"{reference.source} has no texts to judge: they are qrels", hint)
    keys, truth = _truth(reference)
    rows = []
    if judge is not None:
        verdicts = ask(judge, [pair_of(judge, key) for key in keys])
        rows.append(Scored(judge.spec.name, agreement([verdict.holds for verdict in verdicts], truth, _questions(keys))))
    return [*rows, Scored(RANDOM, expectations(truth))]


def score_labels(labels: Labels, reference: Labels) -> list[Scored]:
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
    of_shared = [key for key, _ in shared]
    own = agreement([ours[key] for key in of_shared], values, _questions(of_shared))
    return [Scored(labels.source, own), Scored(RANDOM, expectations(values))]


def lay_out(rows: Sequence[Scored]) -> Table:
    """A row for each that judged."""
    return fractions(("judge", *Agreement._fields), ((row.judge, *row.agreement) for row in rows))


def fractions(heads: Sequence[str], rows: Iterable[tuple]) -> Table:
    """Numbers of a judge: every float is a fraction, NaN or None where there is none."""
    cells = [[Number(cell, share=True) if isinstance(cell, float) else cell for cell in row] for row in rows]
    cells = [["-" if cell is None else cell for cell in row] for row in cells]
    return Table([Column(head, label=not place) for place, head in enumerate(heads)], cells)


def _questions(keys: Sequence[Key]) -> list[str]:
    return [question for question, *_ in keys]


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
