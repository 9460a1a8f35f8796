"""Topics: what is searched for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    wordings     other wordings of the instruction that the benchmark has: `short`, `keywords` -> text
    perspectives  the statements that documents may hold (BERDS); the n-th, from 1, is subtopic n of the qrels
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
    wordings: Mapping[str, str] = field(default_factory=dict, hash=False)
    perspectives: tuple[str, ...] = ()

    @property
    def base_id(self) -> str:
        """The query id without its mode, the same in every mode."""
        return self.query_id.removesuffix(f"-{self.mode}") if self.mode else self.query_id
