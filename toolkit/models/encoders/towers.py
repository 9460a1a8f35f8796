"""Encoding with transformers: bulk tokenization, batches by length, pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import layer_norm, normalize

from toolkit.core.system.lazy_names import transformers
from toolkit.core.templates import Input
from toolkit.models.computing import precision_of
from toolkit.models.encoders.base import check_finite
from toolkit.models.encoders.tokens import Framing, Sent
from toolkit.models.vectors.batches import by_length, inference


def cls(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The first real token's vector: states (n, t, d), mask (n, t) with 1 for real tokens, on either side of them 0.

    Zeros where the mask is empty, as all poolings have it.
    """
    return _at(states, mask, mask.int().argmax(dim=1))


def last(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The last real token's vector, on whichever side the padding is."""
    return _at(states, mask, mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1))


def mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens of the mask, summed in float32."""
    weights = mask.unsqueeze(1).float()
    return (weights @ states.float()).squeeze(1) / weights.sum(dim=2).clamp(min=1)


def _at(states: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Of each text the vector at its position (n,)."""
    vectors = states[torch.arange(mask.shape[0], device=mask.device), positions]
    return vectors.masked_fill(~mask.bool().any(dim=1, keepdim=True), 0)


POOLINGS = {"cls": cls, "mean": mean, "last": last}


@dataclass
class Tower:
    """A model with its tokenizer and what is made of its states.

    models       the same model, once for each device
    pooling      `cls`, `mean`, `last`, or `pooler` for the model's own pooler output
    mask_prefix  keep the prefix out of the pooling
    layer_norm   normalise the pooled vector's mean and variance, without weights
    layers       what comes after the pooling, on each device: functions of (n, d) float32
    left         pad on the left
    """

    models: list[transformers.PreTrainedModel]
    framing: Framing
    limits: dict[str, int]
    pooling: str
    mask_prefix: bool
    layer_norm: bool
    layers: list[list[Callable]]
    left: bool = False

    def vectors(self, replica: int, batch: Sequence[Sent]) -> torch.Tensor:
        """(n, d) float32 on the replica's device, not normalised; no input may be empty.

        Whatever the model computes in, all that comes after it is in float32.
        """
        model = self.models[replica]
        shape = len(batch), max(len(sent.ids) for sent in batch)
        ids = np.full(shape, self.framing.pad, dtype=np.int64)
        mask, pooled = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sent in enumerate(batch):
            start = shape[1] - len(sent.ids) if self.left else 0
            end = start + len(sent.ids)
            ids[row, start:end], mask[row, start:end] = sent.ids, 1
            pooled[row, start + (sent.prefix if self.mask_prefix else 0) : end] = 1
        fed = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if self.left:  # a token's position counts from its text's first one, not from the padding
            fed["position_ids"] = (fed["attention_mask"].cumsum(1) - 1).clamp(min=0)
        with inference():
            fed = {name: value.to(model.device, non_blocking=True) for name, value in fed.items()}
            output = model(**fed)
            if self.pooling == "pooler":
                vectors = output.pooler_output.float()
            else:
                vectors = POOLINGS[self.pooling](output.last_hidden_state, torch.from_numpy(pooled).to(model.device)).float()
            if self.layer_norm:
                vectors = layer_norm(vectors, vectors.shape[-1:])
            for layer in self.layers[replica]:
                vectors = layer(vectors)
        return vectors


class TowerEncoder:
    """An `Encoder` of one tower for both sides, or of one for each."""

    def __init__(self, towers: dict[str, Tower], similarity: str, batch_size: int, origin: dict[str, Any]):
        self.towers, self.similarity, self.batch_size, self.origin = towers, similarity, batch_size, origin
        self.precision = precision_of(towers["query"].models[0].dtype)
        self.truncated = dict.fromkeys(towers, 0)
        self.lost = 0
        # the layers decide, so one text tells best
        self.dimension = self.encode([Input("", "a")], "query").shape[1]

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """As `Encoder.encode`; equal inputs are encoded once, an input without any token has the zero vector."""
        tower = self.towers[side]
        unique = {each: position for position, each in enumerate(dict.fromkeys(inputs))}
        sent = tower.framing(list(unique), tower.limits[side])
        rows = [unique[each] for each in inputs]
        self.truncated[side] += sum(sent[row].truncated for row in rows)
        if side == "query":
            self.lost += sum(sent[row].lost(len(tower.framing.tail)) for row in rows)
        filled = [position for position, each in enumerate(sent) if each.ids]
        batches = by_length([len(sent[position].ids) for position in filled], self.batch_size)
        batches = [[filled[position] for position in batch] for batch in batches]
        if not batches:
            return np.zeros((len(rows), self.dimension), dtype=np.float32)
        vectors = self._run(tower, [[sent[position] for position in batch] for batch in batches])
        if self.similarity == "cos":
            vectors = normalize(vectors)
        result = np.zeros((len(sent), vectors.shape[1]), dtype=np.float32)
        result[np.concatenate(batches)] = vectors.numpy()
        check_finite([each.whole for each in unique], result, self.precision)
        return result[rows]

    def token_ids(self, input: Input, side: str) -> list[int]:
        """As `Encoder.token_ids`."""
        tower = self.towers[side]
        return tower.framing([input], tower.limits[side])[0].ids

    def _run(self, tower: Tower, batches: list[list[Sent]]) -> torch.Tensor:
        """The vectors of all batches, one after the other, on the CPU; each device takes the next batch when it is free.
        Vectors stay on their device until all are made: a copy after each batch would make the device wait."""
        waiting = iter(range(len(batches)))  # shared: each number goes to one thread
        made: list[torch.Tensor | None] = [None] * len(batches)

        def work(replica: int) -> None:
            for number in waiting:
                made[number] = tower.vectors(replica, batches[number])

        replicas = range(len(tower.models))
        if len(replicas) == 1:
            work(0)
        else:
            with ThreadPoolExecutor(len(replicas)) as pool:
                list(pool.map(work, replicas))
        return torch.cat([vectors.cpu() for vectors in made])
