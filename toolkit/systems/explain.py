"""Exactly what a system is sent: the filled templates, and the token ids that its model sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import MissingExtra, ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import DEFAULTS, Input, doc_input, topic_input, topic_template
from toolkit.core.topics import Topic
from toolkit.systems.prompts import PROMPTED, around, asked, passage_template
from toolkit.systems.tokens import token_reader

FIELDS = "title and text are searched as two fields"
PAIR = "two texts of one input, which the tokenizer divides with marks of its own"


class Sent(NamedTuple):
    """One text as it is sent.

    part      `query`, `plain` (a query without instruction), `passage`; `pair` for what is read as one; `prompt` for what a
              language model is asked
    template  empty for a pair and a prompt
    ids       the token ids, special ones and all; None where there are none
    note      what the text alone does not tell
    """

    part: str
    template: str
    input: Input
    ids: list[int] | None = None
    note: str = ""


class Explained(NamedTuple):
    """What is sent for a topic, and for a document where one was named. without: why token ids are lacking, if they are."""

    topic: Topic
    sent: list[Sent]
    without: str


def explain(
    spec: SystemSpec, topics: Sequence[Topic], doc: Doc | None = None, *, trust_remote_code: bool = False
) -> list[Explained]:
    """What the system is sent for each topic (and the document), with token ids where its checkpoint can be loaded here."""
    try:
        read, without = token_reader(spec, trust_remote_code), ""
    except ToolkitError as error:
        read, without = None, f"{error.message}: {error.hint}" if isinstance(error, MissingExtra) else error.message
    return [_explained(spec, topic, doc, read, without) for topic in topics]


def _explained(
    spec: SystemSpec, topic: Topic, doc: Doc | None, read: Callable[..., dict[str, list[int]]] | None, without: str
) -> Explained:
    templates = {**DEFAULTS, **spec.templates}
    side = "plain" if not topic.instruction and "plain" in templates else "query"
    if doc:
        templates["passage"] = passage_template(spec, doc)
    query, passage = topic_input(templates, topic), doc_input(templates, doc) if doc else None
    ids = read(query, passage) if read else {}
    masked = "the prefix is kept out of the pooling" if spec.parameters.get("mask_prefix") else ""
    sent = [Sent(side, topic_template(templates, topic), query, ids.get("query"), masked if query.prefix else "")]
    if passage:
        note = FIELDS if spec.kind == "bm25-fields" else masked if passage.prefix else ""
        sent.append(Sent("passage", templates["passage"], passage, ids.get("passage"), note))
        if spec.kind in PROMPTED:
            sent.append(Sent("prompt", "", Input("", asked(spec, query, passage)), ids.get("pair"), around(spec)))
        elif "pair" in ids:
            sent.append(Sent("pair", "", Input("", query.whole + "\n" + passage.whole), ids["pair"], PAIR))
    if read and not ids:
        without = "it reads a query and a document as one: name a document with --doc"
    return Explained(topic, sent, without)
