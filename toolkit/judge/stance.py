"""Which of a question's two perspectives supports the claim that the question is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.core.topics import Topic
from toolkit.judge.judging import ask
from toolkit.models.judges import Judge, Pair, Verdict


class Stances(NamedTuple):
    """Query id -> the number (from 1) of the supporting perspective; how many questions are not among them, and why.

    others     have not exactly two perspectives, and were not asked
    undecided  the judge took both perspectives, or neither, for supporting ones
    unjudged   were unanswered
    """

    supporting: dict[str, int]
    others: int
    undecided: int
    unjudged: int


def stances(topics: Sequence[Topic], judge: Judge) -> Stances:
    """Ask of both perspectives of each question whether they support it.

    Where the judge gives shares, the perspective with the larger one supports, whatever the threshold. Raises ToolkitError
    where no topic has two perspectives.
    """
    contested = [topic for topic in topics if len(topic.perspectives) == 2]
    if not contested:
        raise ToolkitError("no topic has exactly two perspectives", "a stance is between two")
    pairs = pairs_of(contested)
    verdicts = ask(judge, pairs)
    supporting, undecided, unjudged = {}, 0, 0
    for number, topic in enumerate(contested):
        both = verdicts[2 * number : 2 * number + 2]
        if any(verdict.holds is None for verdict in both):
            unjudged += 1
        elif (supported := _supporting(*both)) is None:
            undecided += 1
        else:
            supporting[topic.query_id] = supported
    return Stances(supporting, len(topics) - len(contested), undecided, unjudged)


def pairs_of(topics: Sequence[Topic]) -> list[Pair]:
    """What is contested: the question with each of its perspectives; of topics with two."""
    contested = [topic for topic in topics if len(topic.perspectives) == 2]
    return [Pair(topic.query or topic.text, statement) for topic in contested for statement in topic.perspectives]


def write_stances(stances: Stances, path: str | Path) -> None:
    """Write `query_id<TAB>n`, a line a question."""
    with open_output(path) as out:
        for query_id, number in stances.supporting.items():
            out.write(f"{query_id}\t{number}\n".encode())


def _supporting(first: Verdict, second: Verdict) -> int | None:
    if first.share is not None and second.share is not None and first.share != second.share:
        return 1 if first.share > second.share else 2
    if first.holds == second.holds:
        return None
    return 1 if first.holds else 2
