"""Classifiers of natural language inference: does the document, as premise, entail the statement?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.batches import inference
from toolkit.models.rerankers import loading
from toolkit.models.rerankers.base import BatchedReranker, Pair, Row

CLASS = "entailment"


class Entailment(BatchedReranker):
    """A sequence classifier one of whose classes is called entailment; the share of that class among all of them.

    A pair that is too long loses the end of its longer text, token by token: of the document, as a rule.
    """

    def __init__(self, spec: SystemSpec, loaded: loading.Loaded, length: int, batch_size: int):
        super().__init__(spec, batch_size=batch_size, facts={})
        self._loaded, self._length = loaded, length
        labels = {str(label).lower(): number for number, label in loaded.model.config.id2label.items()}
        if CLASS not in labels:
            raise ToolkitError(f"{spec.name} has no class {CLASS}: it has {', '.join(labels)}", "see `positive` in its entry")
        self._class = int(labels[CLASS])

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """Premise and hypothesis as the tokenizer joins them."""
        premises, hypotheses = [document.whole for _, document in pairs], [statement.whole for statement, _ in pairs]
        encoded = self._loaded.tokenizer(
            premises, hypotheses, truncation="longest_first", max_length=self._length, return_attention_mask=False
        )
        types = encoded.get("token_type_ids") or [[]] * len(pairs)
        lost = [bool(row.overflowing) for row in encoded.encodings]
        return [Row(*row) for row in zip(encoded["input_ids"], types, lost, strict=True)]

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The softmax's share of the class."""
        with inference():
            logits = self._loaded.model(**loading.padded(rows, self._loaded)).logits
        return loading.as_scores(logits.double().softmax(-1)[:, self._class])
