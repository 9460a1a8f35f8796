"""Instructions as systems are given them: in full, in other words, as a placebo, or not at all."""

from __future__ import annotations

from dataclasses import replace

from toolkit.benchmarks import TopicSet
from toolkit.core.lazy_names import lazy_names
from toolkit.core.progress import say

__getattr__, __all__ = lazy_names(__name__, {"wordings": ("CHOICES", "with_instructions", "without_instructions")})


def as_asked(topics: TopicSet, instruction: str) -> TopicSet:
    """The topics with their instructions as `with_instructions` makes them; that they have none is said."""
    if instruction == "full":
        return topics
    from toolkit.instructions.wordings import with_instructions

    if not any(topic.instruction for topic in topics.topics):
        say(f"note: {topics.name} has no instructions: what is searched for stays as it is")
    return replace(topics, parts=[replace(part, topics=with_instructions(part.topics, instruction)) for part in topics.parts])
