"""Placebo instructions: what length and wording alone change.

Every instruction gives way to neutral sentences of the same language, as many words (Chinese: characters) and as nearly as
possible as many characters. What a run gains by the instruction, and not by its placebo, it gains by what the instruction
says.
"""

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.topics import Topic
from toolkit.models.lucene.language_id import script
from toolkit.registry import FOLDER
from toolkit.retrieval.instructions import reworded


def placebo(topics: Iterable[Topic]) -> list[Topic]:
    """The topics with neutral sentences in place of every instruction; a topic without one stays as it is.

    The same instruction always gets the same placebo. Query and placebo are joined as query and instruction were.

    Raises ToolkitError for an instruction in a script that there are no sentences for, and for a topic whose text is not
    made of its query and instruction.
    """
    return [_treated(topic) if topic.instruction else topic for topic in topics]


def _treated(topic: Topic) -> Topic:
    try:
        return reworded(topic, neutral_text(topic.instruction))
    except ToolkitError as error:
        raise ToolkitError(f"query {topic.query_id}: {error.message}", error.hint) from error


@dataclass(frozen=True)
class _Sentence:
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
    pools = _pools()
    written_in = script(instruction)
    if written_in not in pools:
        known = ", ".join(pools)
        raise ToolkitError(
            f"there is no placebo for an instruction in {written_in or 'no'} script", f"there are sentences in: {known}"
        )
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
    size = _nearest(layers[-1][reached], size)
    found = []
    for sentence, (before, after) in reversed(list(zip(sentences, pairwise(layers), strict=True))):
        assert after[reached] >> size & 1
        if not before[reached] >> size & 1:
            found.append(sentence)
            reached, size = reached - sentence.units, size - sentence.size
    return found


def _nearest(bits: int, wanted: int) -> int:
    """The number of the set bit that is nearest to `wanted`; the lower one of two."""
    return min((place for place in range(bits.bit_length()) if bits >> place & 1), key=lambda place: abs(place - wanted))
