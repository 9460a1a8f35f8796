"""What reviewers' answers decide: the majority of enough of them, question by question, and what is to be settled."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolkit.construction.review.review_answers import Answer
from toolkit.construction.review.review_forms import RIGHT, Form, Question, Sheet


@dataclass(frozen=True)
class Decision:
    """What is known of one item.

    votes      question -> choice -> how many reviewers chose it
    choices    question -> what was decided; questions that are not are left out
    tied       questions that enough reviewers answered, and no choice has more than half of the votes
    disputed   questions that were decided, though not by all
    settled    whether a further answer decided what reviewers did not agree on
    rejected   why the item is rejected; "" where it is not
    waiting    whether an answer is missing: of further reviewers, or one that settles a tie
    """

    votes: Mapping[str, Mapping[str, int]]
    choices: Mapping[str, str]
    tied: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    settled: bool = False
    rejected: str = ""
    waiting: bool = False


def decide(form: Form, sheet: Sheet, answers: Sequence[Answer], reviewers: int) -> Decision:
    """The decision on an item.

    answers    to this sheet; those that settle count alone, where there are any
    reviewers  how many have to answer before anything is decided
    """
    settling = [answer for answer in answers if answer.settles]
    first = [answer for answer in answers if not answer.settles]
    votes = {question.id: _votes(question, first) for question in form.questions}
    if len(first) < reviewers:
        return Decision(votes, {}, waiting=True)
    counted = {question.id: _votes(question, settling) for question in form.questions} if settling else votes
    choices = {name: choice for name, count in counted.items() if (choice := majority(count))}
    tied = tuple(name for name in counted if name not in choices)
    disputed = tuple(name for name in choices if len(votes[name]) > 1)
    rejected = "" if tied else next((q.reason for q in form.questions if not accepts(q, sheet, choices[q.id])), "")
    return Decision(votes, choices, tied, disputed, bool(settling), rejected, bool(tied))


def majority(votes: Mapping[str, int]) -> str:
    """The choice that more than half have made; "" where there is none."""
    choice, count = max(votes.items(), key=lambda vote: vote[1], default=("", 0))
    return choice if 2 * count > sum(votes.values()) else ""


def accepts(question: Question, sheet: Sheet, choice: str) -> bool:
    """Whether an item passes with this choice."""
    accepted = {sheet.right[question.id] if name == RIGHT else name for name in question.accepted}
    return not question.accepted or choice in accepted


def answers_of(sheets: Mapping[str, Sheet], answers: Iterable[Answer]) -> tuple[dict[str, list[Answer]], int]:
    """Item -> its answers, and how many answers are to items that have changed since, or are gone."""
    found: dict[str, list[Answer]] = {item: [] for item in sheets}
    outdated = 0
    for answer in answers:
        if answer.item in sheets and sheets[answer.item].key == answer.key:
            found[answer.item].append(answer)
        else:
            outdated += 1
    return found, outdated


def _votes(question: Question, answers: Sequence[Answer]) -> dict[str, int]:
    return dict(Counter(answer.choices[question.id] for answer in answers))
