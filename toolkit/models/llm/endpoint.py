"""Any server that speaks OpenAI's chat completions: hosted models, vLLM, Ollama, llama.cpp."""

import threading
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ServerSpec
from toolkit.models.llm.estimate import Estimate
from toolkit.models.llm.messages import Answer, Request
from toolkit.models.servers.client import MANY, SHOWN, Client, Unanswered, count_of, server_of, unanswered

REFUSALS = ("refusal", "content_filter")  # how an answer ends that is none


class Endpoint(Estimate):
    """One model at one address, see `toolkit.models.servers.client.Client`.

    model      as the server calls it
    base_url   instead of OPENAI_BASE_URL, with the same key; `server` is what an entry says, which comes first
    tolerant   go on where single requests get no answer (all attempts failed, or the server or its model refuses just this
               one): their `Answer` says why in `error`. What concerns them all (the key, the address) ends it as ever, and
               so do as many failures in a row as three times the requests at the same time
    how        `concurrency`, `retries`, `timeout`
    """

    here, origin = True, MappingProxyType({})

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        server: ServerSpec | None = None,
        tolerant: bool = False,
        **how: Any,
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
            return self._read(body, url, retries)

        answer = self.client.ask(url, "chat/completions", body, read, stop, what="chat completion")
        if self.tolerant and answer.finish in REFUSALS:
            raise unanswered(url, f"the model refuses to answer ({answer.finish})", "the request is recorded as unanswered")
        self._in_a_row = 0
        return answer

    def _read(self, body: Any, url: str, retries: int) -> Answer:
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
