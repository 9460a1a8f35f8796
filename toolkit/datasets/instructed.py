"""Instructed queries in the forms in which InstructIR sends them: both parts, each alone, and in the other order.

A form other than `all` is a complete text: its topics have neither a query nor an instruction apart, so that no template
can put the two back into an order of its own. A system gets it as it gets a query without instruction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from toolkit.core.templates import SEPARATOR
from toolkit.core.topics import Topic

Judged = Mapping[str, Mapping[str, int]]  # query id -> document id -> relevance


def instructed(query_id: str, group_id: str, query: str, instruction: str) -> Topic:
    """An instructed query as it is published: the instruction, the separator, the query."""
    return Topic(query_id, f"{instruction}{SEPARATOR}{query}", query, instruction, group_id=group_id, original_id=query_id)


def complete(topic: Topic, text: str) -> Topic:
    """The topic as one text, which no template takes apart."""
    return replace(topic, text=text, query="", instruction="")


def query_first(topic: Topic) -> Topic:
    """Query, separator, instruction."""
    return complete(topic, f"{topic.query}{SEPARATOR}{topic.instruction}")


def query_first_released(topic: Topic) -> Topic:
    """The same as the authors' released file has it, with a bracket too many at either end."""
    return complete(topic, f"] {topic.query}{SEPARATOR}{topic.instruction} [")


def instruction_only(topic: Topic) -> Topic:
    """The instruction alone."""
    return complete(topic, topic.instruction)


# the groups that have the queries of `all`, one by one, and what becomes of each
FORMS: dict[str, Callable[[Topic], Topic]] = {
    "all": lambda topic: topic,
    "instruction-only": instruction_only,
    "query-first": query_first,
    "query-first-released": query_first_released,
}


def query_only(topics: Sequence[Topic], judged: Judged) -> tuple[list[Topic], dict[str, dict[str, int]]]:
    """The core queries, under their own ids, and what is relevant to any of their instructions."""
    cores: dict[str, Topic] = {}
    merged: dict[str, dict[str, int]] = {}
    for topic in topics:
        core = topic.group_id
        cores.setdefault(core, replace(complete(topic, topic.query), query_id=core, original_id=core))
        labels = merged.setdefault(core, {})
        for doc_id, label in judged[topic.query_id].items():
            labels[doc_id] = max(label, labels.get(doc_id, label))
    return list(cores.values()), merged
