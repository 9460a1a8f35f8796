"""What language models that rerank are asked about a query and a document."""

from __future__ import annotations

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input


def _pointwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The prompt with both filled in; without the chat template, which is the checkpoint's."""
    from toolkit.models.rerankers.prompts import DOCUMENT, QUERY, pointwise_prompt, skeleton
    from toolkit.models.rerankers.settings import PromptParameters, YesNoParameters, parameters

    settings = parameters({"monot5": PromptParameters, "yes-no": YesNoParameters}[spec.kind], spec)
    before, after = skeleton(pointwise_prompt(settings.prompt)).split(DOCUMENT)
    return before.replace(QUERY, query.whole) + passage.whole + after.replace(QUERY, query.whole)


def _listwise(spec: SystemSpec, query: Input, passage: Input) -> str:
    """The turns for a window of this one passage."""
    from toolkit.models.llm import load_prompt

    prompt = load_prompt(spec.parameters.get("prompt", "listwise.v1"), "listwise")
    shown = [{"number": "1", "passage": passage.whole}]
    turns = prompt.messages({"query": query.whole, "count": "1"}, shown, system=spec.parameters.get("system", "keep"))
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)


PROMPTED = {"monot5": _pointwise, "yes-no": _pointwise, "listwise": _listwise}


def asked(spec: SystemSpec, query: Input, passage: Input) -> str:
    """What a system of a kind in `PROMPTED` is asked."""
    return PROMPTED[spec.kind](spec, query, passage)


def in_chat(spec: SystemSpec) -> bool:
    """Whether the prompt goes into the checkpoint's chat template; a yes/no model's that says nothing does where it has one."""
    return spec.kind != "monot5" and spec.parameters.get("chat") is not False
