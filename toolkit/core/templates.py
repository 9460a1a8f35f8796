"""What a model is sent: a topic or a document put into a system's templates."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.topics import Topic

SLOT = re.compile(r"\{(\w+)\}")
TOPIC_SLOTS = ("query", "question", "instruction", "released")
DOC_SLOTS = ("title", "text", "contents")
DEFAULTS = {"query": "{query}", "passage": "{contents}"}


class Input(NamedTuple):
    """One text for a model: all of it is sent; models that keep the instruction out of their pooling pool over `text` alone.

    prefix  what the template has before the query's or the document's own text
    """

    prefix: str
    text: str

    @property
    def whole(self) -> str:
        """What is sent."""
        return self.prefix + self.text


def topic_input(templates: Mapping[str, str], topic: Topic) -> Input:
    """A topic in a template: `query` where it has an instruction, `plain` (if the system has one) where it has none.

    Slots: `{query}`, `{question}` (the query, ended by `?` where nothing ends it), `{instruction}` and `{released}`. In a
    template without `{instruction}`, `{query}` is all of the topic's text: the query, one blank, the instruction.
    """
    template = templates.get("query", DEFAULTS["query"])
    if not topic.instruction:
        template = templates.get("plain", template)
    query = (topic.query or topic.text) if "{instruction}" in template else topic.text
    if "{released}" in template:
        query = topic.query or topic.text
    question = query if query.endswith((".", "?", "!")) else f"{query}?"
    values = {"query": query, "question": question, "instruction": topic.instruction, "released": topic.released}
    return _fill(template, values, ("query", "question"))


def doc_input(templates: Mapping[str, str], doc: Doc) -> Input:
    """A document in the template `passage`. Slots: `{contents}` (title, one blank, text), `{title}`, `{text}`."""
    template = templates.get("passage", DEFAULTS["passage"])
    values = {"title": doc.title, "text": doc.text, "contents": doc.contents}
    return _fill(template, values, DOC_SLOTS)


def check_template(name: str, template: str) -> None:
    """Raise ToolkitError for a slot that a template of this name cannot have."""
    known = DOC_SLOTS if name == "passage" else TOPIC_SLOTS
    for slot in SLOT.findall(template):
        if slot not in known:
            raise ToolkitError(f"template {name} has an unknown slot {{{slot}}}", f"known: {', '.join(known)}")


def template_digest(spec: SystemSpec) -> str:
    """SHA-256 over the templates and parameters that shape what is sent: templates that differ give other numbers."""
    content = json.dumps({"templates": spec.templates, "parameters": spec.parameters}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _fill(template: str, values: Mapping[str, str], own: tuple[str, ...]) -> Input:
    """The filled template, cut before the first of its `own` slots; blanks at both ends go where a slot is empty."""
    starts = [match.start() for match in SLOT.finditer(template) if match[1] in own]
    cut = min(starts, default=0)
    prefix = SLOT.sub(lambda match: values[match[1]], template[:cut])
    text = SLOT.sub(lambda match: values[match[1]], template[cut:])
    if any(not values[slot] for slot in SLOT.findall(template)):
        prefix = prefix.lstrip(" ")
        text = text.rstrip(" ") if prefix else text.strip(" ")
    return Input(prefix, text)
