"""Topics: what is searched for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """One query in one mode.

    query_id     carries the mode last (`audience-012-1-ins`)
    text         what a system is given in this mode
    query        the core query, the same in every mode
    instruction  empty where the mode has none
    condition    what the instruction asks for (`expert`); empty where the benchmark names none
    group_id     the core query's id: it ties the instructed variants of one core query
    original_id  the id as published
    released     what the benchmark's released code sends as instruction in a mode where ours is empty (InfoSearch's `ori`)
    """

    query_id: str
    text: str
    query: str = ""
    instruction: str = ""
    condition: str = ""
    mode: str = ""
    group_id: str = ""
    original_id: str = ""
    released: str = ""
