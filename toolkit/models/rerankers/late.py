"""Late interaction as a reranker: a vector a token, the best match of each query token, summed (see
`toolkit.models.vectors.late`).
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.computing import precision_of
from toolkit.models.encoders import load_encoder
from toolkit.models.encoders.sentence_transformers_adapter import MultiVectorEncoder
from toolkit.models.rerankers.base import Pair, Reranker
from toolkit.models.vectors.late import maxsim

ENCODED = 1024  # pairs whose documents' vectors are in memory together


class LateInteraction(Reranker):
    """MaxSim of a multivector encoder. `tokens` has the query's ids, then the document's: they are encoded apart."""

    def __init__(self, spec: SystemSpec, encoder: MultiVectorEncoder, facts: dict[str, Any]):
        self.spec, self.facts, self._encoder = spec, facts, encoder

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker.batches`; here a batch is some pairs that follow each other, each text of them encoded once."""
        done = set(done)
        for start in range(0, len(pairs), ENCODED):
            positions = list(range(start, min(start + ENCODED, len(pairs))))
            if not done.issuperset(positions):
                queries = self._vectors([pairs[position][0] for position in positions], "query")
                documents = self._vectors([pairs[position][1] for position in positions], "passage")
                of_query: dict[Input, list[int]] = {}
                for place, position in enumerate(positions):
                    of_query.setdefault(pairs[position][0], []).append(place)
                scores = np.empty(len(positions))
                for query, places in of_query.items():
                    scores[places] = maxsim(queries[query], [documents[pairs[start + place][1]] for place in places])
                yield positions, scores

    def _vectors(self, texts: Sequence[Input], side: str) -> dict[Input, np.ndarray]:
        different = list(dict.fromkeys(texts))
        return dict(zip(different, self._encoder.encode(different, side), strict=True))

    @property
    def truncated(self) -> int:
        """How many texts (queries and documents, not pairs) were truncated so far."""
        return sum(self._encoder.truncated.values())

    def tokens(self, pair: Pair) -> list[int]:
        """The token ids of the query, then those of the document."""
        query, document = pair
        return [*self._encoder.token_ids(query, "query"), *self._encoder.token_ids(document, "passage")]


def load(spec: SystemSpec, *, batch_size: int, **where: Any) -> LateInteraction:
    """The multivector system of an entry, as a reranker."""
    encoder = load_encoder(spec, batch_size=batch_size, **where)
    weights = next(encoder.model.parameters())
    facts = {**encoder.origin, "device": weights.device.type, "precision": precision_of(weights.dtype)}
    return LateInteraction(spec, encoder, facts)
