"""How unlike the instructions of one query are: ROUGE-L between every two of them (InstructIR, section 3.2, figure 10)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import join_mode
from toolkit.core.scores import Score, Scores
from toolkit.core.tables.aligned_table import Column, Table
from toolkit.core.topics import Topic
from toolkit.datasets import resolve_topics
from toolkit.evaluation.analyses.words import rouge_l, tokens, unread
from toolkit.evaluation.scores.score_output import Shown, long_forms
from toolkit.evaluation.scores.score_table import lay_out_measures

MEASURE = "ROUGE-L"
COUNTED = f"{MEASURE} pairs"
BINS = 20  # of 0.05 each
WIDEST = 40  # characters of the longest bar


def instruction_groups(topics: Iterable[Topic]) -> dict[str, list[str]]:
    """Core query (in its mode) -> its distinct instructions, in order; topics without instruction are left out."""
    groups: dict[str, dict[str, None]] = {}
    for topic in topics:
        if topic.instruction:
            groups.setdefault(join_mode(topic.group_id or topic.query_id, topic.mode), {})[topic.instruction] = None
    return {name: list(instructions) for name, instructions in groups.items()}


def diversity(name: str, groups: Mapping[str, Sequence[str]], *, by_query: bool = False) -> Scores:
    """The mean ROUGE-L F1 (stemmed) over all pairs of instructions of one core query; low is diverse.

    name    the benchmark
    groups  core query -> its instructions; those with one have no pair and are counted in a note

    The long table has the histogram, too: the number of pairs from each twentieth on. Raises ToolkitError where there is
    no pair at all.
    """
    words = {core: [tokens(text) for text in texts] for core, texts in groups.items() if len(texts) > 1}
    pairs = {core: [rouge_l(*pair) for pair in itertools.combinations(texts, 2)] for core, texts in words.items()}
    values = [value for own in pairs.values() for value in own]
    if not values:
        raise ToolkitError(f"{name} has no core query with two instructions", "diversity is between instructions of one query")
    rows = [Score(name, "all", "mean", MEASURE, fmean(values), len(values))]
    rows += [Score(name, "all", "mean over groups", MEASURE, fmean(map(fmean, pairs.values())), len(pairs))]
    numbers = {"pairs": len(values), "groups": len(pairs), "instructions": sum(len(groups[core]) for core in pairs)}
    rows += [Score(name, "all", "count", what, number, number) for what, number in numbers.items()]
    counts, _ = np.histogram(values, bins=BINS, range=(0, 1))
    for number, count in enumerate(counts.tolist()):
        rows.append(Score(name, "all", f"from {number / BINS:.2f}", COUNTED, count, len(values)))
    if by_query:
        rows += [Score(name, "all", "mean", MEASURE, fmean(own), len(own), core) for core, own in pairs.items()]
    alone = len(groups) - len(pairs)
    notes = [f"{alone:,} core queries with one instruction have no pair and are left out"] if alone else []
    if foreign := sum(unread(groups[core]) for core in pairs):
        notes.append(f"{foreign:,} instructions have no Latin letter: {MEASURE} of their pairs is 0, however alike they are")
    return Scores(tuple(rows), tuple(notes))


def tables(benchmark: str | None = None, topics: Sequence[str] | None = None, *, by_query: bool = False) -> Shown:
    """`diversity` of topics or, without them, a benchmark by name, and its histogram below: its columns would be too wide."""
    asked = resolve_topics(topics or benchmark)
    scores = diversity(asked.name, instruction_groups(asked.topics), by_query=by_query)
    rows = tuple(row for row in scores.rows if row.measure != COUNTED)
    return [lay_out_measures(replace(scores, rows=rows)), histogram(scores)], long_forms(scores, by_query=by_query)


def histogram(scores: Scores) -> Table:
    """The distribution, a row for each twentieth that lies between the smallest and the largest value."""
    rows = [row for row in scores.rows if row.measure == COUNTED]
    filled = [place for place, row in enumerate(rows) if row.value]
    most, shown = max(row.value for row in rows), rows[filled[0] : filled[-1] + 1]
    cells = [(row.mode.removeprefix("from "), int(row.value), "#" * round(WIDEST * row.value / most)) for row in shown]
    return Table((Column("from", label=True), Column("pairs"), Column("histogram")), cells)
