"""Sequence classifiers over two texts: cross-encoders with one logit, and natural language inference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints import pretrained
from toolkit.models.rerankers.base import ACTIVATIONS, BatchedReranker, Pair, Row
from toolkit.models.rerankers.reranker_settings import CrossEncoderParameters
from toolkit.models.vectors.batches import inference
from toolkit.registry.system_kinds import parameters_as

CLASS = "entailment"


class CrossEncoder(BatchedReranker):
    """A sequence classifier with one label.

    A pair that is too long loses the end of the longer text, token by token, as sentence-transformers and `rerankers` do
    it; with a `query_share` the query is first truncated to that share of the length, and the rest is the document's, as
    FlagEmbedding does it.
    """

    def __init__(self, spec: SystemSpec, loaded: pretrained.Loaded, settings: CrossEncoderParameters, batch_size: int):
        self._loaded = loaded
        self._length = loaded.length(spec, settings.length)
        super().__init__(spec, batch_size=batch_size, facts={**loaded.facts, **settings.facts(length=self._length)})
        self._activation = ACTIVATIONS[settings.activation]
        self._query_share = settings.query_share

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs as the tokenizer joins them."""
        queries, documents = [query.whole for query, _ in pairs], [document.whole for _, document in pairs]
        truncation, whole = "longest_first", queries
        if self._query_share < 1:
            queries, truncation = self._truncated_queries(queries), "only_second"
        rows = _rows(self._loaded.tokenizer, queries, documents, self._length, truncation)
        whole = zip(rows, whole, queries, strict=True)
        return [row._replace(truncated=row.truncated or query != sent) for row, query, sent in whole]

    def _truncated_queries(self, queries: Sequence[str]) -> list[str]:
        longest = int(self._length * self._query_share)
        encoded = self._loaded.tokenizer(queries, add_special_tokens=False, return_offsets_mapping=True)
        return [
            query[: offsets[longest - 1][1]] if len(offsets) > longest else query
            for query, offsets in zip(queries, encoded["offset_mapping"], strict=True)
        ]

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """One logit a row, through the activation."""
        with inference():
            logits = self._loaded.model(**pretrained.padded(rows, self._loaded)).logits[:, 0]
        return self._activation(pretrained.as_scores(logits))


class Entailment(BatchedReranker):
    """A sequence classifier one of whose classes is called entailment; the share of that class among all of them.

    A pair that is too long loses the end of its longer text, token by token: of the document, as a rule.
    """

    def __init__(self, spec: SystemSpec, loaded: pretrained.Loaded, length: int, batch_size: int):
        super().__init__(spec, batch_size=batch_size, facts={})
        self._loaded, self._length = loaded, length
        labels = {str(label).lower(): number for number, label in loaded.model.config.id2label.items()}
        if CLASS not in labels:
            raise ToolkitError(f"{spec.name} has no class {CLASS}: it has {', '.join(labels)}", "see `positive` in its entry")
        self._class = int(labels[CLASS])

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """Premise and hypothesis as the tokenizer joins them."""
        premises, hypotheses = [document.whole for _, document in pairs], [statement.whole for statement, _ in pairs]
        return _rows(self._loaded.tokenizer, premises, hypotheses, self._length)

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The softmax's share of the class."""
        with inference():
            logits = self._loaded.model(**pretrained.padded(rows, self._loaded)).logits
        return pretrained.as_scores(logits.double().softmax(-1)[:, self._class])


def _rows(
    tokenizer: Any, first: Sequence[str], second: Sequence[str], length: int, truncation: str = "longest_first"
) -> list[Row]:
    encoded = tokenizer(first, second, truncation=truncation, max_length=length, return_attention_mask=False)
    types = encoded.get("token_type_ids") or [[]] * len(first)
    lost = (bool(row.overflowing) for row in encoded.encodings)
    return [Row(*row) for row in zip(encoded["input_ids"], types, lost, strict=True)]


def load(spec: SystemSpec, *, batch_size: int, **where: Any) -> CrossEncoder:
    """The cross-encoder of a system's entry; ToolkitError where the checkpoint has not one label."""
    settings = parameters_as(CrossEncoderParameters, spec)
    loaded = pretrained.load("AutoModelForSequenceClassification", spec, what="cross-encoder", **where)
    if loaded.model.config.num_labels != 1:
        labels = loaded.model.config.num_labels
        raise ToolkitError(f"{spec.name} has {labels} labels: a cross-encoder has one", "see --kind")
    return CrossEncoder(spec, loaded, settings, batch_size)
