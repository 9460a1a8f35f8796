"""Questions with two sides: which documents support, which oppose, and runs that ask from either side (BERDS, section 7)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.subtopics import named_perspectives
from toolkit.files.texts.lines import read_bytes, source_name, text_lines
from toolkit.metrics.families.join import positions

CUTOFF = 5
FORMS = ("question", "supporting", "opposing")

Stances = Mapping[str, str]  # query id -> which of its two perspectives supports


@dataclass(frozen=True, eq=False)
class Contested:
    """The questions that have two sides.

    queries     (s,) their codes in the qrels
    supporting  (s,) the code of the perspective that supports
    left_out    those with another number of perspectives; `unknown`: those of which nobody says which one supports
    """

    queries: np.ndarray
    supporting: np.ndarray
    left_out: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Tally:
    """Of each question with two sides, (s,) int64: how many of its top documents hold the supporting perspective, the opposing
    one (a document may hold both), and how many there are.
    """

    supporting: np.ndarray
    opposing: np.ndarray
    documents: np.ndarray

    @property
    def p(self) -> float:
        """The share of all documents that holds the supporting perspective; NaN without documents."""
        return _share(int(self.supporting.sum()), int(self.documents.sum()))

    @property
    def n(self) -> float:
        """The share of all documents that holds the opposing perspective; NaN without documents."""
        return _share(int(self.opposing.sum()), int(self.documents.sum()))

    @property
    def lean(self) -> float:
        """(p - n) / p; NaN where p is 0."""
        supporting = int(self.supporting.sum())
        return _share(supporting - int(self.opposing.sum()), supporting)

    @property
    def bounded(self) -> np.ndarray:
        """(s,) float64: (p - n) / (p + n) of each question; NaN where both are 0."""
        both = self.supporting + self.opposing
        return np.divide(self.supporting - self.opposing, both, out=np.full(len(both), np.nan), where=both > 0)

    def stances(self) -> dict[str, np.ndarray]:
        """What the top documents hold -> (s,) bool."""
        supports, opposes = self.supporting > 0, self.opposing > 0
        one_side = {"SupportingOnly": supports & ~opposes, "OpposingOnly": opposes & ~supports}
        return {**one_side, "Both": supports & opposes, "Neither": ~supports & ~opposes}


def contested_questions(qrels: Qrels, stances: Stances | None = None) -> Contested:
    """The questions for which the qrels name exactly two perspectives.

    Without `stances`, the first supports: that with the lower number. ToolkitError where `stances` names another one, and where
    it has none of these questions.
    """
    queries, subtopics = named_perspectives(qrels)
    questions, supporting, left_out, unknown = [], [], [], []
    for code, query_id in enumerate(qrels.query_ids):
        names = {qrels.iterations[subtopic]: subtopic for subtopic in subtopics[queries == code].tolist()}
        if len(names) != 2:
            left_out.append(query_id)
            continue
        chosen = min(names, key=_in_order) if stances is None else stances.get(query_id)
        if chosen is None:
            unknown.append(query_id)
        elif chosen not in names:
            known = " and ".join(sorted(names, key=_in_order))
            raise ToolkitError(f"perspective {chosen} of {query_id} is said to support", f"the qrels name {known}")
        else:
            questions.append(code)
            supporting.append(names[chosen])
    if unknown and not questions:
        message = f"the supporting perspective is unknown in all of {len(unknown)} questions ({three(unknown)})"
        raise ToolkitError(message, "the stances have the ids of the qrels, as `tandem judge --task stance` writes them")
    return Contested(np.array(questions, np.int64), np.array(supporting, np.int64), tuple(left_out), tuple(unknown))


def by_stance(lists: Run, judgments: Judgments, stances: Stances | None = None) -> dict[str, Run]:
    """The forms `supporting` and `opposing` of a run of both perspectives, whose query ids are `<question>.<n>`.

    Raises ToolkitError where it has no list of a question with two sides.
    """
    form_of: dict[str, tuple[str, str]] = {}
    for part in judgments.parts:
        stance = contested_questions(part.qrels, stances)
        pairs = zip(stance.queries, stance.supporting, strict=True)
        chosen = {part.qrels.query_ids[query]: part.qrels.iterations[subtopic] for query, subtopic in pairs}
        for query_id in lists.query_ids:
            question, _, perspective = query_id.rpartition(".")
            if question in chosen and perspective.isdecimal():
                form_of[query_id] = (FORMS[1] if perspective == chosen[question] else FORMS[2], question)
    runs = {}
    for form in FORMS[1:]:
        lists_of_form = lists.select(query_id for query_id, (given_form, _) in form_of.items() if given_form == form)
        if not lists_of_form.query_ids:
            message = f"{lists.source or 'the run'} has no list of the {form} perspective of a question with two sides"
            hint = "its query ids are `<question>.<n>`, as `tandem expand topics --from given` writes them"
            raise ToolkitError(message, hint)
        runs[form] = lists_of_form.with_query_ids(form_of[query_id][1] for query_id in lists_of_form.query_ids)
    return runs


def tally(run: Run, qrels: Qrels, stance: Contested, cutoff: int) -> Tally:
    """What the top documents of the questions hold; see `Tally`."""
    located = positions(run, qrels)
    supporting = np.full(len(qrels.query_ids), -1, np.int64)
    supporting[stance.queries] = stance.supporting
    held = (located.relevance > 0) & ~located.missing & (located.ranks <= cutoff)
    supports = located.subtopics == supporting[located.queries]
    rows_of_sides, size = (held & supports, held & ~supports), len(qrels.query_ids)
    counts = [np.bincount(located.queries[rows], minlength=size)[stance.queries] for rows in rows_of_sides]
    return Tally(*counts, np.minimum(located.lengths, cutoff)[stance.queries])


def read_stances(path: str | Path) -> dict[str, str]:
    """query id -> the perspective that supports, from lines of both with a tab between: what `judge --task stance` writes.

    Raises ToolkitError for a line that is something else, and a question that comes twice.
    """
    stances: dict[str, str] = {}
    for number, line in text_lines(read_bytes(path), source_name(path)):
        if line.startswith("#"):
            continue
        place, parts = f"{source_name(path)}, line {number}", line.split("\t")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise ToolkitError(f"{place}: expected query id, tab, perspective", "such as kialo-774, tab, 1")
        query_id, perspective = (part.strip() for part in parts)
        if query_id in stances:
            raise ToolkitError(f"{place}: {query_id} comes twice", "keep one of the lines")
        stances[query_id] = perspective
    return stances


def _in_order(perspective: str) -> tuple[bool, int, str]:
    """Numbers before words, as numbers."""
    return (not perspective.isdecimal(), int(perspective) if perspective.isdecimal() else 0, perspective)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
