"""Numbers that a server computes, vectors and scores: asked for in batches, checked, and cached with who computed them."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home
from toolkit.core.system.yaml_json import decode_json
from toolkit.files.store.keyed_cache import KeyedCache, key_of
from toolkit.models.llm.estimate import estimate_tokens
from toolkit.models.llm.messages import Counted
from toolkit.models.servers.client import Client, TooLarge, count_of, server_of
from toolkit.models.vectors.batches import within_budget
from toolkit.registry.server_forms import DEFAULT, api

# of a request, by an estimate that errs upwards, where an entry says nothing: hosted servers take 120,000 and more
TOKENS = 100_000
MOST = 1 << 26  # bytes of an answer: a component of a vector is some 20 characters


class Numbers(NamedTuple):
    """What a server computed of one input. model: what it says computed it; server: scheme, host and port."""

    values: np.ndarray
    model: str
    server: str


@dataclass
class Usage(Counted):
    """What was asked and what it took.

    inputs    how many results were wanted; `cached` of these were in the cache
    requests  answered; `retries` failed before and were repeated
    tokens    as the server counts; 0 where it does not say
    models, servers   who computed the results, cached ones too -> how many of them
    """

    inputs: int = 0
    cached: int = 0
    requests: int = 0
    retries: int = 0
    tokens: int = 0
    models: Counter[str] = field(default_factory=Counter)
    servers: Counter[str] = field(default_factory=Counter)


class ServedModel:
    """A model behind a server that computes numbers, with a cache of what it computed.

    asked       `embeddings` or `rerank`: which of the server's forms is meant
    dtype       of the numbers, in the cache too
    batch_size  the most inputs of a request, in place of the entry's
    replay      take every result from the cache (in TANDEM_HOME where no file is named), ask nothing

    What was computed is found again by the model's name and all that the server is sent, not by its address: a model served on
    a cluster has another one each day.
    """

    def __init__(
        self,
        spec: SystemSpec,
        asked: str,
        dtype: str,
        *,
        batch_size: int | None = None,
        cache: Path | None = None,
        replay: bool = False,
        **asking: Any,
    ):
        check_counts(batch_size=batch_size)
        self.spec, self.api = spec, api(spec.server.get("api", DEFAULT))
        self.form: Any = getattr(self.api, asked)
        if self.form is None:
            raise ToolkitError(f"api {self.api.name} has no {asked}", "see toolkit/registry/server-forms.yaml")
        self.model: str = spec.parameters.get("model") or spec.checkpoint
        how = {"home": self.api.home, "key": self.api.key, "headers": self.api.headers}
        self.client = Client(self.model, spec.server, authorization=self.api.authorization, **how, **asking)
        self.most: int = batch_size or spec.server.get("texts") or self.form.most
        self.tokens: int = spec.server.get("tokens") or TOKENS
        self.replay, self.usage, self._dtype, self._lock = replay, Usage(), np.dtype(dtype), threading.Lock()
        name = {"embeddings": "vectors", "rerank": "scores"}[asked]
        self._cache = KeyedCache(cache or home() / "llm" / f"{name}.sqlite", name)

    def body(self, **more: Any) -> dict[str, Any]:
        """A request but for its inputs: what shapes every result."""
        named = {self.form.model: self.model} if self.form.model else {}
        return {**named, **self.form.options, **more, **self.spec.parameters.get("options", {})}

    def instructed(self, body: Mapping[str, Any], instruction: str) -> dict[str, Any]:
        """A request with the instruction in its field; without one as it was."""
        if not instruction:
            return dict(body)
        *outer, name = self.form.instruction.split(".")
        made = inner = dict(body)
        for key in outer:
            inner[key] = inner = dict(inner.get(key, {}))
        inner[name] = instruction
        return made

    def key(self, body: Mapping[str, Any], *texts: str) -> bytes:
        """Of the result of one input."""
        return key_of({"model": self.model, "body": dict(body), "texts": texts})

    def batches(self, places: Sequence[int], texts: Sequence[str]) -> list[list[int]]:
        """Neighbouring places in requests of at most as many inputs, and about as many tokens, as the server takes."""
        sizes = [estimate_tokens(texts[place]) for place in places]
        return [list(places[part]) for part in within_budget(sizes, self.tokens, self.most)]

    def results(
        self,
        keys: Sequence[bytes],
        batches: Callable[[Sequence[int]], list[list[int]]],
        body: Callable[[Sequence[int]], Mapping[str, Any]],
        read: Callable[[Any, int], Sequence[np.ndarray]],
        what: str,
    ) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """(places of `keys`, their results): first what is cached, then answer by answer, each in the cache when it is yielded.

        `batches` divides places that are not cached into requests, `body` makes one, `read` the results of so many inputs of
        its answer. A request that is too large for the server is asked for in halves. Raises ToolkitError where a result cannot
        be had: those that came are cached. In replay that is the first miss.
        """
        known = self._cache.get(keys, self._numbers)
        places = [place for place, key in enumerate(keys) if key in known]
        missing = [place for place, key in enumerate(keys) if key not in known]
        if missing and self.replay:
            message = f"{len(missing):,} of {len(keys):,} {self._cache.what} of {self.model} are not in {self._cache.path}"
            raise ToolkitError(message, "--replay sends no requests: run without it, or put the published ones there", status=1)
        self.usage.inputs += len(keys)
        self.usage.cached += len(places)
        if places:
            yield places, self._counted([known[keys[place]] for place in places])
        waiting = batches(missing)
        while waiting:
            smaller: list[list[int]] = []
            for number, found in self.client.each(waiting, self._asker(body, read, what)):
                batch = waiting[number]
                if not found:
                    self.most = min(self.most, -(-len(batch) // 2))
                    smaller += [batch[: self.most], batch[self.most :]]
                    continue
                self._cache.put({keys[place]: _blob(one) for place, one in zip(batch, found, strict=True)})
                # what another process wrote first stays: the results of both are what the cache says
                stored = self._cache.get([keys[place] for place in batch], self._numbers)
                yield batch, self._counted([stored[keys[place]] for place in batch])
            waiting = smaller

    def plan(
        self, keys: Sequence[bytes], texts: Sequence[Sequence[str]], batches: Callable[[Sequence[int]], list[list[int]]]
    ) -> dict[str, int]:
        """What `results` would ask: `different` inputs, how many of these are `cached`, `requests` and their `tokens`.

        texts  of each input
        """
        known = self._cache.get(keys)
        missing = [place for place, key in enumerate(keys) if key not in known]
        tokens = sum(estimate_tokens(text) for place in missing for text in texts[place])
        return {"different": len(keys), "cached": len(known), "requests": len(batches(missing)), "tokens": tokens}

    @property
    def place(self) -> str:
        """The server's address without what may be secret, in words where nothing names it."""
        try:
            return server_of(self.client.address())
        except ToolkitError as error:
            return f"a server ({error.message})"

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked; asks nothing."""
        if not self.replay:
            self.client.address()

    def facts(self) -> dict[str, Any]:
        """For records: what was asked and who answered; its address without user, password, path and query."""
        return {"model": self.model, "api": self.api.name, "usage": self.usage.facts()}

    def _asker(self, body: Callable, read: Callable, what: str) -> Callable[[str, list[int], threading.Event], list[Numbers]]:
        def ask(url: str, batch: list[int], stop: threading.Event) -> list[Numbers]:
            """The results of a batch; none where it is too large and can be smaller."""

            def checked(answer: Any, tried: int) -> tuple[list[Numbers], int, int]:
                who = self.client.name_of_model(answer, url), server_of(url)
                made = [Numbers(np.asarray(values, self._dtype), *who) for values in read(answer, len(batch))]
                tokens = 0
                with suppress(LookupError, TypeError):
                    tokens = count_of(at(answer, self.form.tokens)) if self.form.tokens else 0
                return made, tried, tokens

            path = self.form.path.replace("{model}", quote(self.model, safe="/"))
            place, path = (url.removesuffix("/v1"), path[3:]) if path.startswith("../") else (url, path)
            try:
                made, tried, tokens = self.client.ask(place, path, body(batch), checked, stop, what=what, most=MOST)
            except TooLarge:
                if len(batch) == 1:
                    raise
                return []
            with self._lock:
                self.usage.requests += 1
                self.usage.retries += tried
                self.usage.tokens += tokens
            return made

        return ask

    def _counted(self, found: Sequence[Numbers]) -> list[np.ndarray]:
        for one in found:
            self.usage.models.update([one.model] if one.model else [])
            self.usage.servers[one.server] += 1
        return [one.values for one in found]

    def _numbers(self, blob: bytes) -> Numbers:
        """What `_blob` made. ValueError, TypeError or KeyError for anything else."""
        head, _, values = blob.partition(b"\n")
        who = decode_json(head.decode())
        return Numbers(np.frombuffer(values, self._dtype), str(who["model"]), str(who["server"]))


def _blob(one: Numbers) -> bytes:
    return json.dumps({"model": one.model, "server": one.server}).encode() + b"\n" + one.values.tobytes()


def at(body: Any, path: str) -> Any:
    """What an answer has under names joined by `.`; all of it for none. TypeError or LookupError where it has not."""
    for name in filter(None, path.split(".")):
        if not isinstance(body, dict):
            raise TypeError(type(body))
        body = body[name]
    return body


def listed(body: Any, path: str, count: int) -> list[Any]:
    """A list of so many; ValueError for anything else."""
    rows = at(body, path)
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError(f"not {count}")
    return rows


def by_index(rows: Sequence[Any], value: str) -> list[Any]:
    """The `value` of rows that say which input they belong to, in the inputs' order; each input has exactly one."""
    found: dict[int, Any] = {}
    for row in rows:
        index = row["index"]
        if type(index) is not int or not 0 <= index < len(rows) or index in found:
            raise ValueError(f"index {index}")
        found[index] = row[value]
    return [found[index] for index in range(len(rows))]


def finite(values: Any, dtype: str, count: int | None = None) -> np.ndarray:
    """A list of finite numbers, so many where that is known, as an array; ValueError for anything else."""
    if not isinstance(values, list) or not values or (count is not None and len(values) != count):
        raise ValueError("another length")
    if not all(type(value) in (int, float) for value in values):
        raise ValueError("no numbers")
    with np.errstate(over="ignore"):
        array = np.array(values, np.float64).astype(dtype)
    if not np.isfinite(array).all():
        raise ValueError("not finite")
    return array
