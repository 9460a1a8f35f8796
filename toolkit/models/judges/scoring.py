"""Judges that answer in one forward pass: a share between 0 and 1, cached like any other answer."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.checkpoint_files import read_json
from toolkit.models.judges.judge import ENTAILMENT, Settings
from toolkit.models.llm.estimate import Estimate, estimate_tokens
from toolkit.models.llm.messages import Answer, Message, Request, together
from toolkit.models.llm.prompts import Prompt
from toolkit.models.rerankers.base import BatchedReranker

GAP = "\n\n"  # between turns without a chat template, as where a model answers in words
DEFAULT_LENGTH = 2048  # tokens, of a language model of which no entry says more, unless tokenizer or model say less


class Scoring(Estimate):
    """A checkpoint as a backend of `LLM`: a request's two turns are a document and a statement, its answer a number."""

    def __init__(
        self,
        spec: SystemSpec,
        prompt: Prompt | None,
        settings: Settings,
        *,
        device: str | None = None,
        precision: str | None = None,
        batch_size: int = 32,
        trust_remote_code: bool = False,
    ):
        self.spec, self.prompt, self.settings, self.batch_size = spec, prompt, settings, batch_size
        self.origin: dict[str, Any] = {}
        self.how = {"device": device, "precision": precision, "trust_remote_code": trust_remote_code}
        self.precision = computing.pick_precision(spec, precision, computing.pick_device(device))

    @property
    def here(self) -> bool:
        """Whether the checkpoint is on this machine."""
        return local_checkpoints.is_settled(self.spec)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Checkpoint and dtype, and all that shapes what the model reads: prompt, length, compared tokens."""
        trust = self.how["trust_remote_code"]
        facts = {"model": self.spec.checkpoint, **local_checkpoints.resolved_identity(self.spec, trust_remote_code=trust)}
        facts |= {"precision": self.precision, "positive": self.settings.positive, "system": self.settings.system}
        settings = {"tokens": list(self.settings.tokens), "length": self.settings.length, "chat": self.settings.chat}
        facts |= {name: value for name, value in settings.items() if value not in (None, [])}
        template = self.spec.parameters.get("chat_template")
        facts |= {"chat_template": template} if template else {}
        return {**facts, "prompt_sha256": self.prompt.sha256} if self.prompt else facts

    @cached_property
    def model(self) -> BatchedReranker:
        """What scores pairs, on its device: a classifier, an encoder-decoder or a decoder."""
        from toolkit.models.checkpoints import pretrained

        if self.settings.positive != ENTAILMENT:
            from toolkit.models.rerankers.prompts import PromptEncoder
            from toolkit.models.rerankers.token_logits import MonoT5, YesNo

            folder: Path = local_checkpoints.base_of(self.spec) or local_checkpoints.locate(self.spec)
            encoder_decoder = bool(read_json(folder / "config.json", {}).get("is_encoder_decoder"))
            auto, kind = ("AutoModelForSeq2SeqLM", MonoT5) if encoder_decoder else (pretrained.CAUSAL, YesNo)
            loaded = pretrained.load(auto, self.spec, what="language model", **self.how)
            self.origin = dict(loaded.origin)
            tokenizer = loaded.tokenizer
            tokenizer.chat_template = self.spec.parameters.get("chat_template", tokenizer.chat_template)
            chat = bool(tokenizer.chat_template) if self.settings.chat is None else self.settings.chat
            length = loaded.length(self.spec, self.settings.length, DEFAULT_LENGTH)
            turns = {"system": self.settings.system, "gap": GAP}
            encoder = PromptEncoder(self.prompt, tokenizer, length=length, chat=chat, cut="document", **turns)
            tokens = pretrained.token_ids(loaded, self.spec, self.settings.tokens)
            return kind(loaded, encoder, tokens, "sigmoid", spec=self.spec, batch_size=self.batch_size, facts={})
        from toolkit.models.rerankers.cross import Entailment

        loaded = pretrained.load("AutoModelForSequenceClassification", self.spec, what="classifier", **self.how)
        self.origin = dict(loaded.origin)
        return Entailment(self.spec, loaded, loaded.length(self.spec, self.settings.length), self.batch_size)

    @property
    def truncated(self) -> int:
        """How many of the pairs that were scored did not fit and were truncated."""
        return self.model.truncated if "model" in vars(self) else 0

    def check(self) -> None:
        """Find the checkpoint."""
        _ = self.facts

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, the share as text), batch by batch; it round-trips."""
        return together(requests, self._answers)

    def _answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        pairs = [[message["content"] for message in request.messages] for request in requests]
        # as rerankers take a pair: what a document is compared with, then the document
        inputs = [(Input("", statement), Input("", document)) for document, statement in pairs]
        for batch, scores in self.model.batches(inputs):
            if not np.isfinite(scores).all():
                message = f"{self.spec.name} gave a pair no finite share, in {self.precision}"
                raise ToolkitError(message, "numbers overflow in fp16: try --precision bf16 or fp32", status=1)
            for position, score in zip(batch, scores.tolist(), strict=True):
                yield position, Answer(repr(score), model=self.spec.checkpoint)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An estimate: a dry run is not worth loading a model."""
        prompt = estimate_tokens(self.prompt.show()) if self.prompt else 0
        return prompt + sum(estimate_tokens(message["content"]) for message in messages)
