"""Exactly what a system is sent: the filled templates and prompts, and the token ids that its model sees: from the very classes
that run it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import MissingExtra, ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import DEFAULTS, Input, doc_input, topic_input, topic_template
from toolkit.core.topics import Topic
from toolkit.models.checkpoints.local_checkpoints import check_usable, is_here, places_of
from toolkit.models.checkpoints.own_systems import no_tokens
from toolkit.models.encoders import LOADERS, load_encoder
from toolkit.models.encoders.base import SIDES
from toolkit.models.rerankers import load_reranker
from toolkit.models.systems.system_facts import quoted
from toolkit.registry.choice import HUB_ID
from toolkit.registry.system_kinds import SERVED, kinds, parameters_as

FIELDS = "title and text are searched as two fields"
PAIR = "two texts of one input, which the tokenizer divides with marks of its own"
# (query, passage if there is one) -> `query` and `passage`, or `pair`, -> ids
TokenReader = Callable[[Input, Input | None], dict[str, list[int]]]


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

    def rows(self) -> Iterator[tuple[str, str]]:
        """What it has, by name; empty texts for what it has not."""
        template, (prefix, _, instruction) = self.template, self.input
        yield self.part, quoted(template) if template else ""
        yield "prefix", quoted(prefix) if prefix else ""
        yield ("sent" if template else self.part), quoted(self.input.whole)
        yield "field", quoted(instruction) if instruction else ""
        yield "note", self.note
        yield "ids", "" if self.ids is None else f"{' '.join(map(str, self.ids))} ({len(self.ids)})"


class Explained(NamedTuple):
    """What is sent for a topic, and for a document where one was named.

    without  why token ids are lacking, if they are
    request  what a server is asked, key by key; of a query alone, or of a query and a document
    """

    topic: Topic
    sent: list[Sent]
    without: str
    request: Mapping[str, Any]

    def lines(self) -> Iterator[str]:
        """For people. Texts are quoted, so that every blank is to be seen."""
        for each in self.sent:
            yield from (f"  {name:<9}{text}" for name, text in each.rows() if text)
        for key, value in self.request.items():
            yield f"  request  {key}: {json.dumps(value, ensure_ascii=False)}"
        if self.without:
            yield f"  no token ids: {self.without}"


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
            sent.append(Sent("prompt", "", Input("", PROMPTED[spec.kind](spec, query, passage)), ids.get("pair"), around(spec)))
        elif "pair" in ids:
            sent.append(Sent("pair", "", Input("", query.whole + "\n" + passage.whole), ids["pair"], PAIR))
    if read and not ids:
        without = "it reads a query and a document as one: name a document with --doc"
    return Explained(topic, sent, without, _request(spec, query, passage))


def _request(spec: SystemSpec, query: Input, passage: Input | None) -> dict[str, Any]:
    """The body of a request, of a system that a server computes; empty for others, and where a document is lacking."""
    if spec.loader != "endpoint" or spec.kind not in SERVED:
        return {}
    if spec.kind == "dense":
        return load_encoder(spec).request([query], "query")
    return load_reranker(spec).request([(query, passage)]) if passage else {}


def _pointwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The prompt with both filled in; without the chat template, which is the checkpoint's."""
    from toolkit.models.rerankers.prompts import DOCUMENT, QUERY, pointwise_prompt, skeleton
    from toolkit.models.rerankers.reranker_settings import SETTINGS

    before, after = skeleton(pointwise_prompt(parameters_as(SETTINGS[spec.kind], spec).prompt)).split(DOCUMENT)
    return before.replace(QUERY, query.whole) + passage.whole + after.replace(QUERY, query.whole)


def _listwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The turns for a window of this one passage; where there are more, all may be truncated to fit the model's length."""
    from toolkit.models.llm import load_prompt
    from toolkit.models.rerankers.listwise_ranker import DEFAULT_PROMPT, DEFAULTS, plain
    from toolkit.models.rerankers.listwise_ranker import passage as prepared

    parameters = {"prompt": DEFAULT_PROMPT, **DEFAULTS, **spec.parameters}
    words = parameters["passage_words"]
    shown = [{"number": "1", "passage": prepared(passage.whole, words).first(words)}]
    prompt = load_prompt(parameters["prompt"], "listwise")
    turns = prompt.messages({"query": plain(query.whole), "count": "1"}, shown, system=parameters["system"])
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)


# kind -> what such a system is asked, in words
PROMPTED = {"monot5": _pointwise, "yes-no": _pointwise, "listwise": _listwise}


def passage_template(spec: SystemSpec, doc: Doc) -> str:
    """The template that a document goes into: a listwise system may have one of its own for documents with a title."""
    titled = spec.parameters.get("titled_passage") if spec.kind == "listwise" and doc.title else None
    return titled or spec.templates.get("passage", DEFAULTS["passage"])


def around(spec: SystemSpec) -> str:
    """What goes around a prompt, in words; empty where nothing does."""
    chat = spec.parameters.get("chat")
    if spec.kind == "monot5" or chat is False:
        return ""
    if spec.loader == "endpoint":
        return "the server puts these turns into its model's chat template"
    where = " where it has one" if spec.kind == "yes-no" and chat is None else ""
    return f"the checkpoint's chat template goes around it{where}"


def token_reader(spec: SystemSpec, trust_remote_code: bool) -> TokenReader:
    """Raises ToolkitError where the system has no tokens, or its checkpoint is not on this machine or does not load."""
    if spec.is_python:
        raise no_tokens(spec)
    if spec.kind in SERVED and spec.loader == "endpoint":
        raise ToolkitError("they are the server's")
    if why_none := kinds()[spec.kind].get("no_tokens"):
        raise ToolkitError(why_none)
    for place, revision in places_of(spec):  # gigabytes are not downloaded for token ids
        if HUB_ID.fullmatch(place) and not is_here(place, revision):
            raise ToolkitError(f"{place} is not on this machine, and nothing is downloaded to tell them")
    check_usable(spec, trust_remote_code=trust_remote_code)
    if spec.kind in LOADERS:
        encoder = load_encoder(spec, device="cpu", trust_remote_code=trust_remote_code)
        return lambda *pair: {side: encoder.token_ids(each, side) for side, each in zip(SIDES, pair, strict=True) if each}
    reranker = load_reranker(spec, device="cpu", trust_remote_code=trust_remote_code)
    return lambda query, passage: {"pair": reranker.tokens((query, passage))} if passage else {}
