"""A checkpoint on this machine that continues a chat, greedily or drawn with a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.lazy_names import torch, transformers
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.chat_template import Refused, filled
from toolkit.models.llm.messages import SAMPLING, Answer, Message, Request, together
from toolkit.models.vectors.batches import by_length


class LocalModel:
    """A causal language model through transformers: its own chat template, greedy decoding unless a temperature is asked for.

    An adapter (`base` in its entry) is merged into its base, whose tokenizer it has.

    The entry's parameter `chat_template` (Jinja) stands in where the checkpoint's tokenizer has none; with `chat: false` the
    turns are sent as plain text, a blank line between them. The weights are loaded with the first question that is not in the
    cache.
    """

    def __init__(
        self,
        spec: SystemSpec,
        *,
        device: str | None = None,
        precision: str | None = None,
        batch_size: int = 32,
        trust_remote_code: bool = False,
    ):
        self.spec, self.precision, self.batch_size, self.trust = spec, precision, batch_size, trust_remote_code
        self.chat = spec.parameters.get("chat", True)
        self.origin: dict[str, Any] = {}
        self.device = computing.pick_device(device)
        self.dtype = computing.pick_dtype(spec, precision, self.device)

    @property
    def here(self) -> bool:
        """Whether the checkpoint is on this machine, and the hub need not be asked which of its commits is meant."""
        return local_checkpoints.is_settled(self.spec)

    @cached_property
    def folder(self) -> Path:
        """Where the checkpoint lies."""
        return local_checkpoints.locate(self.spec, trust_remote_code=self.trust)

    @cached_property
    def whole(self) -> Path:
        """Where the whole model with its tokenizer lies: an adapter's base, else the checkpoint."""
        return local_checkpoints.base_of(self.spec) or self.folder

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Checkpoint, precision, the entry's say in the chat's form, and what tells versions of the checkpoint apart."""
        facts = {"precision": str(self.dtype).removeprefix("torch.")}
        facts |= {name: self.spec.parameters[name] for name in ("chat", "chat_template") if name in self.spec.parameters}
        identity = local_checkpoints.resolved_identity(self.spec, trust_remote_code=self.trust)
        return {**facts, "model": self.spec.checkpoint, **identity}

    @cached_property
    def tokenizer(self) -> transformers.PreTrainedTokenizerBase:
        """The checkpoint's, padded on the left; ToolkitError where it knows no chat."""
        transformers = computing.import_transformers()
        options = {"padding_side": "left", "trust_remote_code": self.trust, "local_files_only": True}
        with computing.explained(self.spec.name, self.whole):
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.whole, **options)
        tokenizer.chat_template = self.spec.parameters.get("chat_template", tokenizer.chat_template)
        if self.chat and not tokenizer.chat_template:
            hint = "give its entry one: parameters: {chat_template: ...}"
            raise ToolkitError(f"the tokenizer of {self.spec.name} has no chat template", hint)
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer

    @cached_property
    def model(self) -> transformers.PreTrainedModel:
        """The weights, on the device; ToolkitError where they are not all there or do not fit."""
        from toolkit.models.checkpoints.pretrained import load

        how = {"device": self.device, "precision": self.precision, "trust_remote_code": self.trust}
        loaded = load("AutoModelForCausalLM", self.spec, what="language model that writes", **how)
        self.origin = dict(loaded.origin)
        return loaded.model

    def check(self) -> None:
        """Look the tokenizer up."""
        _ = self.tokenizer

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, answer), batch by batch.

        ToolkitError for options without meaning here, and for more tokens than the checkpoint has places for.
        """
        return together(requests, self._answers)

    def _answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        for request in requests:
            if unknown := [name for name, value in request.options.items() if name not in ("max_tokens", *SAMPLING) and value]:
                raise ToolkitError(f"{self.spec.name} has no {', '.join(unknown)} on this machine", "ask a server instead")
        texts = [self._text(request.messages) for request in requests]
        lengths = [self.count_text(text) for text in texts]
        needed = max(length + request.options["max_tokens"] for length, request in zip(lengths, requests, strict=True))
        places = getattr(self.model.config.get_text_config(), "max_position_embeddings", needed)
        if needed > places:
            message = f"prompt and answer have {needed} tokens, but {self.spec.name} takes {places}"
            raise ToolkitError(message, "set `length` in the parameters of its entry")
        alike: dict[str, list[int]] = {}  # positions of requests that are drawn alike
        for position, request in enumerate(requests):
            alike.setdefault(repr(sampling_of(request.options)), []).append(position)
        for positions in alike.values():
            sampling = sampling_of(requests[positions[0]].options)
            for places in by_length([lengths[position] for position in positions], self.batch_size):
                batch = [positions[place] for place in places]
                limits = [requests[position].options["max_tokens"] for position in batch]
                yield from zip(batch, self._generate([texts[position] for position in batch], limits, sampling), strict=True)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat in the checkpoint's template."""
        return self.count_text(self._text(messages))

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=not self.chat)["input_ids"])

    def _text(self, messages: Sequence[Message]) -> str:
        if not self.chat:
            return "\n\n".join(message["content"] for message in messages)
        try:
            return filled(self.tokenizer, messages)
        except Refused as error:
            hint = "parameters: {system: merge} puts the system turn into the user's"
            raise ToolkitError(f"the chat template of {self.spec.name} refuses the prompt: {error}", hint) from error

    def _generate(self, texts: Sequence[str], limits: Sequence[int], sampling: Mapping[str, Any]) -> Iterator[Answer]:
        """The answers, each of at most its own number of tokens: they do not depend on what is in the batch beside them."""
        tokenizer, special = self.tokenizer, not self.chat  # a chat template writes the special tokens itself
        inputs = tokenizer(list(texts), padding=True, add_special_tokens=special, return_tensors="pt").to(self.device)
        inputs.pop("token_type_ids", None)
        drawn = {"logits_processor": [GumbelSampling(sampling, texts)]} if sampling else {}
        with torch.inference_mode():
            drawn |= {"do_sample": False, "max_new_tokens": max(limits), "pad_token_id": tokenizer.pad_token_id}
            sequences = self.model.generate(**inputs, **drawn)
        start = inputs["input_ids"].shape[1]
        # the tokens that end an answer; padding is one of them, as it follows the end of the shorter ones
        ends = self.model.generation_config.eos_token_id
        stops = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id, tokenizer.pad_token_id}
        sent = inputs["attention_mask"].sum(1).tolist()
        for read, whole, limit in zip(sent, sequences[:, start:].tolist(), limits, strict=True):
            sequence = whole[:limit]
            end = next((place for place, token in enumerate(sequence) if token in stops), None)
            text = tokenizer.decode(sequence[:end], skip_special_tokens=True).strip()
            finish, written = ("length", len(sequence)) if end is None else ("stop", end + 1)
            yield Answer(text, finish, model=self.spec.checkpoint, prompt_tokens=read, completion_tokens=written)


def sampling_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What of a request's options says how its answer is drawn; empty where it is decoded greedily."""
    if not options.get("temperature"):
        return {}
    return {name: options[name] for name in SAMPLING if options.get(name) is not None}


class GumbelSampling:
    """Makes greedy decoding draw: after temperature, top k and top p each row's scores get Gumbel noise of its own.

    The largest of scores with Gumbel noise is a draw from their softmax (Gumbel-max; Maddison et al. 2014, section 2). Each
    row's noise comes from the seed and its own text, so that no answer depends on the others.

    texts  one a row of the batch
    """

    def __init__(self, sampling: Mapping[str, Any], texts: Sequence[str]):
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

        self._warpers = [TemperatureLogitsWarper(float(sampling["temperature"]))]
        if sampling.get("top_k"):
            self._warpers.append(TopKLogitsWarper(sampling["top_k"]))
        if sampling.get("top_p", 1.0) < 1.0:
            self._warpers.append(TopPLogitsWarper(float(sampling["top_p"])))
        seed = sampling.get("seed", 0)
        self._noise = [torch.Generator().manual_seed(_number(f"{seed} {text}")) for text in texts]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores (n, vocabulary) float32, whose largest is the draw."""
        for warper in self._warpers:
            scores = warper(input_ids, scores)
        drawn = torch.stack([torch.rand(scores.shape[1], generator=each, dtype=torch.float64) for each in self._noise])
        gumbel = -torch.log(-torch.log(drawn.clamp(min=1e-300)))
        return scores + gumbel.to(scores)


def _number(text: str) -> int:
    """63 bits of a text's SHA-256."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]) >> 1
