"""Instructions as systems are sent them: in full, in other words, as a placebo, or not at all."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.progress import say
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet

OTHER = ("short", "keywords")  # of `Topic.wordings`
CHOICES = ("full", *OTHER, "placebo", "none")


def topics_sent(topics: TopicSet, instruction: str) -> TopicSet:
    """The topics with their instructions as `with_instructions` makes them; that they have none is said."""
    if instruction == "full":
        return topics
    if not any(topic.instruction for topic in topics.topics):
        say(f"note: {topics.name} has no instructions: what is searched for stays as it is")
    return replace(topics, parts=[replace(part, topics=with_instructions(part.topics, instruction)) for part in topics.parts])


def with_instructions(topics: Sequence[Topic], how: str) -> list[Topic]:
    """The topics with their instructions (`full`), another wording of them (`short`, `keywords`: the benchmark's own, as in
    FollowIR's ablations), without any (`none`), or with placebos in their place (`placebo`).
    """
    if how not in CHOICES:
        raise ToolkitError(f"instructions cannot be {how!r}", f"known: {', '.join(CHOICES)}")
    if how in OTHER:
        return worded(topics, how)
    if how == "placebo":
        from toolkit.retrieval.instructions.placebo import placebo

        return placebo(topics)
    return without_instructions(topics) if how == "none" else list(topics)


def without_instructions(topics: Iterable[Topic]) -> list[Topic]:
    """The topics with the core query alone in every mode, as if the benchmark had no instructions."""
    return [replace(topic, text=topic.query or topic.text, instruction="", released="") for topic in topics]


def worded(topics: Sequence[Topic], name: str) -> list[Topic]:
    """The topics with this wording of every instruction, joined to the query as the instruction was.

    A topic without an instruction stays as it is. Raises ToolkitError where one with an instruction has no such wording.
    """
    instructed = [topic for topic in topics if topic.instruction]
    if lacking := [topic for topic in instructed if name not in topic.wordings]:
        known = {wording for topic in topics for wording in topic.wordings}
        hint = f"the data have: {', '.join(['full', *sorted(known)])}"
        names = three(topic.query_id for topic in lacking)
        raise ToolkitError(f"{len(lacking)} of {len(instructed)} instructions have no wording {name!r} ({names})", hint)
    return [reworded(topic, topic.wordings[name]) if topic.instruction else topic for topic in topics]


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
    raise ToolkitError(
        f"query {topic.query_id}: its text is not its query and its instruction, one after the other",
        "another instruction needs topics with fields for both (`tandem benchmarks export` writes them)",
    )
