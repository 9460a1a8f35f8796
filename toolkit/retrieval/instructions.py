"""Instructions as systems are sent them: in full, in other words, as a placebo, or not at all.

A placebo shows what length and wording alone change: every instruction gives way to neutral sentences of the same language, as
many words (Chinese: characters) and as nearly as possible as many characters. What a run gains by the instruction, and not by
its placebo, it gains by what the instruction says.
"""

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import INSTRUCTED, REVERSED, Modes
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.templates import without_instruction
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet
from toolkit.registry import FOLDER

OTHER = ("short", "keywords")  # of `Topic.wordings`
PLACEBO, SHUFFLED, SWAPPED = "placebo", "shuffled", "swapped"
REPLACED = (PLACEBO, SHUFFLED, SWAPPED, "none")  # what may stand in their place
CHOICES = ("full", *OTHER, *REPLACED)


def topics_sent(topics: TopicSet, instruction: str) -> TopicSet:
    """The topics with their instructions as `with_instructions` makes them; that they have none is said."""
    if instruction == "full":
        return topics
    if not any(topic.instruction for topic in topics.topics):
        say(f"note: {topics.name} has no instructions: what is searched for stays as it is")
    modes = topics.benchmark.spec.modes if topics.benchmark else Modes()
    sent = [replace(part, topics=with_instructions(part.topics, instruction, modes)) for part in topics.parts]
    return replace(topics, parts=sent)


def with_instructions(topics: Sequence[Topic], how: str, modes: Modes | None = None) -> list[Topic]:
    """The topics with their instructions (`full`), another wording of them (`short`, `keywords`: the benchmark's own, as in
    FollowIR's ablations), without any (`none`), with placebos in their place (`placebo`), with the instructions of another
    core query (`shuffled`), or with those of the opposite mode (`swapped`, which needs the modes' roles).

    A topic without an instruction stays as it is. Raises ToolkitError where one with an instruction has no such wording.
    """
    if how not in CHOICES:
        raise ToolkitError(f"instructions cannot be {how!r}", f"known: {', '.join(CHOICES)}")
    if how in OTHER:
        instructed = [topic for topic in topics if topic.instruction]
        if lacking := [topic for topic in instructed if how not in topic.wordings]:
            known = {wording for topic in topics for wording in topic.wordings}
            hint = f"the data have: {', '.join(['full', *sorted(known)])}"
            names = three(topic.query_id for topic in lacking)
            raise ToolkitError(f"{len(lacking)} of {len(instructed)} instructions have no wording {how!r} ({names})", hint)
        return [reworded(topic, topic.wordings[how]) if topic.instruction else topic for topic in topics]
    if how == SWAPPED:
        return swapped(topics, modes or Modes())
    return {"full": list, "none": without_instructions, PLACEBO: placebo, SHUFFLED: shuffled}[how](topics)


def without_instructions(topics: Iterable[Topic]) -> list[Topic]:
    """The topics with the core query alone in every mode, as if the benchmark had no instructions."""
    return [without_instruction(topic) for topic in topics]


def reworded(topic: Topic, instruction: str) -> Topic:
    """The topic with another instruction, joined to the query as its own was: before or behind it.

    Raises ToolkitError for a text that is not made of both.
    """
    before, after = around(topic)
    return replace(topic, instruction=instruction, text=before + instruction + after)


def around(topic: Topic) -> tuple[str, str]:
    """What a topic's text has before and after its instruction: one of them ends or begins with the query.

    Raises ToolkitError for a text that is not made of both.
    """
    text, query, instruction = topic.text, topic.query, topic.instruction
    if len(text) >= len(query) + len(instruction):
        if text.startswith(query) and text.endswith(instruction):
            return text[: len(text) - len(instruction)], ""
        if text.startswith(instruction) and text.endswith(query):
            return "", text[len(instruction) :]
    hint = "another instruction needs topics with fields for both (`tandem benchmarks export` writes them)"
    raise ToolkitError(f"query {topic.query_id}: its text is not its query and its instruction, one after the other", hint)


def placebo(topics: Iterable[Topic]) -> list[Topic]:
    """The topics with neutral sentences in place of every instruction; a topic without one stays as it is.

    The same instruction always gets the same placebo. Query and placebo are joined as query and instruction were. Raises
    ToolkitError for an instruction in a script that there are no sentences for, and for a topic whose text is not made of its
    query and instruction.
    """
    sent = []
    for topic in topics:
        try:
            sent.append(reworded(topic, neutral_text(topic.instruction)) if topic.instruction else topic)
        except ToolkitError as error:
            raise ToolkitError(f"query {topic.query_id}: {error.message}", error.hint) from error
    return sent


def shuffled(topics: Sequence[Topic]) -> list[Topic]:
    """The topics of a group with the instructions of another of its core queries, one in every mode, and always the same ones.

    Core queries stand in a circle whose order their ids decide, and each has the instructions of the next. A topic without an
    instruction stays as it is. Raises ToolkitError where there is one core query alone, or no other instruction.
    """
    cores: dict[str, dict[str, list[Topic]]] = {}
    for topic in topics:
        if topic.instruction:
            cores.setdefault(topic.group_id or topic.base_id, {}).setdefault(topic.mode, []).append(topic)
    circle = sorted(cores, key=lambda core: hashlib.sha256(core.encode()).digest())
    place = {core: number for number, core in enumerate(circle)}

    def other(topic: Topic) -> Topic:
        own = topic.group_id or topic.base_id
        number = [each.query_id for each in cores[own][topic.mode]].index(topic.query_id)
        for step in range(1, len(circle)):
            donors = cores[circle[(place[own] + step) % len(circle)]].get(topic.mode, [])
            if donors and (found := donors[number % len(donors)].instruction) != topic.instruction:
                return reworded(topic, found)
        raise ToolkitError(f"query {topic.query_id}: no other core query of its group has another instruction", "leave it out")

    return [other(topic) if topic.instruction else topic for topic in topics]


def swapped(topics: Sequence[Topic], modes: Modes) -> list[Topic]:
    """The topics with each instruction in the place of its opposite: a system that follows does the contrary of what is judged.

    A topic without an instruction stays as it is. Raises ToolkitError where an instruction has no opposite among the topics.
    """
    opposite = {INSTRUCTED: REVERSED, REVERSED: INSTRUCTED}
    known = {(topic.base_id, modes.get(topic.mode)): topic.instruction for topic in topics if topic.instruction}

    def turned(topic: Topic) -> Topic:
        role = opposite.get(modes.get(topic.mode, ""))
        if role is None or (topic.base_id, role) not in known:
            hint = "name a benchmark whole, with its instructed and its reversed mode"
            raise ToolkitError(f"query {topic.query_id}: there is no opposite of its instruction", hint)
        return reworded(topic, known[topic.base_id, role])

    return [turned(topic) if topic.instruction else topic for topic in topics]


class _Sentence(NamedTuple):
    text: str
    units: int
    size: int  # characters, with what joins it to the next


@dataclass(frozen=True)
class _Pool:
    """The sentences of one script; `least` is the number of units below which a sentence stands alone."""

    sentences: tuple[_Sentence, ...]
    joined_by: str
    unit: str
    least: int

    def units(self, text: str) -> int:
        return len(text.split()) if self.unit == "words" else len(text)


@cache
def _pools() -> dict[str, _Pool]:
    pools = {}
    for name, row in read_yaml(FOLDER / "placebo.yaml").items():
        pool = _Pool((), row["joined_by"], row["unit"], row["least"])
        sentences = [_Sentence(text, pool.units(text), len(text + pool.joined_by)) for text in row["sentences"]]
        pools[name] = replace(pool, sentences=tuple(sentences))
    return pools


@cache
def neutral_text(instruction: str) -> str:
    """Neutral sentences with the instruction's number of words (or the nearest) and nearly its number of characters."""
    from toolkit.models.lucene.language_id import script

    pools = _pools()
    written_in = script(instruction)
    if written_in not in pools:
        message = f"there is no placebo for an instruction in {written_in or 'no'} script"
        raise ToolkitError(message, f"there are sentences in: {', '.join(pools)}")
    pool = pools[written_in]
    units, size = pool.units(instruction), len(instruction) + len(pool.joined_by)
    sentences = [sentence for sentence in pool.sentences if sentence.units >= min(units, pool.least)]
    # more sentences only where one round of them is too short
    sentences *= 1 + units // sum(sentence.units for sentence in sentences)
    random.Random(hashlib.sha256(instruction.encode()).digest()).shuffle(sentences)
    return pool.joined_by.join(sentence.text for sentence in _chosen(sentences, units, size))


def _chosen(sentences: Sequence[_Sentence], units: int, size: int) -> list[_Sentence]:
    """Those of the sentences that add up to `units`, and most nearly to `size`.

    Which sums can be reached is held as bits: in layer n, number u has bit s set where some of the first n sentences have
    u units and s characters together.
    """
    layers = [[1] + [0] * units]
    for sentence in sentences:
        last = layers[-1]
        taken = [0] * sentence.units + [sizes << sentence.size for sizes in last]
        layers.append([old | new for old, new in zip(last, taken, strict=False)])
    reached = next((number for number in range(units, 0, -1) if layers[-1][number]), 0)
    if not reached:
        return [min(sentences, key=lambda sentence: (sentence.units, sentence.size))]
    sums, wanted = layers[-1][reached], size
    size = min((place for place in range(sums.bit_length()) if sums >> place & 1), key=lambda place: abs(place - wanted))
    found = []
    for sentence, (before, after) in reversed(list(zip(sentences, pairwise(layers), strict=True))):
        assert after[reached] >> size & 1
        if not before[reached] >> size & 1:
            found.append(sentence)
            reached, size = reached - sentence.units, size - sentence.size
    return found
