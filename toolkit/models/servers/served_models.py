"""Encoders and rerankers behind a server, each in the server's own form.

Vectors: OpenAI's API of embeddings, which vLLM, TEI and Ollama speak too, and those of others. Scores: vLLM, TEI, Jina, Cohere,
Voyage and others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.encoders.base import SIDES
from toolkit.models.rerankers.base import Pair, Reranker
from toolkit.models.servers.numbers import ServedModel, by_index, finite, listed

PROBES = ("a", "b", "c", "d", "e")  # texts whose vectors tell a model's dimension: the first length that two of them have
TINY = 1e-12  # a zero vector stays one
FLOAT32, FLOAT64 = "<f4", "<f8"


class ServedEncoder:
    """An `Encoder` behind a server; see `ServedModel` for what it takes.

    Vectors are cached as the server sends them, in float32; of similarity `cos` they are then made unit length here. What the
    server truncates it does not say: `truncated` counts nothing.
    """

    def __init__(self, spec: SystemSpec, **how: Any):
        self.spec, self.served = spec, ServedModel(spec, "embeddings", FLOAT32, **how)
        self.similarity: str = spec.parameters.get("similarity", "cos")
        self.precision, self.origin = "", {}  # which dtype and which weights, only the server knows
        self.truncated, self.lost = dict.fromkeys(SIDES, 0), 0

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """As `Encoder.encode`; equal texts are asked for once."""
        unique = {each: place for place, each in enumerate(dict.fromkeys(each.whole for each in inputs))}
        texts, vectors = list(unique), np.empty((len(unique), self.dimension), np.float32)
        for places, rows in self._results(texts, self._body(side), self.dimension):
            vectors[places] = rows
        if self.similarity == "cos":
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=TINY)
        return vectors[[unique[each.whole] for each in inputs]]

    @cached_property
    def dimension(self) -> int:
        """What the entry asks for; otherwise the length that the vectors of two texts have, which is asked once and cached."""
        if stated := self.spec.parameters.get("dimension"):
            return stated
        body, lengths = self._body("passage"), []
        for probe in PROBES:
            lengths += self._length(probe, body)
            if lengths.count(lengths[-1]) == 2:
                return lengths[-1]
        message = f"{self.served.place}: vectors of {', '.join(map(str, lengths))} components for one text each"
        raise ToolkitError(message, "is it a server of embeddings? an entry can say the `dimension`", status=1)

    def _length(self, probe: str, body: Mapping[str, Any]) -> list[int]:
        """The length of one text's vector, as a list of one."""
        served = self.served
        found = served.results(
            [served.key(body, "dimension", probe)],
            lambda places: [[place] for place in places],
            lambda places: {**body, served.form.texts: [probe]},
            lambda answer, count: [np.array([len(vector)]) for vector in self._vectors(answer, count, None)],
            "vector of finite numbers",
        )
        return [int(values[0]) for _, rows in found for values in rows]

    def token_ids(self, input: Input, side: str) -> list[int]:
        """Only the server knows them."""
        raise ToolkitError("its tokens are the server's")

    def plan(self, inputs: Sequence[Input], side: str) -> dict[str, int]:
        """What encoding would ask: `different` texts, how many of these are `cached`, `requests` and their `tokens`."""
        texts, body = list(dict.fromkeys(each.whole for each in inputs)), self._body(side)
        keys = [self.served.key(body, text) for text in texts]
        return self.served.plan(keys, [(text,) for text in texts], lambda places: self.served.batches(places, texts))

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked."""
        self.served.check()

    def facts(self) -> dict[str, Any]:
        """For records: the model, who computed its vectors, and what that took."""
        return self.served.facts()

    def _body(self, side: str) -> dict[str, Any]:
        form, parameters = self.served.form, self.spec.parameters
        stated = {form.dimension: parameters["dimension"]} if "dimension" in parameters else {}
        return self.served.body(**getattr(form, f"{side}_options"), **stated) | parameters.get(f"{side}_options", {})

    def _results(self, texts: Sequence[str], body: Mapping[str, Any], dimension: int) -> Any:
        served = self.served
        return served.results(
            [served.key(body, text) for text in texts],
            lambda places: served.batches(places, texts),
            lambda places: {**body, served.form.texts: [texts[place] for place in places]},
            lambda answer, count: self._vectors(answer, count, dimension),
            f"list of vectors of {dimension} finite numbers",
        )

    def _vectors(self, answer: Any, count: int, dimension: int | None) -> list[np.ndarray]:
        """One finite vector a text; see `Client.ask` for what is raised otherwise."""
        rows = listed(answer, self.served.form.vectors, count)
        rows = by_index(rows, "embedding") if self.served.form.indexed else rows
        return [finite(row, FLOAT32, dimension) for row in rows]


class ServedReranker(Reranker):
    """A reranker behind a server; see `ServedModel` for what it takes. A request is one query with several of its documents.

    What the server truncates it does not say: `truncated` counts nothing.
    """

    def __init__(self, spec: SystemSpec, **how: Any):
        self.spec, self.served = spec, ServedModel(spec, "rerank", FLOAT64, **how)

    @property
    def facts(self) -> dict[str, Any]:
        """The model, who computed its scores, and what that took so far."""
        return self.served.facts()

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked."""
        self.served.check()

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker`; first those that are cached, then request by request as answers come. All are yielded."""
        keys, texts = self._keys(pairs)

        def body(places: Sequence[int]) -> dict[str, Any]:
            documents = [texts[place][1] for place in places]
            if wrapped := self.served.form.wrapped:
                documents = [{wrapped: document} for document in documents]
            return self.served.body(query=texts[places[0]][0]) | {self.served.form.documents: documents}

        def read(answer: Any, count: int) -> list[float]:
            scores = by_index(listed(answer, self.served.form.results, count), self.served.form.score)
            return list(finite(scores, FLOAT64))

        what = "list with a finite score for each document"
        for places, values in self.served.results(keys, lambda places: self._requests(places, texts), body, read, what):
            yield places, np.array([value.item() for value in values])

    def plan(self, pairs: Sequence[Pair]) -> dict[str, int]:
        """What scoring would ask; asks nothing."""
        keys, texts = self._keys(pairs)
        return self.served.plan(keys, texts, lambda places: self._requests(places, texts))

    def _keys(self, pairs: Sequence[Pair]) -> tuple[list[bytes], list[tuple[str, str]]]:
        body = self.served.body()
        texts = [(query.whole, document.whole) for query, document in pairs]
        return [self.served.key(body, *pair) for pair in texts], texts

    def _requests(self, places: Sequence[int], texts: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Places of one query each, in requests that are small enough."""
        by_query: dict[str, list[int]] = {}
        for place in places:
            by_query.setdefault(texts[place][0], []).append(place)
        joined = [query + document for query, document in texts]  # the server reads the query with every document
        return [request for group in by_query.values() for request in self.served.batches(group, joined)]
