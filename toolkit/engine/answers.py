"""Answers of language models by workers: the requests of a call are divided, the answers go into the one cache that asked.

Prompts, repairs and counts stay where they are: a worker has the model alone, or asks the server with its node's own key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.engine.units import Executor, LocalExecutor, ModelWork, units_of
from toolkit.models.llm import LLM, Answer, Request
from toolkit.models.llm.messages import TOGETHER, Backend


@dataclass
class AnswerRequests(ModelWork[Sequence[Request], list[Answer]]):
    """Requests to answers; a unit is as many requests as a model of this machine sorts into batches together.

    make       makes the backend, as it was made here
    origin     of the weights that answered, once they have
    truncated  inputs that workers truncated
    """

    LOADED = ("backend",)
    MODEL = "backend"

    name: str
    make: partial[Backend]
    backend: Backend | None = None
    origin: dict[str, Any] = field(default_factory=dict)
    truncated: int = 0

    def _load(self) -> Backend:
        if self.backend is None:
            self.backend = self.make()
            self.backend.check()
        return self.backend

    def facts(self) -> dict[str, Any]:
        """What enters the key of every answer."""
        return dict(self._load().facts)

    def loads(self) -> Any:
        """See `Work`."""
        return self.make.func, self.make.args, self.make.keywords

    def identity(self) -> dict[str, Any]:
        """Nothing else."""
        return {}

    def pack(self, unit: Sequence[Request]) -> list[Any]:
        """Messages and options."""
        return [[list(map(dict, request.messages)), dict(request.options)] for request in unit]

    def compute(self, packed: Any) -> dict[str, Any]:
        """The answers in the order of the requests, where the weights are from, and how many inputs were truncated."""
        backend, requests = self._load(), [Request(messages, options) for messages, options in packed]
        before = getattr(backend, "truncated", 0)
        answers = {position: asdict(answer) for position, answer in backend.answers(requests)}
        truncated = getattr(backend, "truncated", 0) - before
        in_order = [answers[position] for position in range(len(requests))]
        return {"answers": in_order, "origin": dict(backend.origin), "truncated": truncated}

    def result(self, packed: Any) -> list[Answer]:
        """See `Work`."""
        self.origin.update(packed["origin"])
        self.truncated += packed["truncated"]
        return [Answer(**answer) for answer in packed["answers"]]

    @property
    def spec(self) -> SystemSpec | None:
        """What a worker loads; None for a model of a server."""
        [first, *_] = self.make.args
        return first if isinstance(first, SystemSpec) else None

    @property
    def loading(self) -> Mapping[str, Any]:
        """See `ModelWork`."""
        return self.make.keywords


class DividedBackend:
    """A backend whose answers workers give; what it knows without weights it is asked itself."""

    def __init__(self, backend: Backend, work: AnswerRequests, executor: Executor):
        self._backend, self._work, self._executor = backend, work, executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    @property
    def origin(self) -> Mapping[str, Any]:
        """Of the workers' weights."""
        return self._work.origin

    @property
    def truncated(self) -> int:
        """By the workers."""
        return self._work.truncated

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """See `Backend`."""
        units = self._executor.map(self._work, units_of(list(requests), TOGETHER))
        yield from enumerate(answer for unit in units for answer in unit)


def divide_answers(model: Any, executor: Executor) -> None:
    """Let workers answer what a ranker, judge or expander asks its language model.

    Raises ToolkitError for one without a language model, or with an object of this process.
    """
    if isinstance(executor, LocalExecutor):
        return
    llm: LLM | None = getattr(model, "llm", None)
    if llm is None or llm.make is None:
        raise ToolkitError(f"{model.spec.name} is an object of this process, which workers do not have", "leave --engine out")
    if not llm.replay:
        llm.backend = DividedBackend(llm.backend, AnswerRequests(f"asking {llm.model}", llm.make), executor)
