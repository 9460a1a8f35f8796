"""Encoders and rerankers behind a server, each in the server's own form.

Vectors: OpenAI's API of embeddings, which vLLM, TEI and Ollama speak too, and those of others. Scores: vLLM, TEI, Jina, Cohere,
Voyage and others.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
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
        """As `Encoder.encode`; equal texts are asked for once, texts of one instruction together."""
        unique = {each: place for place, each in enumerate(dict.fromkeys(map(_sent, inputs)))}
        vectors = np.empty((len(unique), self.dimension), np.float32)
        for texts, body in self._requests(inputs, side):
            where = np.array([unique[each] for each in texts], int)
            for places, rows in self._results([text for text, _ in texts], body, self.dimension):
                vectors[where[places]] = rows
        if self.similarity == "cos":
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=TINY)
        return vectors[[unique[_sent(each)] for each in inputs]]

    def request(self, inputs: Sequence[Input], side: str) -> dict[str, Any]:
        """What is sent for texts of one instruction."""
        body = self.served.instructed(self._body(side), inputs[0].instruction)
        return {**body, self.served.form.texts: [each.whole for each in inputs]}

    def _requests(self, inputs: Sequence[Input], side: str) -> Iterator[tuple[list[tuple[str, str]], dict[str, Any]]]:
        """(text, instruction) of different inputs, those of one instruction together, each with its request."""
        by_instruction: dict[str, list[tuple[str, str]]] = {}
        for each in dict.fromkeys(map(_sent, inputs)):
            by_instruction.setdefault(each[1], []).append(each)
        body = self._body(side)
        for instruction, texts in by_instruction.items():
            yield texts, self.served.instructed(body, instruction)

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
        planned: Counter[str] = Counter()
        for sent, body in self._requests(inputs, side):
            texts = [text for text, _ in sent]
            keys, batches = [self.served.key(body, text) for text in texts], partial(self.served.batches, texts=texts)
            planned.update(self.served.plan(keys, [(text,) for text in texts], batches))
        return dict(planned)

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


def _sent(input: Input) -> tuple[str, str]:
    return input.whole, input.instruction


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

        def read(answer: Any, count: int) -> list[float]:
            form = self.served.form
            scores = listed(answer, form.results, count)
            return list(finite(by_index(scores, form.score) if form.score else scores, FLOAT64))

        def body(places: Sequence[int]) -> dict[str, Any]:
            return self.request([pairs[place] for place in places])

        what = "list with a finite score for each document"
        for places, values in self.served.results(keys, lambda places: self._requests(places, texts), body, read, what):
            yield places, np.array([value.item() for value in values])

    def request(self, pairs: Sequence[Pair]) -> dict[str, Any]:
        """What is sent for one query and some of its documents."""
        form, (query, _) = self.served.form, pairs[0]
        documents = [{form.wrapped: document.whole} if form.wrapped else document.whole for _, document in pairs]
        asked = {form.query: [query.whole] * len(pairs) if form.repeated else query.whole}
        return self.served.instructed(self.served.body(**asked) | {form.documents: documents}, query.instruction)

    def plan(self, pairs: Sequence[Pair]) -> dict[str, int]:
        """What scoring would ask; asks nothing."""
        keys, texts = self._keys(pairs)
        return self.served.plan(keys, texts, lambda places: self._requests(places, texts))

    def _keys(self, pairs: Sequence[Pair]) -> tuple[list[bytes], list[tuple[str, str, str]]]:
        body = self.served.body()
        texts = [(query.whole, document.whole, query.instruction) for query, document in pairs]
        return [self.served.key(self.served.instructed(body, each[2]), *each[:2]) for each in texts], texts

    def _requests(self, places: Sequence[int], texts: Sequence[tuple[str, str, str]]) -> list[list[int]]:
        """Places of one query and instruction each, in requests that are small enough."""
        by_query: dict[tuple[str, str], list[int]] = {}
        for place in places:
            by_query.setdefault(texts[place][::2], []).append(place)
        joined = ["".join(each) for each in texts]  # the server reads the query with every document
        return [request for group in by_query.values() for request in self.served.batches(group, joined)]
