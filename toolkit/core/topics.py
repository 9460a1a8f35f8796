"""Topics: what is searched for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from toolkit.core.errors import ToolkitError, three


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


def topics_by_id(topics: Iterable[Topic]) -> dict[str, Topic]:
    """Query id -> topic. ToolkitError for an id that comes twice."""
    known: dict[str, Topic] = {}
    for topic in topics:
        if topic.query_id in known:
            raise ToolkitError(f"query id {topic.query_id!r} comes twice in the topics", "give each query its own id")
        known[topic.query_id] = topic
    return known


def check_among(query_ids: Collection[str], topics: Collection[str], where: str) -> None:
    """ToolkitError for queries (of a run, `where`) whose ids are not those of topics."""
    if unknown := [query_id for query_id in query_ids if query_id not in topics]:
        message = f"{where}: {len(unknown)} of {len(query_ids)} queries are not among the topics ({three(unknown)})"
        raise ToolkitError(message, "name the topics that the run was made with")
