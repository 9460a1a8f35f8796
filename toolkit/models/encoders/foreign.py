"""Checkpoints with modules of other kinds than `modules` reads, through sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.checkpoints import precision_of
from toolkit.models.encoders import SIDES
from toolkit.models.encoders.tokens import FAR, Framing

if TYPE_CHECKING:
    from types import ModuleType

    import torch

# what only our own path does
OURS = ("attention", "eos", "mask_prefix", "layer_norm", "padding")


class ForeignEncoder:
    """An `Encoder` around a SentenceTransformer, which computes what the checkpoint's own modules say."""

    def __init__(self, spec: SystemSpec, folder: Path, devices: list[str], dtype: torch.dtype, batch_size: int, trust: bool):
        """Raises ToolkitError for several devices and for parameters that would change what the modules compute."""
        ours = [name for name in OURS if spec.parameters.get(name)]
        if spec.parameters.get("pooling", "own") != "own":
            ours.append("pooling")
        if ours or len(devices) > 1:
            message = f"{spec.name}: {folder} has modules of its own kind"
            raise ToolkitError(message, f"leave out {', '.join(ours)}" if ours else "name a single --device")
        self.model = _sentence_transformers(spec.name).SentenceTransformer(
            str(folder),
            device=devices[0],
            trust_remote_code=trust,
            local_files_only=True,
            model_kwargs={"dtype": dtype, "use_safetensors": True},
        )
        self.similarity, self.batch_size = spec.parameters.get("similarity", "cos"), batch_size
        self.precision = precision_of(dtype)
        self.framing = Framing(self.model.tokenizer)
        own = self.model.max_seq_length or FAR
        self.limits = {side: spec.parameters.get(f"{side}_length") or own for side in SIDES}
        self.cut, self.lost = dict.fromkeys(SIDES, 0), 0
        self.dimension = self.encode([Input("", "a")], "query").shape[1]

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """As `Encoder.encode`."""
        self.model.max_seq_length = self.limits[side]
        sent = self.framing(inputs, self.limits[side])
        self.cut[side] += sum(each.cut for each in sent)
        if side == "query":
            self.lost += sum(each.lost(len(self.framing.tail)) for each in sent)
        told = {"batch_size": self.batch_size, "normalize_embeddings": self.similarity == "cos", "show_progress_bar": False}
        made: dict[int, np.ndarray] = {}
        # the prefix is the library's prompt, which some checkpoints keep out of their pooling
        for prefix in dict.fromkeys(each.prefix for each in inputs):
            rows = [row for row, each in enumerate(inputs) if each.prefix == prefix]
            vectors = self.model.encode([inputs[row].text for row in rows], prompt=prefix, **told)
            made |= dict(zip(rows, vectors.astype(np.float32), strict=True))
        if not made:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([made[row] for row in range(len(inputs))])

    def token_ids(self, input: Input, side: str) -> list[int]:
        """As `Encoder.token_ids`."""
        return self.framing([input], self.limits[side])[0].ids


def _sentence_transformers(name: str) -> ModuleType:
    try:
        import sentence_transformers
    except ImportError as missing:
        raise missing_extra(name, "dense") from missing
    return sentence_transformers
