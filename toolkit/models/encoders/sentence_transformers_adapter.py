"""Checkpoints with modules of other kinds than `modules` reads, through sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.lazy_names import torch
from toolkit.core.templates import Input
from toolkit.models.checkpoints.weights import origin_of
from toolkit.models.computing import precision_of
from toolkit.models.encoders.base import SIDES, check_finite
from toolkit.models.encoders.sentence import load_model
from toolkit.models.encoders.tokens import FAR, Framing
from toolkit.models.vectors.batches import inference

TINY = 1e-12  # a zero vector stays one
# what only our own path does
OURS = ("attention", "eos", "mask_prefix", "layer_norm", "padding")


class SentenceTransformersEncoder:
    """An `Encoder` around a SentenceTransformer, which computes what the checkpoint's own modules say."""

    def __init__(self, spec: SystemSpec, folder: Path, devices: list[str], dtype: torch.dtype, batch_size: int, trust: bool):
        """Raises ToolkitError for several devices and for parameters that would change what the modules compute."""
        ours = [name for name in OURS if spec.parameters.get(name)]
        if spec.parameters.get("pooling", "own") != "own":
            ours.append("pooling")
        if ours or len(devices) > 1:
            message = f"{spec.name}: {folder} has modules of its own kind"
            raise ToolkitError(message, f"leave out {', '.join(ours)}" if ours else "name a single --device")
        how = {"device": devices[0], "precision": precision_of(dtype), "trust_remote_code": trust}
        self.model = load_model("SentenceTransformer", spec, folder, **how)
        self.origin = origin_of(folder)
        self.similarity, self.batch_size = spec.parameters.get("similarity", "cos"), batch_size
        self.precision = precision_of(dtype)
        self.framing = Framing(self.model.tokenizer)
        default = self.model.max_seq_length or FAR
        self.limits = {side: spec.parameters.get(f"{side}_length") or default for side in SIDES}
        self.truncated, self.lost = dict.fromkeys(SIDES, 0), 0
        self.dimension = len(self.model.encode("a", show_progress_bar=False))

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """As `Encoder.encode`."""
        self.model.max_seq_length = self.limits[side]
        sent = self.framing(inputs, self.limits[side])
        self.truncated[side] += sum(each.truncated for each in sent)
        if side == "query":
            self.lost += sum(each.lost(len(self.framing.tail)) for each in sent)
        made = np.zeros((len(inputs), self.dimension), np.float32)
        # the prefix is the library's prompt, which some checkpoints keep out of their pooling
        for prefix in dict.fromkeys(each.prefix for each in inputs):
            rows = [row for row, each in enumerate(inputs) if each.prefix == prefix]
            texts = [inputs[row].text for row in rows]
            with inference():
                made[rows] = self.model.encode(texts, prompt=prefix, batch_size=self.batch_size, show_progress_bar=False)
        check_finite([each.whole for each in inputs], made, self.precision)
        if self.similarity == "cos":  # in float32, whatever the model computes in
            made /= np.linalg.norm(made, axis=1, keepdims=True).clip(min=TINY)
        return made

    def token_ids(self, input: Input, side: str) -> list[int]:
        """As `Encoder.token_ids`."""
        return self.framing([input], self.limits[side])[0].ids
