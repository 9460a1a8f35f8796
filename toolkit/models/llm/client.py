"""A language model behind a cache: what was answered once is not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.models.llm.cache import AnswerCache
from toolkit.models.llm.messages import Answer, Backend, Request, Usage


class LLM:
    """A backend behind its cache.

    cache   None asks each time
    replay  take every answer from the cache and ask nothing: what was published with its cache is reproduced exactly
    """

    def __init__(self, backend: Backend, *, cache: AnswerCache | None = None, replay: bool = False):
        self.backend, self.cache, self.replay = backend, cache, replay
        self.usage = Usage()

    @property
    def model(self) -> str:
        """The model's name, as it is asked for."""
        return self.backend.facts["model"]

    def facts(self) -> dict[str, Any]:
        """What enters every key, for records."""
        return dict(self.backend.facts)

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked: no server is named, no chat template is known. Asks nothing.

        In replay, where the checkpoint would have to be downloaded, whose tokenizer says how much of each text was sent.
        """
        if not self.replay:
            self.backend.check()
        elif not self.backend.here:
            hint = "HF_HUB_OFFLINE=1 takes the commit that is here, where none is pinned; or run without replay"
            raise ToolkitError("replay asks no hub for a checkpoint, and this one is not settled here", hint, status=1)

    def complete(self, requests: Sequence[Request], advance: Callable[[int], None] = lambda n: None) -> list[Answer]:
        """The answers in the order of the requests; each is in the cache as soon as it came.

        One with an `error`, of a backend that tolerates that, is not cached.

        advance  called with how many more answers there are, for a caller that shows progress

        Raises ToolkitError where one cannot be had: those that came are cached. In replay, that is the first miss.
        """
        keys = [request.key(self.backend.facts) for request in requests]
        wanted = Counter(keys)
        answered = {key: answer for key in wanted if (answer := self._cached(key))}
        cached = sum(wanted[key] for key in answered)
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in answered}
        if missing and self.replay:
            place = self.cache.path if self.cache else "any cache"
            message = f"{len(missing)} of {len(requests)} answers of {self.model} are not in {place}"
            raise ToolkitError(message, "replay asks nothing: run without it, or put the published answers there", status=1)
        self.usage.requests += len(requests)
        self.usage.cached += cached
        advance(cached)
        for key, answer in self._ask(missing):
            answered[key] = answer
            advance(wanted[key])
        answers = [answered[key] for key in keys]
        for answer in (answer for answer in answers if not answer.error):
            self.usage.cut += answer.finish == "length"
            self.usage.models[answer.model] += 1
            self.usage.servers.update([answer.server] if answer.server else [])
        return answers

    def peek(self, request: Request) -> Answer | None:
        """The answer, if it is in the cache; asks nothing and counts nothing."""
        return self._cached(request.key(self.backend.facts))

    def _cached(self, key: str) -> Answer | None:
        return self.cache.get(key) if self.cache else None

    def _ask(self, missing: Mapping[str, Request]) -> Iterator[tuple[str, Answer]]:
        keys = list(missing)
        for position, answer in self.backend.answers(list(missing.values())) if missing else ():
            stored = self.cache.put(keys[position], answer) if self.cache and not answer.error else answer
            self.usage.asked += 1
            self.usage.failed += bool(answer.error)
            self.usage.retries += answer.retries
            self.usage.prompt_tokens += answer.prompt_tokens
            self.usage.completion_tokens += answer.completion_tokens
            yield keys[position], stored
