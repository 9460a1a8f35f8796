"""Review as a step of a build: items wait until enough people have answered each question, then majorities decide."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from toolkit.construction.review import review_forms
from toolkit.construction.review.review_answers import Answer, answers_path, read_answers
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import PERSON, Tools
from toolkit.core.errors import ToolkitError


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


def decide(form: review_forms.Form, sheet: review_forms.Sheet, answers: Sequence[Answer], reviewers: int) -> Decision:
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


def accepts(question: review_forms.Question, sheet: review_forms.Sheet, choice: str) -> bool:
    """Whether an item passes with this choice."""
    accepted = {sheet.right[question.id] if name == review_forms.RIGHT else name for name in question.accepted}
    return not question.accepted or choice in accepted


def answers_of(sheets: Mapping[str, review_forms.Sheet], answers: Iterable[Answer]) -> tuple[dict[str, list[Answer]], int]:
    """Item -> its answers, and how many answers are to items that have changed since, or are gone."""
    found: dict[str, list[Answer]] = {item: [] for item in sheets}
    outdated = 0
    for answer in answers:
        if answer.item in sheets and sheets[answer.item].key == answer.key:
            found[answer.item].append(answer)
        else:
            outdated += 1
    return found, outdated


def _votes(question: review_forms.Question, answers: Sequence[Answer]) -> dict[str, int]:
    return dict(Counter(answer.choices[question.id] for answer in answers))


CHOSEN = "people"  # the field in which a decided item has question -> choice


def said_of(item: Item, question: str) -> bool | None:
    """What is known of an item: what people said to the question, else what a model did, in its field of that name; or None."""
    said = item.fields.get(CHOSEN, {}).get(question)
    return said == "yes" if said else item.fields.get(question)


@dataclass(frozen=True)
class ReviewStep(Step):
    """Waits for people, item by item; what waits keeps nothing else back.

    form       by name, or a YAML file in the build's folder
    reviewers  how many have to answer an item before anything is decided
    share      of the items that are reviewed, drawn with the seed; the others pass
    seed       of that, and of the orders in which reviewers see items and options
    fields     field of the form -> the item's field that is meant, where names differ

    An item that passes has `people`: question -> what the majority chose, for steps that need it (a label).
    """

    name: ClassVar[str] = "review"
    about: ClassVar[str] = "people answer the questions of a form"
    optional: ClassVar[bool] = True

    form: str = ""
    reviewers: int = 3
    share: float = 1.0
    seed: int = 0
    fields: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = [] if self.form else ["form: no form is named"]
        problems += [] if self.reviewers >= 1 else [f"reviewers: {self.reviewers}, and 1 at least has to answer"]
        problems += [] if 0 < self.share <= 1 else [f"share: {self.share} is no share of the items, above 0 and up to 1"]
        if problems:
            hint = "forms: toolkit/registry/forms, or a YAML file of yours"
            raise ToolkitError(f"step {self.name}: {'; '.join(problems)}", hint)

    def files(self, folder: Path) -> Sequence[Path]:
        """The form and the answers."""
        return review_forms.form_path(self.form, folder), answers_path(folder, self.name)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """Each item: passed on, rejected, or waiting."""
        form = review_forms.find_form(self.form, tools.folder)
        prepared = list(self.prepared(items))
        sheets = self.sheets(form, prepared)
        answers, _ = answers_of(sheets, read_answers(tools.folder, self.name))
        for item in prepared:
            if item.rejected:
                yield item
            elif item.id not in sheets:
                yield item.passed()
            elif (decision := decide(form, sheets[item.id], answers[item.id], self.reviewers)).waiting:
                yield replace(item.passed(), waiting=True)
            else:
                judged = {"role": "judged", "by": PERSON, "prompt": form.name, "sha256": form.sha256}
                yield item.passed(**{CHOSEN: dict(decision.choices)}).by(judged).reject(decision.rejected)

    def prepared(self, items: Sequence[Item]) -> Iterable[Item]:
        """The items with the fields that reviewers need beside their own; rejected, where one cannot be shown. For kinds."""
        return items

    def sheets(self, form: review_forms.Form, items: Sequence[Item]) -> dict[str, review_forms.Sheet]:
        """Item -> what reviewers see of it, for those that are reviewed. ToolkitError where one lacks what the form needs."""
        drawn = [self._in_words_of_form(item) for item in items if self.is_reviewed(item)]
        review_forms.check_items(form, drawn, f"step {self.name}")
        return {item.id: review_forms.sheet_of(form, self.name, item) for item in drawn}

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """Question -> what was decided -> how many items."""
        counts: dict[str, Counter[str]] = {}
        for item in items:
            for question, choice in item.fields.get(CHOSEN, {}).items():
                counts.setdefault(question, Counter())[choice] += 1
        return counts

    def _in_words_of_form(self, item: Item) -> Item:
        """An item with the fields that the form calls otherwise under these names, too."""
        return item.having(**{name: item.fields[meant] for name, meant in self.fields.items() if meant in item.fields})

    def is_reviewed(self, item: Item) -> bool:
        """Whether people see it: drawn with the seed."""
        shown = CHOSEN in item.fields or not item.rejected  # what the step rejects before anybody sees it has no sheet
        return shown and int(review_forms.digest([self.seed, item.id]), 16) < self.share * 2**256
