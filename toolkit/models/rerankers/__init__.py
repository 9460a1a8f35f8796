"""Rerankers. Pointwise ones: a model reads a query with one document and gives the pair a score.

Each kind is a class of its own, loaded with torch only when it is asked for.
"""

import importlib
from typing import Any

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints.remote_code import code_of
from toolkit.models.computing import settle_arithmetic
from toolkit.models.llm import Prompt
from toolkit.models.rerankers.base import Reranker
from toolkit.models.rerankers.prompts import pointwise_prompt
from toolkit.models.rerankers.reranker_settings import PROMPTED, SETTINGS, PromptParameters
from toolkit.registry.system_kinds import parameters_as

# kind -> the module whose `load` makes it
KINDS = {
    "cross-encoder": "cross",
    "monot5": "token_logits",
    "yes-no": "token_logits",
    "multivector": "late",
    "rerankers": "library",
}


def load_reranker(
    spec: SystemSpec,
    *,
    device: str | None = None,
    precision: str | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    prompt: str | Prompt | None = None,
    **asking: Any,
) -> Reranker:
    """The reranker that a system's entry describes, ready to score pairs; what it is loaded with as of `load_encoder`.

    prompt  a prompt in place of the entry's, or its name or file (kinds `yes-no` and `monot5`)
    asking  of a server alone, see `toolkit.models.servers.numbers.ServedModel`

    Raises ToolkitError for a kind that is no pointwise reranker, a parameter that the kind has not, a checkpoint that cannot be
    had or does not fit, and weights that are not a reranker's.
    """
    check_reranker(spec, prompt)
    if spec.loader == "endpoint":
        from toolkit.models.servers.served_models import ServedReranker

        return ServedReranker(spec, batch_size=batch_size, **asking)
    if asking:
        raise ToolkitError(f"{spec.name} is loaded here: it has no {', '.join(asking)}", "models on a server have")
    if spec.is_python:
        from toolkit.models.checkpoints.own_systems import OwnReranker, check_own

        check_own(spec, device=device, precision=precision, trust=trust_remote_code)
        return OwnReranker(spec, batch_size or 32)
    if spec.kind == "rerankers":
        from toolkit.models.rerankers.library import LibraryReranker

        how = {"device": device, "precision": precision, "batch_size": batch_size}
        return LibraryReranker(spec, trust_remote_code=trust_remote_code, **how)
    settle_arithmetic()
    try:
        module = importlib.import_module(f"toolkit.models.rerankers.{KINDS[spec.kind]}")
    except ModuleNotFoundError as error:
        if error.name in ("torch", "transformers", "sentence_transformers"):
            raise missing_extra(f"reranking with {spec.name}", "dense") from error
        raise
    how = {"device": device, "precision": precision, "batch_size": batch_size or 32}
    how |= {"prompt": prompt} if prompt is not None else {}
    with code_of(spec.name, trust_remote_code):
        return module.load(spec, trust_remote_code=trust_remote_code, **how)


def check_reranker(spec: SystemSpec, prompt: str | Prompt | None = None) -> None:
    """Raise ToolkitError for all that can be known to be wrong before a checkpoint is looked at; see `load_reranker`."""
    if spec.kind not in KINDS:
        hint = f"these are: {', '.join(KINDS)}"
        raise ToolkitError(f"system {spec.name} is of kind {spec.kind}, no pointwise reranker", hint)
    if prompt is not None and spec.kind not in PROMPTED:
        raise ToolkitError(f"system {spec.name} is of kind {spec.kind}: it has no prompt", "leave --prompt out")
    if spec.kind in SETTINGS:
        settings = parameters_as(SETTINGS[spec.kind], spec)
        if isinstance(settings, PromptParameters):
            pointwise_prompt(prompt or settings.prompt)
