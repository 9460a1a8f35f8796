"""What a reader browses: every query with its values, its rankings side by side, and where its judged documents stand."""

import functools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.modes import BASE, INSTRUCTED, Modes, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.core.tables.columns import to_arrow
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.evaluation.scores.scoring import MeasureSet
from toolkit.retrieval.texts import Texts

TOP = 20  # documents of each list
CHARACTERS = 4_000  # of each document
TEXT = 100_000_000  # characters of all documents together: no page holds so much, and each is shorter where they are many
FEWEST = 300  # of each, then
OTHER = "other"  # the kind of a judged document that is relevant in no mode
UNJUDGED = "unjudged"
KINDS = ("gold", "negative", "relevant", OTHER, UNJUDGED)
DIGITS = 6  # of the documents' scores
TENS = np.array([float(f"1e{power}") for power in range(23)])  # as far as a double holds them exactly
DECIMALS = 4  # of values: what is shown is rounded here, where evaluate does it too
Values = Mapping[tuple[str, str], Mapping[str, float]]  # (measure, mode) -> query id without mode -> value
Find = Callable[[str, Sequence[str]], Mapping[str, Doc]]  # (group, document ids) -> their texts
Labels = Mapping[str, Mapping[str, int]]  # query id -> document -> its highest label
Ranked = Mapping[str, Sequence[tuple[str, float]]]  # query id -> document and score, best first


class Judged(NamedTuple):
    """A judged document: its highest label, and its rank in each run, None where it was not retrieved."""

    doc_id: str
    label: int
    ranks: list[int | None]


@dataclass
class Question:
    """One query in all of its modes.

    values  by (measure, mode): a value a run, None where a run has none
    modes   one entry a mode: `mode`; `text`, the instruction, or what a system is given where that is not the query; `lists`,
            of each run its best documents as (document, score); `judged`, of each judged document (document, label, kind, its
            rank in each run), but of `other` ones only what a list has. Kinds: `gold` (relevant in the base and in the
            instructed mode), `negative` (in the base mode alone), `relevant`, `other`
    """

    id: str
    group: str
    text: str
    values: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    modes: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Browsed:
    """Everything of one page.

    docs       document ids, as lists and judgments number them
    texts      parallel: the first characters of each that a list has; empty for the others, and where nobody has it
    questions  in the order of groups and judgments
    modes      of the query ids, with their roles
    languages  group -> language of its documents (`fa`), where the benchmark says
    """

    runs: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    docs: list[str]
    texts: list[str]
    questions: list[Question]
    modes: Modes = field(default_factory=Modes)
    languages: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def moves(self) -> list[tuple[float, float]]:
        """Of each column, how far apart the runs are: the largest absolute mean difference of a run from the first, then the
        largest mean absolute difference, both over the range of the measure's values; zeros where nothing differs.

        The range makes ranks and fractions comparable. A measure without a good direction counts as 0: it says nothing of a
        system's quality.
        """
        spans: dict[str, list[float]] = {}
        means = []
        for column in self.columns:
            values = [question.values[column] for question in self.questions if column in question.values]
            rows = np.array(values, float).reshape(-1, len(self.runs))  # none where every question lacks a mode
            apart = rows[:, 1:] - rows[:, :1]
            apart = apart[:, ~np.isnan(apart).all(axis=0)]
            both = [np.abs(np.nanmean(apart, axis=0)), np.nanmean(np.abs(apart), axis=0)] if apart.size else []
            means.append([each.max() for each in both] or [0.0, 0.0])
            spans.setdefault(column[0], []).extend(rows[~np.isnan(rows)].tolist())
        ranges = {measure: max(its, default=0.0) - min(its, default=0.0) or 1.0 for measure, its in spans.items()}
        aims = {measure: registry.measure(measure).direction != "none" for measure in ranges}
        return [
            (float(mean) / ranges[measure] * aims[measure], float(size) / ranges[measure] * aims[measure])
            for (measure, _), (mean, size) in zip(self.columns, means, strict=True)
        ]

    @property
    def opening(self) -> int:
        """The column to begin with: what moved most; of one run or of equal ones, the first measure over pairs of modes."""
        moves = self.moves
        if any(map(any, moves)):
            return moves.index(max(moves))
        return next((place for place, (_, mode) in enumerate(self.columns) if mode == PAIRED), 0)


def browse(
    runs: Sequence[Run],
    names: Sequence[str],
    judgments: Judgments,
    measures: Sequence[str],
    *,
    topics: Iterable[Topic] = (),
    find: Find | None = None,
    languages: Mapping[str, str] | None = None,
    missing: str = "worst",
) -> Browsed:
    """Collect it all from runs and what judges them.

    topics     for the texts of queries
    find       where texts of documents come from; None for a page without
    languages  see `languages_of`
    """
    known = {topic.query_id: topic for topic in topics}
    codes: dict[str, int] = {}
    place: dict[int, str] = {}  # document of a list -> a group that has it
    questions: list[Question] = []
    columns: dict[tuple[str, str], None] = {}
    chosen = MeasureSet(tuple(measures), missing=missing)
    heads = [_head(run) for run in runs]
    for part in judgments.parts:
        values = [_values(run, part, chosen) for run in runs]
        columns |= dict.fromkeys(key for row in values for key in row)
        of_part = list(_questions(part, runs, heads, values, known, codes))
        for ranking in (ranking for question in of_part for mode in question.modes for ranking in mode["lists"]):
            for code, _ in ranking:
                place.setdefault(code, part.group)
        questions += of_part
    docs = list(codes)
    texts = _texts(docs, place, find)
    return Browsed(tuple(names), tuple(columns), docs, texts, questions, judgments.known_modes, languages or {})


def finder(judgments: Judgments, topics: TopicSet, texts: Texts) -> Find:
    """Texts by the judgments' names of groups."""
    groups = _groups(judgments, topics)
    return lambda group, doc_ids: texts(groups.get(group, group)).find(doc_ids)


def languages_of(judgments: Judgments, topics: TopicSet) -> dict[str, str]:
    """Group, as the judgments name it -> the language that the registry states for its documents."""
    if topics.benchmark is None:
        return {}
    stated = {group["name"]: group["language"] for group in topics.benchmark.spec.groups if group.get("language")}
    return {name: stated[own] for name, own in _groups(judgments, topics).items() if own in stated}


def _groups(judgments: Judgments, topics: TopicSet) -> dict[str, str]:
    """The judgments' names of groups -> the topics': a single group is `all` there."""
    groups = {part.group: part.group for part in topics.parts}
    if len(judgments.parts) == len(topics.parts) == 1:
        groups[judgments.parts[0].group] = topics.parts[0].group
    return groups


def _values(run: Run, part: Part, chosen: MeasureSet) -> Values:
    return {
        (result.measure, result.mode): dict(zip(result.query_ids, result.values.tolist(), strict=True))
        for result in chosen.values(run, part)
        if result.query_ids
    }


def _questions(
    part: Part,
    runs: Sequence[Run],
    heads: Sequence[Ranked],
    values: Sequence[Values],
    known: Mapping[str, Topic],
    codes: dict[str, int],
) -> Iterable[Question]:
    keys = dict.fromkeys(key for row in values for key in row)
    judged = _judgments(part.qrels, runs)
    labels = {query_id: {row.doc_id: row.label for row in rows} for query_id, rows in judged.items()}
    questions: dict[str, Question] = {}
    modes = registry.modes_of(part.qrels)
    for query_id in part.qrels.query_ids:
        base, mode = modes.split(query_id)
        topic = known.get(query_id)
        if base not in questions:
            text = (topic.query or topic.text) if topic else ""
            questions[base] = Question(base, part.group, text, _values_of(base, part, keys, values))
        rankings = [head.get(query_id, ()) for head in heads]
        beside = topic.instruction or (topic.text if topic.text != questions[base].text else "") if topic else ""
        listed = {doc_id for ranking in rankings for doc_id, _ in ranking}
        questions[base].modes.append(
            {
                "mode": mode,
                "text": beside,
                "lists": [[(codes.setdefault(doc_id, len(codes)), score) for doc_id, score in ranking] for ranking in rankings],
                "judged": list(_judged(query_id, judged[query_id], listed, labels, codes, modes)),
            }
        )
    for question in questions.values():
        question.modes.sort(key=lambda row: modes.place(row["mode"]))
    return questions.values()


def _values_of(
    base: str, part: Part, keys: Iterable[tuple[str, str]], values: Sequence[Values]
) -> dict[tuple[str, str], list[float | None]]:
    core = (part.cores or {}).get(base, base)
    found: dict[tuple[str, str], list[float | None]] = {}
    for key in keys:  # a query's own value, or that of its core query
        row = [each.get(key, {}).get(base, each.get(key, {}).get(core, math.nan)) for each in values]
        if not all(map(math.isnan, row)):
            found[key] = [None if math.isnan(value) else round(value, DECIMALS) for value in row]
    return found


def _head(run: Run) -> Ranked:
    """The best documents of each query, with their scores in so many digits."""
    head = run.head(TOP)
    order = head.order()
    doc_ids = np.array(head.doc_ids.to_pylist(), object)[head.docs[order]].tolist()
    rows = list(zip(doc_ids, rounded(head.scores[order]), strict=True))
    ends = np.cumsum(head.lengths).tolist()
    return {query_id: rows[start:end] for query_id, start, end in zip(head.query_ids, [0, *ends], ends, strict=False)}


def rounded(scores: np.ndarray) -> list[float]:
    """The numbers that `DIGITS` significant digits say, as `float(f"{score:.6g}")` has them, which alone takes seconds.

    A whole number below 10**6, over a power of ten that a double holds exactly, is rounded correctly. Left to Python is what is
    very small or large, and what stands where the product's last bit could decide how it is rounded.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        powers = DIGITS - 1 - np.floor(np.log10(np.abs(scores)))
        plain = (powers >= 0) & (powers < len(TENS))
        tens = TENS[np.where(plain, powers, 0).astype(np.int64)]
        whole = np.abs(scores) * tens
        plain &= (whole >= 10 ** (DIGITS - 1)) & (whole < 10**DIGITS) & (np.abs(whole % 1 - 0.5) > 1e-6)
        values = np.copysign(np.rint(whole) / tens, scores)
    for place in np.flatnonzero(~plain).tolist():
        values[place] = float(f"{scores[place]:.{DIGITS}g}")
    return values.tolist()


def _judgments(qrels: Qrels, runs: Sequence[Run]) -> dict[str, list[Judged]]:
    """query id -> its judged documents, highest labels first. Rankings of a thousand lines are joined, never listed."""
    joins = [tandem.positions(run, qrels).documents() for run in runs]
    ranks = np.stack([np.where(joined.missing, 0, joined.ranks) for joined in joins], axis=1).tolist()
    rows = joins[0]
    doc_ids = qrels.doc_ids.take(to_arrow(rows.docs)).to_pylist()
    judged: dict[str, list[Judged]] = {query_id: [] for query_id in qrels.query_ids}
    for query, doc_id, label, doc_ranks in zip(rows.queries.tolist(), doc_ids, rows.relevance.tolist(), ranks, strict=True):
        if doc_id:  # a line of no document names a perspective that nothing holds
            judged[qrels.query_ids[query]].append(Judged(doc_id, label, [rank or None for rank in doc_ranks]))
    return {query_id: sorted(documents, key=lambda row: (-row.label, row.doc_id)) for query_id, documents in judged.items()}


def _judged(
    query_id: str, rows: Sequence[Judged], listed: Container[str], labels: Labels, codes: dict[str, int], modes: Modes
) -> Iterator[tuple]:
    base, mode = modes.split(query_id)
    others = ([join_mode(base, other) for other in modes.of(role)] for role in (BASE, INSTRUCTED))
    pair = [next((labels[key] for key in variants if key in labels), {}) for variants in others]
    for row in rows:
        kind = "relevant" if row.label > 0 else OTHER
        if mode and all(pair) and pair[0].get(row.doc_id, 0) > 0:
            kind = "gold" if pair[1].get(row.doc_id, 0) > 0 else "negative"
        if kind == OTHER and row.doc_id not in listed:
            continue
        yield codes.setdefault(row.doc_id, len(codes)), row.label, kind, row.ranks


def _texts(docs: Sequence[str], place: Mapping[int, str], find: Find | None) -> list[str]:
    texts = [""] * len(docs)
    if find is None:
        return texts
    of_group: dict[str, list[int]] = {}
    for code, group in place.items():
        of_group.setdefault(group, []).append(code)
    most = max(FEWEST, min(CHARACTERS, TEXT // max(len(place), 1)))
    for group, group_codes in of_group.items():
        documents = find(group, [docs[code] for code in group_codes])
        for code in group_codes:
            if doc := documents.get(docs[code]):
                texts[code] = doc.contents[:most]
    return texts
