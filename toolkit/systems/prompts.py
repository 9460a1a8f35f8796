"""What language models that rerank are asked about a query and a document."""

from __future__ import annotations

from toolkit.core.documents import Doc
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import DEFAULTS, Input


def _pointwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The prompt with both filled in; without the chat template, which is the checkpoint's."""
    from toolkit.models.rerankers.prompts import DOCUMENT, QUERY, pointwise_prompt, skeleton
    from toolkit.models.rerankers.reranker_settings import PromptParameters, YesNoParameters, parameters

    settings = parameters({"monot5": PromptParameters, "yes-no": YesNoParameters}[spec.kind], spec)
    before, after = skeleton(pointwise_prompt(settings.prompt)).split(DOCUMENT)
    return before.replace(QUERY, query.whole) + passage.whole + after.replace(QUERY, query.whole)


def _listwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The turns for a window of this one passage; where there are more, all may be truncated to fit the model's length."""
    from toolkit.models.listwise.passages import passage as prepared
    from toolkit.models.listwise.passages import plain
    from toolkit.models.listwise.ranker import DEFAULT_PROMPT, DEFAULTS
    from toolkit.models.llm import load_prompt

    parameters = {"prompt": DEFAULT_PROMPT, **DEFAULTS, **spec.parameters}
    words = parameters["passage_words"]
    shown = [{"number": "1", "passage": prepared(passage.whole, words).first(words)}]
    prompt = load_prompt(parameters["prompt"], "listwise")
    turns = prompt.messages({"query": plain(query.whole), "count": "1"}, shown, system=parameters["system"])
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)


PROMPTED = {"monot5": _pointwise, "yes-no": _pointwise, "listwise": _listwise}


def asked(spec: SystemSpec, query: Input, passage: Input) -> str:
    """What a system of a kind in `PROMPTED` is asked."""
    return PROMPTED[spec.kind](spec, query, passage)


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
