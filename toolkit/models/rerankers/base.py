"""What every pointwise reranker does: pairs into token ids, ids into batches of like length, batches into scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.vectors.batches import by_length, within_budget

Pair = tuple[Input, Input]

# what is tokenized, and sorted by length, together: this many pairs, or fewer of so many characters. A
# worker of a cluster is given so many, too: a model of 7B parameters takes a minute or two for them on a GPU
CHUNK, CHUNK_CHARACTERS = 1024, 1 << 24


class Row(NamedTuple):
    """One pair as it is sent.

    ids        token ids, special ones included
    types      which of the two texts a token is of, for models with token types; else empty
    truncated  whether something did not fit and was left out
    """

    ids: list[int]
    types: list[int]
    truncated: bool


class Window(NamedTuple):
    """What is shown at once.

    label     whose window it is, for messages (a query id)
    query     with its instruction
    passages  in the order of the moment, uncut
    """

    label: str
    query: str
    passages: tuple[str, ...]


class Reranker(ABC):
    """A pointwise reranker.

    spec       the system's entry: its templates say what the two texts of a pair are
    facts      what a run's record says of how it was run: device, precision, prompt
    truncated  how many of the pairs so far did not fit and were truncated, as far as that is known here
    tokenizes  who alone knows the tokens of a pair, where this does not
    """

    spec: SystemSpec
    facts: dict[str, Any]
    truncated: int = 0
    tokenizes: str = "server"

    @abstractmethod
    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """Positions of pairs with their scores, batch by batch, as they are made.

        done  positions whose scores are known: a batch of nothing else is left out, all other batches are what they would
              have been, so that a resumed run has the very scores of one that was not interrupted
        """

    def tokens(self, pair: Pair) -> list[int]:
        """The token ids that are sent for a pair; ToolkitError where only others know them."""
        raise ToolkitError(f"its tokens are the {self.tokenizes}'s")

    def score(self, pairs: Sequence[Pair]) -> np.ndarray:
        """The model's own score of each (query, document): (n,) float64, higher is better; empty for no pairs.

        The scores do not depend on the batches beyond what the order of additions changes (1e-5).
        """
        scores = np.empty(len(pairs))
        for positions, values in self.batches(pairs):
            scores[positions] = values
        return scores


class BatchedReranker(Reranker):
    """One that reads a pair as one sequence of tokens; batch_size: see `toolkit.models.vectors.batches`."""

    def __init__(self, spec: SystemSpec, *, batch_size: int, facts: dict[str, Any]):
        self.spec, self.facts, self._batch_size = spec, facts, batch_size

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker`; a batch's pairs are of nearly one length."""
        done = set(done)
        for chunk in chunks(pairs):
            rows = self.encode(pairs[chunk])
            self.truncated += sum(row.truncated for row in rows)
            for batch in by_length([len(row.ids) for row in rows], self._batch_size):
                positions = [chunk.start + place for place in batch]
                if not done.issuperset(positions):
                    yield positions, self.forward([rows[place] for place in batch])

    def tokens(self, pair: Pair) -> list[int]:
        """See `Reranker`."""
        return self.encode([pair])[0].ids

    @abstractmethod
    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs as they are sent, in their order."""

    @abstractmethod
    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """Their scores, (n,) float64, in one pass through the model."""


def chunks(pairs: Sequence[Pair]) -> Iterator[slice]:
    """Parts of the pairs that may be in memory as tokens at once; each has a pair at least."""
    return within_budget((len(query.whole) + len(document.whole) for query, document in pairs), CHUNK_CHARACTERS, CHUNK)


def sigmoid(values: np.ndarray) -> np.ndarray:
    """Of a difference of two logits: the softmax over the two. In 64 bits it tells apart what 32 round to 1."""
    with np.errstate(over="ignore"):  # exp of a large number is infinite, and the quotient 0
        return 1 / (1 + np.exp(-values))


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"identity": lambda values: values, "sigmoid": sigmoid}
