"""Which of a question's two perspectives supports the claim that the question is about."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.core.topics import Topic
from toolkit.judge.judging import ask
from toolkit.models.judges import Judge, Sides


class Stances(NamedTuple):
    """Query id -> the number (from 1) of the supporting perspective; how many questions are not among them, and why.

    others    have not exactly two perspectives, and were not asked
    unclear   the answer names neither perspective, or both
    unjudged  were unanswered
    """

    supporting: dict[str, int]
    others: int
    unclear: int
    unjudged: int


def stances(topics: Sequence[Topic], judge: Judge) -> Stances:
    """Ask of each question with two perspectives which one supports: both are shown, in the order of the file.

    Raises ToolkitError where no topic has two perspectives.
    """
    contested = [topic for topic in topics if len(topic.perspectives) == 2]
    if not contested:
        raise ToolkitError("no topic has exactly two perspectives", "a stance is between two")
    verdicts = dict(zip((topic.query_id for topic in contested), ask(judge, sides_of(contested)), strict=True))
    answered = {query_id: verdict for query_id, verdict in verdicts.items() if verdict.holds is not None}
    clear = {query_id: verdict for query_id, verdict in answered.items() if not judge.is_unclear(verdict)}
    supporting = {query_id: 1 if verdict.holds else 2 for query_id, verdict in clear.items()}
    return Stances(supporting, len(topics) - len(contested), len(answered) - len(clear), len(verdicts) - len(answered))


def sides_of(topics: Sequence[Topic]) -> list[Sides]:
    """The questions that have two perspectives, each with these."""
    return [Sides(topic.query or topic.text, *topic.perspectives) for topic in topics if len(topic.perspectives) == 2]


def write_stances(stances: Stances, path: str | Path) -> None:
    """Write `query_id<TAB>n`, a line a question."""
    with open_output(path) as out:
        for query_id, number in stances.supporting.items():
            out.write(f"{query_id}\t{number}\n".encode())
