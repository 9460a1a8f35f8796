"""What a topic's instruction becomes before it is searched: itself, less of it, nothing, or a placebo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolkit.core.errors import ToolkitError, three
from toolkit.core.topics import Topic
from toolkit.instructions.placebo import around, placebo

OTHER = ("short", "keywords")  # of `Topic.wordings`
CHOICES = ("full", *OTHER, "placebo", "none")


def with_instructions(topics: Sequence[Topic], how: str) -> list[Topic]:
    """The topics with their instructions (`full`), another wording of them (`short`, `keywords`: the benchmark's own, as in
    FollowIR's ablations), without any (`none`), or with placebos in their place (`placebo`).
    """
    if how not in CHOICES:
        raise ToolkitError(f"instructions cannot be {how!r}", f"known: {', '.join(CHOICES)}")
    if how in OTHER:
        return worded(topics, how)
    changed = {"full": list, "none": without_instructions, "placebo": placebo}
    return changed[how](topics)


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
    return [_worded(topic, topic.wordings[name]) if topic.instruction else topic for topic in topics]


def _worded(topic: Topic, text: str) -> Topic:
    before, after = around(topic)
    return replace(topic, instruction=text, text=before + text + after)
