"""What a model answers, read as an order of the passages it was shown."""

import re
from typing import NamedTuple

BRACKETED, DIGITS = re.compile(r"\[\s*(\d+)\s*\]"), re.compile(r"\d+")
THOUGHTS = "</think>"  # what a reasoning model says before is not its answer


class Repairs(NamedTuple):
    """What was wrong with an answer, in numbers of ids.

    doubled       named again, dropped
    out_of_range  no number of a passage, dropped
    missing       not named, appended in their old order
    unreadable    1 where not one id could be read and the old order stays, else 0
    """

    doubled: int = 0
    out_of_range: int = 0
    missing: int = 0
    unreadable: int = 0


def read_permutation(answer: str, count: int, *, ids: str = "brackets") -> tuple[tuple[int, ...], Repairs]:
    """Positions (from 0) of `count` passages, best first: always a permutation; and what it took to make it one.

    ids  `brackets`: numbers in square brackets where there is any, so that numbers in the prose around them do not count,
         else every number; `digits`: every number, as RankGPT's and rank_llm's code do
    """
    answer = answer.rpartition(THOUGHTS)[2]
    numbers = (ids == "brackets" and BRACKETED.findall(answer)) or DIGITS.findall(answer)
    # int() refuses numbers of thousands of digits, which a model that repeats itself writes
    named = [int(number) - 1 if len(number) < 10 else -1 for number in numbers]
    valid = [position for position in named if 0 <= position < count]
    order = list(dict.fromkeys(valid))
    missing = [position for position in range(count) if position not in order]
    repairs = Repairs(len(valid) - len(order), len(named) - len(valid), len(missing), int(not order and count > 0))
    return (*order, *missing), repairs
