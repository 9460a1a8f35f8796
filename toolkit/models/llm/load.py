"""From a system's entry to a model that can be asked."""

from __future__ import annotations

from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.llm.cache import AnswerCache, default_cache
from toolkit.models.llm.client import LLM
from toolkit.models.llm.endpoint import Endpoint

LOADERS = ("endpoint", "transformers", "peft")
MOST = 1024  # requests at the same time: each has a thread and a connection


def load_llm(
    spec: SystemSpec,
    *,
    loader: str | None = None,
    cache: Path | None = None,
    replay: bool = False,
    concurrency: int = 16,
    retries: int = 6,
    timeout: float = 600.0,
    tolerant: bool = False,
    device: str | None = None,
    precision: str | None = None,
    batch_size: int = 32,
    trust_remote_code: bool = False,
) -> LLM:
    """The language model of a system of kind `listwise`, `judge` or `expander`. Asks nothing and loads no weights yet.

    loader       `endpoint` or `transformers` (`peft`: the same, of an adapter), instead of the entry's: a checkpoint may be
                 served by vLLM. A server knows the model by the entry's parameter `model`, else by its checkpoint
    cache        the file of answers; in TANDEM_HOME where none is named
    replay       take every answer from the cache, ask nothing
    concurrency, retries, timeout, tolerant   for a server, see `Endpoint`
    device, precision, batch_size, trust_remote_code   for a checkpoint on this machine
    """
    loader = loader or spec.loader or "transformers"
    if loader not in LOADERS:
        raise ToolkitError(f"{spec.name} is loaded by {loader}, which cannot write texts here", f"known: {', '.join(LOADERS)}")
    if not 1 <= concurrency <= MOST:
        raise ToolkitError(f"concurrency is {concurrency}", f"a whole number from 1 to {MOST}")
    if retries < 0 or timeout <= 0:
        raise ToolkitError(f"retries is {retries}, timeout is {timeout:g} seconds", "0 or more, and more than 0")
    if loader == "endpoint":
        model = spec.parameters.get("model") or spec.checkpoint
        if not model:
            raise ToolkitError(f"{spec.name} does not say what a server calls it", "add `model` to the parameters of its entry")
        backend = Endpoint(model, concurrency=concurrency, retries=retries, timeout=timeout, tolerant=tolerant)
    else:
        from toolkit.models.llm.local import LocalModel

        backend = LocalModel(
            spec, device=device, precision=precision, batch_size=batch_size, trust_remote_code=trust_remote_code
        )
    return LLM(backend, cache=AnswerCache(cache or default_cache()), replay=replay)
