"""Scores from a server that reranks: vLLM, TEI, Jina, Cohere, Voyage and others, each in its own form."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from toolkit.core.specs import SystemSpec
from toolkit.models.rerankers.base import Pair, Reranker
from toolkit.models.servers.numbers import ServedModel, by_index, finite, listed

FLOAT64 = "<f8"


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
