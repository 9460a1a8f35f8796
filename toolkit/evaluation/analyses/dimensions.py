"""Which of InfoSearch's six dimensions the instructions of a benchmark speak of (InfoSearch, figure 4)."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score, Scores
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.topics import Topic
from toolkit.datasets import resolve_topics
from toolkit.evaluation.analyses.words import unread
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.evaluation.scores.score_table import LABELS
from toolkit.registry.loader import FOLDER

BENCHMARK = "instructir"  # where none is named
NONE = "none"
WORDS = re.compile(r"<(\w+)>")
Holds = Callable[[Sequence[tuple[str, str]]], Sequence[bool | None]]  # (instruction, statement) pairs -> whether it holds


@dataclass(frozen=True)
class Dimension:
    """A dimension: what is asked of it, and the patterns by which an instruction is known to speak of it."""

    name: str
    statement: str
    rules: tuple[re.Pattern[str], ...]

    def holds(self, instruction: str) -> bool:
        """Whether a rule is found in an instruction."""
        return any(rule.search(instruction) for rule in self.rules)


@functools.cache
def known_dimensions() -> tuple[Dimension, ...]:
    """The dimensions of `registry/dimensions.yaml`, in its order."""
    content = read_yaml(FOLDER / "dimensions.yaml")
    words = {name: f"(?:{'|'.join(map(re.escape, listed.split()))})" for name, listed in content["words"].items()}
    known = []
    for name, row in content["dimensions"].items():
        rules = (WORDS.sub(lambda match: words[match[1]], rule) for rule in row["rules"])
        known.append(Dimension(name, row["statement"], tuple(re.compile(rule, re.IGNORECASE) for rule in rules)))
    return tuple(known)


def labelled(instructions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Instruction -> the dimensions whose rules it meets; several are allowed, and none."""
    known = known_dimensions()
    return {text: tuple(dimension.name for dimension in known if dimension.holds(text)) for text in set(instructions)}


def judged(labels: Mapping[str, tuple[str, ...]], holds: Holds) -> tuple[dict[str, tuple[str, ...]], int]:
    """The labels, those of instructions without one given by a judge; and for how many a judge said nothing in the end.

    holds  is asked for each dimension's statement about each open instruction, all at once
    """
    open_ones = sorted(text for text, names in labels.items() if not names)
    pairs = [(text, dimension) for text in open_ones for dimension in known_dimensions()]
    verdicts = holds([(text, dimension.statement) for text, dimension in pairs]) if pairs else []
    names_of: dict[str, list[str]] = {text: [] for text in open_ones}
    for (text, dimension), verdict in zip(pairs, verdicts, strict=True):
        if verdict:
            names_of[text].append(dimension.name)
    silent = {text for (text, _), verdict in zip(pairs, verdicts, strict=True) if verdict is None}
    return {**labels, **{text: tuple(names) for text, names in names_of.items()}}, len(silent)


def asked_of(judge: str, systems: Sequence[str] = (), **how: Any) -> Holds:
    """A judge of the registry (or of a user's own files), asked whether an instruction supports a statement (answers cached).

    how  `core.specs.ENDPOINT`: how a judge on a server is reached (None is not given)

    Raises ToolkitError for what is no judge, and where nothing could be asked.
    """
    from toolkit.models import choose_system
    from toolkit.models.judges import Pair, load_judge

    model = load_judge(choose_system(judge, files=systems), **{name: value for name, value in how.items() if value is not None})
    model.check()
    return lambda pairs: [verdict.holds for verdict in model.judge([Pair(*pair) for pair in pairs])]


def dimensions(name: str, topics: Sequence[Topic], *, holds: Holds | None = None, by_query: bool = False) -> Scores:
    """The share of a benchmark's instructions that speak of each dimension, and of none of them.

    name      the benchmark
    holds     a judge for what the rules leave open; without one it stays with `none`
    by_query  also a row for each label of each query

    An instruction may have several labels: shares do not add up to 1. ToolkitError where no topic has an instruction.
    """
    instructions = {topic.query_id: topic.instruction for topic in topics if topic.instruction}
    if not instructions:
        raise ToolkitError(f"the topics of {name} have no instructions", "name a benchmark whose topics have some")
    labels = labelled(list(instructions.values()))
    notes = [f"{name}: {len(instructions):,} of {len(topics):,} topics have an instruction"]
    if foreign := unread(instructions.values()):
        notes.append(f"{name}: {foreign:,} instructions have no Latin letter; the rules are for English and give them no label")
    if holds is not None:
        unlabelled = sum(not names for names in labels.values())
        labels, silent = judged(labels, holds)
        notes.append(f"{name}: {unlabelled:,} instructions without a rule's label were judged, {silent:,} of them unanswered")
    rows = []
    for dimension in (*(known.name for known in known_dimensions()), NONE):
        number = sum(dimension in labels[text] or (dimension == NONE and not labels[text]) for text in instructions.values())
        rows.append(Score(name, "all", dimension, "share", number / len(instructions), len(instructions)))
    mean = sum(len(labels[text]) for text in instructions.values()) / len(instructions)
    rows.append(Score(name, "all", LABELS, "share", mean, len(instructions)))
    if by_query:
        for query_id, text in instructions.items():
            rows += [Score(name, "all", dimension, "label", 1, 1, query_id) for dimension in labels[text] or (NONE,)]
    return Scores(tuple(rows), tuple(notes))


def tables(
    benchmark: Sequence[str] | None = None,
    topics: Sequence[str] | None = None,
    judge: str | None = None,
    systems: Sequence[str] = (),
    *,
    by_query: bool = False,
    **how: Any,
) -> Shown:
    """`dimensions` of benchmarks or topics by name, one below the other; `judge`, `systems` and `how` as of `asked_of`."""
    sets = [resolve_topics(name) for name in topics or benchmark or [BENCHMARK]]
    holds = asked_of(judge, systems, **how) if judge else None
    found = [dimensions(each.name, each.topics, holds=holds, by_query=by_query) for each in sets]
    rows, notes = ([value for each in found for value in getattr(each, part)] for part in ("rows", "notes"))
    return shown(Scores(tuple(rows), tuple(notes)), by_query=by_query)
