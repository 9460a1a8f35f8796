"""What a language model is asked and what it answers: the same for a server and for a model on this machine."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

TOGETHER = 128  # requests that a model of this machine sorts by length into batches, whoever computes them
SAMPLING = ("temperature", "top_k", "top_p", "seed")  # options of a request that say how its answer is drawn
Message = dict[str, str]  # {"role": "system", "user" or "assistant", "content": text}


class Request(NamedTuple):
    """One chat to be continued.

    messages  the chat so far
    options   as the API calls them: `max_tokens`, `temperature`, `top_p`, `seed`, ...
    """

    messages: Sequence[Message]
    options: Mapping[str, Any]

    def key(self, facts: Mapping[str, Any]) -> str:
        """SHA-256 over all that shapes the answer: the model's facts, the messages, the options.

        The server's address is not part of it: a model served on a cluster has another one each day, and a killed run must
        find its answers again. Where an answer came from is cached beside it and reported in `Usage`.
        """
        body = {**self.options, **facts, "messages": list(self.messages)}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Answer:
    """One answer.

    text               empty where the model said nothing
    finish             why it stopped: `stop`, `length` (truncated at max_tokens), or the server's own word
    model              what the server says answered (`gpt-4o-2024-08-06`), or the checkpoint
    server             scheme, host and port; empty for a model on this machine
    prompt_tokens, completion_tokens   as the server counts; 0 where it does not say
    retries            how many requests failed before
    error              why there is no answer, where a backend tolerates that; such a one is never cached
    """

    text: str
    finish: str = "stop"
    model: str = ""
    server: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0
    error: str = ""

    @property
    def whole(self) -> str:
        """The text of a whole answer; ValueError for one that is truncated or was never given."""
        if self.error:
            raise ValueError(self.error)
        if self.finish == "length":
            raise ValueError("the answer was truncated at max_tokens")
        return self.text


class Counted:
    """Counts that a record may have."""

    def facts(self) -> dict[str, Any]:
        """Plain numbers and mappings."""
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}


@dataclass
class Usage(Counted):
    """What was asked and what it took, over all calls.

    requests           how many answers were wanted
    cached             of these, already in the cache
    asked              sent to the model: equal requests of one call are sent once
    retries            attempts that failed and were repeated
    failed             unanswered after all retries; a later call asks them again
    cut                answers, cached ones too, that reached max_tokens
    prompt_tokens, completion_tokens   of what was asked, as the server counts them
    models, servers    who answered, cached answers too -> how many of the answers
    """

    requests: int = 0
    cached: int = 0
    asked: int = 0
    retries: int = 0
    failed: int = 0
    cut: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    models: Counter[str] = field(default_factory=Counter)
    servers: Counter[str] = field(default_factory=Counter)


class Backend(Protocol):
    """What answers.

    facts  what enters the key of every request beside the request itself, `model` among it
    here   whether facts and token counts are known without downloading anything
    origin  `commits` and digest of the weights, where some were loaded
    """

    facts: Mapping[str, Any]
    here: bool
    origin: Mapping[str, Any]

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked; asks nothing."""

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, answer) as they come; ToolkitError, after those that came, where one cannot be had."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat as the model reads it."""

    def count_text(self, text: str) -> int:
        """Tokens of a text that the model writes."""


def together(requests: Sequence[Request], answer: Callable[[Sequence[Request]], Iterable[tuple[int, Answer]]]) -> Iterator:
    """(position, answer) of TOGETHER requests after the other: batches do not depend on how many there are."""
    for start in range(0, len(requests), TOGETHER):
        for position, given in answer(requests[start : start + TOGETHER]):
            yield start + position, given
