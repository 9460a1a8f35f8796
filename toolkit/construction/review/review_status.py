"""How far a review is, as tables: items and reviewers, how far they agree, and what is to be settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.construction.review.review_forms import Question
from toolkit.construction.review.review_rounds import Review, review_of, reviewed_steps
from toolkit.construction.review.review_step import accepts, majority
from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.retrieval.judge import rater_agreement
from toolkit.retrieval.judge.corrected_measures import Estimate

if TYPE_CHECKING:
    from toolkit.construction.build_folder import BuildFolder

PAIR = "Cohen's kappa:"


class Agreement(NamedTuple):
    """One number about the answers to one question.

    items  over how many items it is; of a pair of reviewers, those that both have answered
    pair   whether it is about two reviewers alone
    """

    question: str
    measure: str
    items: int
    estimate: Estimate
    pair: bool = False


def tables(review: Review) -> list[Table]:
    """Items, reviewers, agreement, and what reviewers did not agree on."""
    made = [items_table(review), reviewers_table(review)]
    if any(review.answers.values()) and (rows := list(agreement(review))):
        made.append(agreement_table(rows))
    if any(each.tied or each.disputed for each in review.decisions.values()):
        made.append(disagreements_table(review))
    return made


def status_tables(build: BuildFolder, step: str | None = None) -> list[Table]:
    """`tables` of a step, or of all that are reviewed; ToolkitError where none is."""
    steps = [step] if step else reviewed_steps(build)
    if not steps:
        hint = "a step of review in build.yaml, or `tandem build review export --form NAME` for any other step"
        raise ToolkitError(f"nothing of {build.path} is reviewed", hint)
    return [table for each in steps for table in tables(review_of(build, each))]


def agreement_rows(build: BuildFolder) -> list[dict[str, Any]]:
    """Every number about the answers of a build: step, question, measure, items, value, low, high.

    Those of pairs of reviewers, who have names, are left out. NaN where a number is not defined.
    """
    reviews = (review_of(build, step) for step in reviewed_steps(build))
    return [
        {"step": review.step, "question": row.question, "measure": row.measure, "items": row.items, **row.estimate._asdict()}
        for review in reviews
        if any(review.answers.values())
        for row in agreement(review)
        if not row.pair
    ]


def items_table(review: Review) -> Table:
    """How many items there are, how many wait, and what was decided of the others."""
    decisions = review.decisions.values()
    decided = [each for each in decisions if not each.waiting]
    counts = {
        "items": len(decisions),
        "waiting": len(review.unanswered) if review.decides else sum(each.waiting and not each.tied for each in decisions),
        "tied": sum(bool(each.tied) for each in decisions),
        "disputed": sum(bool(each.disputed) and not each.settled for each in decided),
        "settled": sum(each.settled for each in decided),
        "passed": sum(not each.rejected for each in decided),
        "rejected": sum(bool(each.rejected) for each in decided),
    }
    row = [review.step, review.form.name, review.reviewers, *counts.values()]
    reasons = Counter(each.rejected for each in decided if each.rejected)
    notes = [f"{count:,} rejected: {reason}" for reason, count in reasons.most_common()]
    notes += [f"{review.outdated:,} answers are to items that have changed since, or are gone"] * bool(review.outdated)
    return Table((*labels("step"), *map(Column, ("form", "reviewers", *counts))), [row], notes)


def reviewers_table(review: Review) -> Table:
    """Who has answered how many items, and settled how many."""
    given = Counter((answer.reviewer, answer.settles) for answers in review.answers.values() for answer in answers)
    rows = [[name, given[name, False], given[name, True]] for name in sorted({name for name, _ in given})]
    columns = (*labels("reviewer"), Column("answered"), Column("settled"))
    return Table(columns, rows, title="" if rows else f"nobody has answered anything of {review.step} yet")


def agreement_table(rows: Sequence[Agreement]) -> Table:
    """A row a number, with its interval; those of pairs of reviewers below their mean."""
    columns = (*labels("question", "measure"), *map(Column, ("items", "value", "low", "high")))
    cells = [[row.question, row.measure, row.items, *(Number(value, share=True) for value in row.estimate)] for row in rows]
    pairs = frozenset(number for number, row in enumerate(rows) if row.pair)
    notes = [
        "low, high: 95 % intervals over items, Wilson's of the agreement; - where a number is not defined (all have chosen "
        "the same)"
    ]
    return Table(columns, cells, notes, below=pairs, details=pairs, details_name="pairs of reviewers")


def disagreements_table(review: Review) -> Table:
    """The questions on which reviewers of an item did not agree: their votes, what was decided, and what they wrote."""
    rows = []
    for item, decision in review.decisions.items():
        written = (each for each in review.answers[item] if each.comment.strip())
        comments = "; ".join(f"{each.reviewer}: {' '.join(each.comment.split())}" for each in written)
        for name in (*decision.tied, *decision.disputed):
            most_first = sorted(decision.votes[name].items(), key=lambda vote: (-vote[1], vote[0]))
            votes = ", ".join(f"{choice} {count}" for choice, count in most_first)
            state = "settled" if decision.settled else "majority"
            state = "to settle" if name in decision.tied else state
            rows.append([item, name, votes, state, decision.choices.get(name, ""), comments])
    columns = (*labels("item", "question"), *map(Column, ("votes", "state", "decided")))
    columns += (Column("comments", prose=True, priority=1),)
    note = f"`build review export --to-settle` has what is not settled ({len(review.unsettled):,} items)"
    return Table(columns, rows, [note])


def agreement(review: Review) -> Iterator[Agreement]:
    """All numbers of all questions that are not answered in one's own words; answers that settle are left out."""
    for question in (each for each in review.form.questions if not each.written):
        given = {item: [answer for answer in review.answers[item] if not answer.settles] for item in review.sheets}
        chosen = {item: {each.reviewer: each.choices[question.id] for each in answers} for item, answers in given.items()}
        ratings: list[dict[str, int]] = []  # reviewer -> number of the choice, item by item
        for item, names in chosen.items():
            # Options that each item has of its own are numbered in the order of their keys, which means nothing: by chance two
            # reviewers meet as if they drew numbers, whichever option is the right one.
            numbers = {name: number for number, (_, name, _) in enumerate(review.sheets[item].choices[question.id])}
            ratings.append({reviewer: numbers[name] for reviewer, name in names.items()})
        twice = len(rater_agreement.rated_twice(ratings))
        sizes = [len(review.sheets[item].choices[question.id]) for item in chosen]
        row = partial(Agreement, question.id)
        yield row("majority share", twice, rater_agreement.majority_share(ratings))
        yield from _cohens(question, ratings, twice)
        yield row("Randolph's kappa", twice, rater_agreement.randolphs_kappa(ratings, sizes))
        yield row("Krippendorff's alpha", twice, rater_agreement.krippendorffs_alpha(ratings))
        if question.right:  # how often reviewers choose the right one: the mean over items of their reviewers' share
            right = {item: review.sheets[item].right[question.id] for item in chosen}
            rated = {item: list(names.values()) for item, names in chosen.items() if names}
            shares = [names.count(right[item]) / len(names) for item, names in rated.items()]
            yield row("top-1 accuracy", len(shares), rater_agreement.mean_of_items(shares))
        if question.accepted:
            decided = {item: choice for item, names in chosen.items() if (choice := majority(Counter(names.values())))}
            passed = sum(accepts(question, review.sheets[item], choice) for item, choice in decided.items())
            yield row("accepted by the majority", len(decided), rater_agreement.share(passed, len(decided)))


def _cohens(question: Question, ratings: Sequence[Mapping[str, int]], twice: int) -> Iterator[Agreement]:
    """The mean over pairs of reviewers (Light 1971), without an interval where there are several, and that of each pair."""
    pairs = [
        Agreement(question.id, f"{PAIR} {first}, {second}", len(one), rater_agreement.cohens_kappa(one, other), pair=True)
        for first, second, one, other in rater_agreement.pairs_of_raters(ratings)
    ]
    defined = [row.estimate for row in pairs if row.estimate.value == row.estimate.value]
    unknown = float("nan")
    mean = sum(each.value for each in defined) / len(defined) if defined else unknown
    estimate = defined[0] if len(defined) == 1 else Estimate(mean, unknown, unknown)
    yield Agreement(question.id, "Cohen's kappa, mean of pairs", twice, estimate)
    yield from pairs
