"""A language model behind a cache: what was answered once is not asked again, and an interrupted run resumes where it was.

The model is a checkpoint on this machine, or on any server that speaks OpenAI's chat completions: hosted models, vLLM, Ollama,
llama.cpp.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ServerSpec, SystemSpec
from toolkit.core.system.files import home
from toolkit.models.llm.answer_cache import AnswerCache
from toolkit.models.llm.estimate import Estimate
from toolkit.models.llm.messages import Answer, Backend, Request, Usage
from toolkit.models.servers.client import MANY, SHOWN, Client, Unanswered, check_requests, count_of, server_of, unanswered

REFUSALS = ("refusal", "content_filter")  # how an answer ends that is none
LOADERS = ("endpoint", "transformers", "peft")


def default_cache() -> Path:
    """Where answers are cached unless another file is named."""
    return home() / "llm" / "answers.sqlite"


class LLM:
    """A backend behind its cache; without one it asks each time.

    In `replay` every answer comes from the cache: what was published with its cache is reproduced exactly. `make` makes such a
    backend in another process, what it loads is its first argument; None for an object of this one.
    """

    not_cached = "--replay sends no requests: run without it, or put the published answers there"  # the hint of a miss

    def __init__(
        self, backend: Backend, *, cache: AnswerCache | None = None, replay: bool = False, make: partial[Backend] | None = None
    ):
        self.backend, self.cache, self.replay, self.make = backend, cache, replay, make
        self.usage = Usage()

    @property
    def model(self) -> str:
        """The model's name, as it is asked for."""
        return self.backend.facts["model"]

    @property
    def counter(self) -> Backend | Estimate:
        """What counts tokens: an estimate where the backend's checkpoint is not on this machine."""
        return self.backend if self.backend.here else Estimate()

    def facts(self) -> dict[str, Any]:
        """What enters every key, and the weights that answered, for records."""
        return {**self.backend.facts, **self.backend.origin}

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked: no server is named, no chat template is known. Asks nothing.

        In replay, where the checkpoint would have to be downloaded, whose tokenizer says how much of each text was sent.
        """
        if not self.replay:
            self.backend.check()
        elif not self.backend.here:
            hint = "HF_HUB_OFFLINE=1 takes the commit that is here, where none is pinned; or run without replay"
            message = "--replay sends no request to the hub, and the commit of this checkpoint is not known here"
            raise ToolkitError(message, hint, status=1)

    def complete(self, requests: Sequence[Request], advance: Callable[[int], None] = lambda n: None) -> list[Answer]:
        """The answers in the order of the requests; each is in the cache a moment after it came (`AnswerWriter`).

        One with an `error`, of a backend that tolerates that, is not cached. Raises ToolkitError where one cannot be had: those
        that came are cached. In replay, that is the first miss.
        """
        keys = [request.key(self.backend.facts) for request in requests]
        wanted = Counter(keys)
        answered = self.cache.get_all(list(wanted)) if self.cache else {}
        cached = sum(wanted[key] for key in answered)
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in answered}
        if missing and self.replay:
            place = self.cache.path if self.cache else "any cache"
            message = f"{len(missing)} of {len(requests)} answers of {self.model} are not in {place}"
            raise ToolkitError(message, self.not_cached, status=1)
        self.usage.requests += len(requests)
        self.usage.cached += cached
        advance(cached)
        for key, answer in self._ask(missing):
            answered[key] = answer
            advance(wanted[key])
        if missing and self.cache:  # what another process wrote first is what both have
            answered |= self.cache.get_all(list(missing))
        answers = [answered[key] for key in keys]
        for answer in (answer for answer in answers if not answer.error):
            self.usage.cut += answer.finish == "length"
            self.usage.models[answer.model] += 1
            self.usage.servers.update([answer.server] if answer.server else [])
        return answers

    def peek(self, request: Request) -> Answer | None:
        """The answer, if it is in the cache; asks nothing and counts nothing."""
        return self.cache.get(request.key(self.backend.facts)) if self.cache else None

    def _ask(self, missing: Mapping[str, Request]) -> Iterator[tuple[str, Answer]]:
        keys = list(missing)
        with self.cache.writer() if self.cache else nullcontext() as writer:
            for position, answer in self.backend.answers(list(missing.values())) if missing else ():
                if writer and not answer.error:
                    writer.put(keys[position], answer)
                self.usage.asked += 1
                self.usage.failed += bool(answer.error)
                self.usage.retries += answer.retries
                self.usage.prompt_tokens += answer.prompt_tokens
                self.usage.completion_tokens += answer.completion_tokens
                yield keys[position], answer


class Endpoint(Estimate):
    """One model at one address that speaks OpenAI's chat completions, see `toolkit.models.servers.client.Client`.

    base_url   instead of OPENAI_BASE_URL, with the same key; what an entry says (`server`) comes first
    tolerant   go on where single requests get no answer (all attempts failed, or the server or its model refuses just this
               one): their `Answer` says why in `error`. What concerns them all (the key, the address) ends it as ever, and
               so do as many failures in a row as three times the requests at the same time
    """

    here, origin = True, MappingProxyType({})

    def __init__(
        self, model: str, *, base_url: str | None = None, server: ServerSpec | None = None, tolerant: bool = False, **how: Any
    ):
        self.facts = {"model": model}
        self.client = Client(model, server, home=base_url or "", **how)
        self.tolerant, self._in_a_row = tolerant, 0

    def check(self) -> str:
        """Where requests go; ToolkitError where nothing says so."""
        return self.client.address()

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, answer) as they come, see `Client.each`."""
        return self.client.each(requests, self._ask, self._tolerate)

    def _tolerate(self, error: ToolkitError) -> Answer | None:
        """What stands for the answer where the other requests are asked in spite of this failure."""
        if not self.tolerant or not isinstance(error, Unanswered):
            return None
        self._in_a_row += 1
        return Answer("", error=error.message) if self._in_a_row < MANY * self.client.concurrency else None

    def _ask(self, url: str, request: Request, stop: threading.Event) -> Answer:
        body = {**request.options, **self.facts, "messages": list(request.messages)}

        def read(body: Any, retries: int) -> Answer:
            """The answer in a chat completion; the errors of `Client.ask` where it is none (a gateway's page)."""
            clean = self.client.clean
            choice, usage = body["choices"][0], body.get("usage") or {}
            text = choice["message"]["content"] or ""
            if not isinstance(text, str):
                raise TypeError(type(text))
            refused = not text and choice["message"].get("refusal")
            self.client.warn_of_secrets(text, url)
            return Answer(
                text=clean(text, url),
                finish="refusal" if refused else clean(choice.get("finish_reason") or "", url)[:SHOWN],
                model=clean(body.get("model") or "", url)[:SHOWN],
                server=server_of(url),
                prompt_tokens=count_of(usage.get("prompt_tokens")),
                completion_tokens=count_of(usage.get("completion_tokens")),
                retries=retries,
            )

        answer = self.client.ask(url, "chat/completions", body, read, stop, what="chat completion")
        if self.tolerant and answer.finish in REFUSALS:
            raise unanswered(url, f"the model refuses to answer ({answer.finish})", "the request is recorded as unanswered")
        self._in_a_row = 0
        return answer


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

    loader  `endpoint` or `transformers` (`peft`: the same, of an adapter), instead of the entry's: a checkpoint may be served.
            A server knows the model by the entry's parameter `model`, else by its checkpoint
    cache   the file of answers; in TANDEM_HOME where none is named. `replay` takes all from there, and asks nothing

    The others are for a server, see `Endpoint`, and, from `device` on, for a checkpoint on this machine.
    """
    if spec.is_python:
        from toolkit.models.checkpoints.own_systems import OwnChatModel, check_own, is_nameless

        if loader:
            raise ToolkitError(f"{spec.name} is an object of Python, and loaded by nothing else", "leave --loader out")
        check_own(spec, device=device, precision=precision, trust=trust_remote_code)
        stored = None if is_nameless(spec) else AnswerCache(cache or default_cache())
        return LLM(OwnChatModel(spec), cache=stored, replay=replay)
    loader = loader or spec.loader or "transformers"
    if loader not in LOADERS:
        raise ToolkitError(f"{spec.name} is loaded by {loader}, which cannot write texts here", f"known: {', '.join(LOADERS)}")
    asking = {"concurrency": concurrency, "retries": retries, "timeout": timeout}
    check_requests(**asking)
    if loader == "endpoint":
        model = spec.parameters.get("model") or spec.checkpoint
        if not model:
            raise ToolkitError(f"{spec.name} does not say what a server calls it", "add `model` to the parameters of its entry")
        make = partial(Endpoint, model, server=spec.server, tolerant=tolerant, **asking)
    else:
        from toolkit.models.llm.local import LocalModel

        how = {"device": device, "precision": precision, "batch_size": batch_size, "trust_remote_code": trust_remote_code}
        make = partial(LocalModel, spec, **how)
    return LLM(make(), cache=AnswerCache(cache or default_cache()), replay=replay, make=make)
