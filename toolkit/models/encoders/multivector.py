"""Late interaction: a vector for each token of a text, by sentence-transformers' MultiVectorEncoder.

It reads Stanford's ColBERT checkpoints, PyLate's, and its own, with what belongs to them: marker tokens, queries filled up
with [MASK], the projection, unit length, and punctuation left out of documents.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints.checkpoint_files import read_json, sound
from toolkit.models.checkpoints.local_checkpoints import locate
from toolkit.models.encoders.base import check_finite
from toolkit.models.encoders.sentence_transformers_adapter import SentenceEncoder, load_model

MODEL_TYPES = ("MultiVectorEncoder", "ColBERT")  # what its and PyLate's checkpoints call themselves
PYLATE = ("query_prefix", "document_prefix")  # what PyLate's older ones have instead


def load(spec: SystemSpec, *, batch_size: int, trust_remote_code: bool, **where: Any) -> MultiVectorEncoder:
    """The encoder of a system of kind `multivector`; arguments (`where`: device, precision) as of `load_encoder`.

    Raises ToolkitError for a checkpoint that was not trained for late interaction: its projection would be random.
    """
    folder = locate(spec, trust_remote_code=trust_remote_code)
    check_late(folder)
    model = load_model("MultiVectorEncoder", spec, folder, trust_remote_code=trust_remote_code, **where)
    return MultiVectorEncoder(spec, folder, model, batch_size)


def check_late(folder: Path) -> None:
    """Raise ToolkitError for a checkpoint that is of another kind."""
    config, settings = (read_json(folder / name, {}) for name in ("config.json", "config_sentence_transformers.json"))
    with sound(folder):
        stanford = "HF_ColBERT" in (config.get("architectures") or [])
    if not stanford and settings.get("model_type") not in MODEL_TYPES and not any(key in settings for key in PYLATE):
        hint = "known are those of Stanford's ColBERT, PyLate and sentence-transformers' MultiVectorEncoder"
        raise ToolkitError(f"{folder} is no checkpoint for late interaction", hint)
    if settings.get("similarity_fn_name") == "meanmaxsim":
        raise ToolkitError(f"{folder} is compared by the mean of MaxSim", "only MaxSim itself is computed here")


class MultiVectorEncoder(SentenceEncoder):
    """Texts to a vector for each token: of each input `encode` gives (t, dimension) float32.

    t counts marker, special and, in queries, [MASK] tokens; of documents, punctuation does not count.
    """

    @property
    def dimension(self) -> int:
        """Of the vectors."""
        return self.model.get_embedding_dimension()

    def _results(self, texts: list[str], side: str) -> list[np.ndarray]:
        made = [vectors.float().cpu().numpy() for vectors in self._run(texts, side)]
        check_finite(texts, made, self.precision)
        return made
