"""Language models that are asked for one token: the logits of two of the possible ones, where the answer would begin."""

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints import pretrained
from toolkit.models.llm import Prompt
from toolkit.models.rerankers.base import ACTIVATIONS, BatchedReranker, Pair, Row
from toolkit.models.rerankers.prompts import PromptEncoder, pointwise_prompt
from toolkit.models.rerankers.reranker_settings import PROMPTED
from toolkit.models.vectors.batches import inference
from toolkit.registry.system_kinds import parameters_as

END_OF_THOUGHT = "</think>"
UNLISTED_LENGTH = 2048  # tokens, for a decoder of which no entry says more, unless tokenizer or model say less


class TokenLogitsReranker(BatchedReranker):
    """The model, the prompt that pairs are put into, and the two tokens, positive first."""

    def __init__(
        self, loaded: pretrained.Loaded, encoder: PromptEncoder, tokens: Sequence[int], activation: str, **common: Any
    ):
        super().__init__(**common)
        self._loaded, self._encoder = loaded, encoder
        self._token_ids = list(tokens)
        self._activation = ACTIVATIONS[activation]

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs in the prompt."""
        return self._encoder.encode(pairs)

    def compare(self, logits: torch.Tensor) -> np.ndarray:
        """The difference of the two tokens' logits, through the activation; `logits` are (n, vocabulary)."""
        positive, negative = pretrained.as_scores(logits[:, self._token_ids]).T
        return self._activation(positive - negative)


class YesNo(TokenLogitsReranker):
    """A decoder that answers at once; padded on the left, so that the last position is every pair's own."""

    def __init__(self, loaded: pretrained.Loaded, *given: Any, **common: Any):
        super().__init__(loaded, *given, **common)
        # BLOOM and its like count by the mask, and take no positions
        self._takes = inspect.signature(loaded.model.forward).parameters.keys()

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The difference of the two logits at the last position, through the activation."""
        batch = pretrained.padded(rows, self._loaded, side="left")
        options = {"use_cache": False, "logits_to_keep": 1}
        if "attention_mask" in batch:
            # a token's place is counted from its text's first one, not from the padding's
            options["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        with inference():
            output = self._loaded.model(**batch, **{name: options[name] for name in options.keys() & self._takes})
        return self.compare(output.logits[:, -1])


class Reasoning(YesNo):
    """A decoder that writes before it answers (Rank1): greedily, to `</think>`; then the two tokens are compared.

    One that has not come to its end after `most` tokens is made to: `</think>` is put there for it.
    """

    def __init__(self, *given: Any, most: int, **common: Any):
        super().__init__(*given, **common)
        self._most = most

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The scores after what the model wrote."""
        tokenizer = self._loaded.tokenizer
        batch = pretrained.padded(rows, self._loaded, side="left")
        how = {"do_sample": False, "repetition_penalty": 1.0}  # whatever the checkpoint has for its own generation
        how |= {"max_new_tokens": self._most, "stop_strings": END_OF_THOUGHT, "pad_token_id": tokenizer.pad_token_id or 0}
        with inference():
            written = self._loaded.model.generate(**batch, **how, tokenizer=tokenizer)
        ended = []
        for row, ids in zip(rows, written[:, batch["input_ids"].shape[1] :].tolist(), strict=True):
            thought = [token for token in ids if token not in tokenizer.all_special_ids]  # without padding, and with its end
            if END_OF_THOUGHT not in tokenizer.decode(thought):
                thought += tokenizer(f"\n{END_OF_THOUGHT}", add_special_tokens=False)["input_ids"]
            ended.append(row._replace(ids=row.ids + thought))
        return super().forward(ended)


class MonoT5(TokenLogitsReranker):
    """One step of an encoder-decoder; the share of the positive token in the softmax over the two (Nogueira et al. 2020)."""

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The difference of the two logits at the first decoder position, through the activation."""
        model = self._loaded.model
        start = torch.full((len(rows), 1), model.config.decoder_start_token_id, device=self._loaded.device)
        with inference():
            logits = model(**pretrained.padded(rows, self._loaded), decoder_input_ids=start).logits[:, 0]
        return self.compare(logits)


def load(spec: SystemSpec, *, batch_size: int, prompt: str | Prompt | None = None, **where: Any) -> TokenLogitsReranker:
    """The monoT5 or yes/no language model of a system's entry, by its kind."""
    settings = parameters_as(PROMPTED[spec.kind], spec)
    said = pointwise_prompt(prompt or settings.prompt)
    make: Any = MonoT5
    if spec.kind == "monot5":
        loaded = pretrained.load("AutoModelForSeq2SeqLM", spec, what="monoT5 (an encoder-decoder)", **where)
        length = loaded.length(spec, settings.length)
        resolved, turns, room = {"length": length}, {"chat": False}, length
    else:
        loaded = pretrained.load(pretrained.CAUSAL, spec, what="language model", **where)
        length = loaded.length(spec, settings.length, UNLISTED_LENGTH)
        chat = bool(loaded.tokenizer.chat_template) if settings.chat is None else settings.chat
        resolved, turns = {"length": length, "chat": chat}, {"chat": chat, "thinks": settings.reasoning > 0}
        room, make = length - settings.reasoning, partial(Reasoning, most=settings.reasoning) if settings.reasoning else YesNo
    encoder = PromptEncoder(said, loaded.tokenizer, length=room, cut=settings.cut, **turns)
    tokens = pretrained.token_ids(loaded, spec, settings.tokens)
    facts = {**loaded.facts, **settings.facts(**resolved), **said.facts(spec)}
    return make(loaded, encoder, tokens, settings.activation, spec=spec, batch_size=batch_size, facts=facts)
