"""Late interaction: a vector for each token of a text, by sentence-transformers' MultiVectorEncoder.

It reads Stanford's ColBERT checkpoints, PyLate's, and its own, with what belongs to them: marker tokens, queries filled up
with [MASK], the projection, unit length, and punctuation left out of documents.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.batches import by_length
from toolkit.models.checkpoints import locate
from toolkit.models.encoders import SIDES
from toolkit.models.encoders.sentence import load_model
from toolkit.models.encoders.tokens import Framing

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import MultiVectorEncoder as Model

TASKS = {"query": "query", "passage": "document"}  # as sentence-transformers calls the sides
OWN_TYPES = ("MultiVectorEncoder", "ColBERT")  # what its and PyLate's checkpoints call themselves
PYLATE = ("query_prefix", "document_prefix")  # what PyLate's older ones have instead


def load_multivector(
    spec: SystemSpec,
    *,
    device: str | None = None,
    precision: str | None = None,
    batch_size: int = 32,
    trust_remote_code: bool = False,
) -> MultiVectorEncoder:
    """The encoder of a system of kind `multivector`; arguments as of `toolkit.models.encoders.load_encoder`.

    Raises ToolkitError for a checkpoint that was not trained for late interaction: its projection would be random.
    """
    if spec.kind != "multivector":
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, not multivector", "take a system of kind multivector")
    folder = locate(spec, trust_remote_code=trust_remote_code)
    check_late(folder)
    how = {"device": device, "precision": precision, "trust_remote_code": trust_remote_code}
    return MultiVectorEncoder(spec, load_model("MultiVectorEncoder", spec, folder, **how), batch_size)


def check_late(folder: Path) -> None:
    """Raise ToolkitError for a checkpoint that is of another kind."""
    config, own = (_json(folder / name) for name in ("config.json", "config_sentence_transformers.json"))
    stanford = "HF_ColBERT" in (config.get("architectures") or [])
    if not stanford and own.get("model_type") not in OWN_TYPES and not any(key in own for key in PYLATE):
        hint = "known are those of Stanford's ColBERT, PyLate and sentence-transformers' MultiVectorEncoder"
        raise ToolkitError(f"{folder} is no checkpoint for late interaction", hint)
    if own.get("similarity_fn_name") == "meanmaxsim":
        raise ToolkitError(f"{folder} is compared by the mean of MaxSim", "MaxSim itself is all that is computed here")


class MultiVectorEncoder:
    """Texts to a vector for each token.

    cut   side -> how many of the encoded inputs the limit cost tokens
    lost  how many queries lost their core query altogether
    """

    def __init__(self, spec: SystemSpec, model: Model, batch_size: int):
        self.spec = spec
        self.cut = dict.fromkeys(SIDES, 0)
        self.lost = 0
        self._model, self._batch_size = model, batch_size
        self._framing = Framing(model.tokenizer)
        self.limits = set_limits(spec, model)

    @property
    def dimension(self) -> int:
        """Of the vectors."""
        return self._model.get_embedding_dimension()

    def encode(self, inputs: Sequence[Input], side: str) -> list[np.ndarray]:
        """Of each input (t, dimension) float32, in the inputs' order; equal inputs are encoded once.

        t counts marker, special and, in queries, [MASK] tokens; of documents, punctuation does not count.
        """
        unique = list(dict.fromkeys(inputs))
        marker = self._model.prompts.get(TASKS[side]) or ""
        sent = self._framing([each._replace(prefix=marker + each.prefix) for each in unique], self.limits[side])
        fate = dict(zip(unique, sent, strict=True))
        self.cut[side] += sum(fate[each].cut for each in inputs)
        if side == "query":
            self.lost += sum(fate[each].lost(len(self._framing.tail)) for each in inputs)
        run = self._model.encode_query if side == "query" else self._model.encode_document
        made: dict[Input, np.ndarray] = {}
        expansion = self._model[0].query_expansion if side == "query" else None
        filled = expansion["length"] if expansion else 0
        for batch in by_length([max(len(each.ids), filled) for each in sent], self._batch_size):
            texts = [unique[position].whole for position in batch]
            vectors = run(texts, batch_size=len(texts), show_progress_bar=False)
            made |= {unique[position]: its.float().cpu().numpy() for position, its in zip(batch, vectors, strict=True)}
        return [made[each] for each in inputs]

    def token_ids(self, input: Input, side: str) -> list[int]:
        """What the model sees of an input: markers, special tokens and a query's [MASK]s too."""
        task = TASKS[side]
        features = self._model.preprocess([input.whole], prompt=self._model.prompts.get(task), task=task)
        return features["input_ids"][0].tolist()


def set_limits(spec: SystemSpec, model: Model) -> dict[str, int]:
    """Set the entry's lengths where it has any, and return those in force: side -> tokens, special ones counted.

    Raises ToolkitError for more than the model has positions for.
    """
    transformer = model[0]
    query, passage = (spec.parameters.get(f"{side}_length") for side in SIDES)
    expansion = transformer.query_expansion
    if query and expansion and expansion["strategy"] == "fixed":
        transformer.query_length = None
        transformer.query_expansion = {**expansion, "length": query}
    elif query:
        transformer.query_length = query
    if passage:
        transformer.document_length = passage
    expansion = transformer.query_expansion
    fixed = expansion["length"] if expansion and expansion["strategy"] == "fixed" else None
    own = transformer.max_seq_length
    limits = {"query": fixed or transformer.query_length or own, "passage": transformer.document_length or own}
    positions = getattr(transformer.config, "max_position_embeddings", None)
    for side, limit in limits.items():
        if positions and limit > positions:
            raise ToolkitError(f"{spec.name} has {positions} positions, {side}_length is {limit}", f"at most {positions}")
    return limits


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
