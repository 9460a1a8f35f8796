"""monoT5: an encoder-decoder is asked for one token, and two of the possible ones are compared (Nogueira et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from toolkit.core.specs import SystemSpec
from toolkit.models.batches import inference
from toolkit.models.rerankers import loading
from toolkit.models.rerankers.base import Row
from toolkit.models.rerankers.prompts import PromptEncoder, pointwise_prompt
from toolkit.models.rerankers.reranker_settings import PromptParameters, parameters
from toolkit.models.rerankers.token_logits import TokenLogitsReranker


class MonoT5(TokenLogitsReranker):
    """One decoder step; the score is the share of the positive token in the softmax over the two."""

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The difference of the two logits at the first decoder position, through the activation."""
        model = self._loaded.model
        start = torch.full((len(rows), 1), model.config.decoder_start_token_id, device=self._loaded.device)
        with inference():
            logits = model(**loading.padded(rows, self._loaded), decoder_input_ids=start).logits[:, 0]
        return self.compare(logits)


def load(spec: SystemSpec, *, batch_size: int, prompt: str | None = None, **where: Any) -> MonoT5:
    """The monoT5 of a system's entry."""
    settings = parameters(PromptParameters, spec)
    said = pointwise_prompt(prompt or settings.prompt)
    loaded = loading.load("AutoModelForSeq2SeqLM", spec, what="monoT5 (an encoder-decoder)", **where)
    length = loaded.length(spec, settings.length)
    encoder = PromptEncoder(said, loaded.tokenizer, length=length, chat=False, cut=settings.cut)
    return MonoT5(
        loaded,
        encoder,
        loading.token_ids(loaded, spec, settings.tokens),
        settings.activation,
        spec=spec,
        batch_size=batch_size,
        facts={**loaded.facts, **settings.facts(length=length), **said.facts(spec)},
    )
