"""Passages as a prompt can take them: without numbers in brackets of their own, and as short as the budget needs."""

import itertools
import re
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

NUMBER = re.compile(r"\[(\d+)\]")
# scripts that are written without blanks (Thai to Khmer, kana, Han): each character counts as a word; and so does each 30
# characters of what has no blanks elsewhere (addresses, encoded data)
DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{DENSE}]|[^\s{DENSE}]{{1,30}}")


def plain(text: str) -> str:
    """One line, with `(3)` for `[3]`, which would be taken for the number of a passage."""
    return NUMBER.sub(r"(\1)", " ".join(text.split()))


class Passage(NamedTuple):
    """A passage to be truncated. ends: where each of its words ends, as far as it may be shown and one more."""

    text: str
    ends: Sequence[int]

    def first(self, words: int) -> str:
        """Its beginning, up to its `words`-th word."""
        return self.text if len(self.ends) <= words else self.text[: self.ends[words - 1]]


@lru_cache(maxsize=10_000)  # windows overlap, passes are repeated, and the modes of a query share their documents
def passage(text: str, most: int) -> Passage:
    """A text as it is shown, of which at most `most` words will be."""
    text = plain(text)
    ends = array("I", (word.end() for word in itertools.islice(WORD.finditer(text), most + 1)))
    return Passage(text[: ends[-1]] if len(ends) > most else text, ends)  # the rest of a book is not needed


class Window(NamedTuple):
    """What is shown at once.

    label     whose window it is, for messages (a query id)
    query     with its instruction
    passages  in the order of the moment, uncut
    """

    label: str
    query: str
    passages: tuple[str, ...]
