"""What a model is sent: a topic or a document put into a system's templates."""

import hashlib
import json
import re
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.topics import Topic

SLOT = re.compile(r"\{(\w+)\}")
SEPARATOR = " [SEP] "  # of instruction and query in InstructIR's texts
TOPIC_SLOTS = ("query", "question", "instruction", "released", "before_sep", "after_sep")
DOC_SLOTS = ("title", "text", "contents")
DEFAULTS = {"query": "{query}", "passage": "{contents}"}
OPTIONAL = ("instruction", "released", "before_sep")  # slots of a topic that may be empty

_LABEL, _OPENING = r"(?:<\w+>|\w[\w ]*)[:：]\s*", r"<[^<>/][^<>]*>"
_LABELLED = re.compile(rf"\s*{_LABEL}")
_HEADING = re.compile(rf"\s*(?:{_LABEL}|{_OPENING})\s*")  # `Query: ...`, `<|user|>...`: where a section begins
_CLOSERS = re.compile(r"(?:</[^<>]*>|[\"'”’»)\]}.?!。？！])*")
_OPENERS = re.compile(rf"(?:{_LABEL}|{_OPENING}|[\"'“‘«(\[])*$")
_LAST_TAGS = re.compile(r"(?:<[^<>\s]+>)*$")


class Input(NamedTuple):
    """One text for a model: all of it is sent; models that keep the instruction out of their pooling pool over `text` alone.

    prefix       what the template has before the query's or the document's own text
    instruction  what a server is sent in a field of its own beside the text; empty where it is in the text, or there is none
    """

    prefix: str
    text: str
    instruction: str = ""

    @property
    def whole(self) -> str:
        """What is sent."""
        return self.prefix + self.text


def topic_input(templates: Mapping[str, str], topic: Topic) -> Input:
    """A topic in its template, see `topic_template`.

    Of templates with an `instruction`, that is what goes into the field of a server's request that is for instructions, and the
    text is that of a topic without one: its core query.

    Slots: `{query}`, `{question}` (the query, ended by `?` where nothing ends it), `{instruction}` and `{released}`. In a
    template without `{instruction}`, `{query}` is all of the topic's text: the query, one blank, the instruction.
    `{before_sep}` and `{after_sep}` are the topic's text up to ` [SEP] ` and from there on, whatever stands there (InstructIR's
    code takes the first for the instruction, in any order); the second is all of a text without it.
    """
    if is_apart(templates, topic):
        sent = topic_input(templates, without_instruction(topic))
        return sent._replace(instruction=SLOT.sub(lambda match: _topic_values(topic)[match[1]], templates["instruction"]))
    template, values = _named(templates, topic), _topic_values(topic)
    query = (topic.query or topic.text) if "{instruction}" in template or "{released}" in template else topic.text
    question = query if query.endswith((".", "?", "!")) else f"{query}?"
    return _fill(template, {**values, "query": query, "question": question}, ("query", "question", "after_sep"))


def is_apart(templates: Mapping[str, str], topic: Topic) -> bool:
    """Whether a topic's instruction is sent in a field of its own."""
    return "instruction" in templates and bool(topic.instruction)


def without_instruction(topic: Topic) -> Topic:
    """The topic's core query alone."""
    return replace(topic, text=topic.query or topic.text, instruction="", released="")


def _topic_values(topic: Topic) -> dict[str, str]:
    before, _, after = topic.text.rpartition(SEPARATOR)
    return {"instruction": topic.instruction, "released": topic.released, "before_sep": before, "after_sep": after}


def topic_template(templates: Mapping[str, str], topic: Topic) -> str:
    """What a topic is put into: `query` where it has an instruction, `plain` (if the system has one) where it has none.

    Slots for what the topic does not have go, see `without_slots`.
    """
    topic = without_instruction(topic) if is_apart(templates, topic) else topic
    values = _topic_values(topic)
    return without_slots(_named(templates, topic), [slot for slot in OPTIONAL if not values[slot]])


def _named(templates: Mapping[str, str], topic: Topic) -> str:
    template = templates.get("query", DEFAULTS["query"])
    return template if topic.instruction else templates.get("plain", template)


def without_slots(template: str, slots: Container[str]) -> str:
    """A template without some of its slots, and without what stands there for them alone.

    Lines: one all of whose slots go, goes (`Instruct: {instruction}`), and with it the blank lines under it, or those above it
    where nothing follows. A label or tag on a line of its own (`Instruct:`, `<|user|>`) goes with the lines under it, down to
    the next line that begins with a label or a tag, where all of their slots go.

    Clauses: in a line with other slots, all text goes from the slot before (or the line's beginning) to the slot after (or its
    end), but for what belongs to those: closing tags, quotes, brackets and ends of sentences right behind the slot before;
    the label (`Query: `), opening tags, quotes and brackets right ahead of the slot after; the line's first label where it
    ends with the name of the slot after (`query: {instruction} {query}`); tags at the line's end (`</s>`). Where blanks
    stood between two slots, one is left.

    Labels: what went with a label takes the label of what follows it along, for the two tell the parts of one header apart:
    `Instruct: {instruction}\\nQuery: {query}` becomes `{query}`, as model cards send a query without a task.
    """
    if not any(slot in slots for slot in SLOT.findall(template)):
        return template
    lines: list[str] = []
    below = labelled = False  # whether something went just above, and whether with a label
    for section in _sections(template):
        whole = _HEADING.fullmatch(section[0]) and _all_go("".join(section), slots)
        for line in section:
            if whole or _all_go(line, slots):
                below, labelled = True, labelled or bool(_LABELLED.match(line))
            elif line.strip() or not below:
                bare = _LABELLED.sub("", line, count=1) if labelled else line
                lines += [_without_clauses(bare, slots)] if bare or not labelled else []
                below = labelled = False
    while below and lines and not lines[-1].strip():
        del lines[-1]
    return "\n".join(lines)


def _sections(template: str) -> list[list[str]]:
    sections: list[list[str]] = [[]]
    for line in template.split("\n"):
        if _HEADING.match(line) and sections[-1]:
            sections.append([])
        sections[-1].append(line)
    return sections


def _all_go(text: str, slots: Container[str]) -> bool:
    slots_of_text = SLOT.findall(text)
    return bool(slots_of_text) and all(slot in slots for slot in slots_of_text)


def _without_clauses(line: str, slots: Container[str]) -> str:
    """A line with a slot that stays, without the others' text."""
    *texts, rest = SLOT.split(line)  # text, slot, text, slot, ..., text
    made, before, previous = "", "", ""
    going = False
    for text, slot in zip(texts[::2], texts[1::2], strict=True):
        before = before if going else text
        if slot in slots:
            going = True
            continue
        made += _between(before, text, previous, slot) if going else text
        made += f"{{{slot}}}"
        going, previous = False, slot
    if going:  # and no slot follows
        opening = re.search(r"<([^<>/\s|]+)>$", before)
        closed = rest.removeprefix(f"</{opening[1]}>") if opening else rest
        rest = _CLOSERS.match(before)[0] + _LAST_TAGS.search(closed)[0]
    return made + rest


def _between(before: str, after: str, previous: str, slot: str) -> str:
    """What is left of the text around slots that go: `before` them, and `after` them up to a slot that stays."""
    opener = _OPENERS.search(after)[0]
    if re.search(rf"{_LABEL}$", before):
        opener = re.sub(_LABEL, "", opener)
    if previous:
        closing = _CLOSERS.match(before)[0]
        blank = " " if re.search(r"\s", before[len(closing) :] + after.removesuffix(opener)) else ""
        return closing + blank + opener
    label = _HEADING.match(before)
    named = label and re.search(rf"{slot}\s*[:：]", label[0], re.IGNORECASE)
    return (label[0] if named else "") + opener


def doc_input(templates: Mapping[str, str], doc: Doc) -> Input:
    """A document in the template `passage`. Slots: `{contents}` (title, one blank, text), `{title}`, `{text}`."""
    template = templates.get("passage", DEFAULTS["passage"])
    return _fill(template, {"title": doc.title, "text": doc.text, "contents": doc.contents}, DOC_SLOTS)


def check_template(name: str, template: str) -> None:
    """Raise ToolkitError for a slot that a template of this name cannot have."""
    known = {"passage": DOC_SLOTS, "instruction": ("instruction",)}.get(name, TOPIC_SLOTS)
    for slot in SLOT.findall(template):
        if slot not in known:
            raise ToolkitError(f"template {name} has an unknown slot {{{slot}}}", f"known: {', '.join(known)}")


def template_digest(spec: SystemSpec) -> str:
    """SHA-256 over the templates and parameters that shape what is sent: templates that differ give other numbers."""
    content = json.dumps({"templates": spec.templates, "parameters": spec.parameters}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _fill(template: str, values: Mapping[str, str], text_slots: tuple[str, ...]) -> Input:
    """The filled template, split before the first of `text_slots`; blanks at both ends go where a slot is empty."""
    empty = [slot for slot in SLOT.findall(template) if not values[slot]]
    template = without_slots(template, [slot for slot in empty if slot in OPTIONAL])
    split = min((match.start() for match in SLOT.finditer(template) if match[1] in text_slots), default=0)
    prefix = SLOT.sub(lambda match: values[match[1]], template[:split])
    text = SLOT.sub(lambda match: values[match[1]], template[split:])
    if empty:
        prefix = prefix.lstrip(" ")
        text = text.rstrip(" ") if prefix else text.strip(" ")
    return Input(prefix, text)
