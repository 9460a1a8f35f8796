"""Encoders whose model sentence-transformers loads: a vector a text, a vector a token, or weights over a vocabulary.

Late interaction reads Stanford's ColBERT checkpoints, PyLate's, and the library's own, with what belongs to them: marker
tokens, queries filled up with [MASK], the projection, unit length, and punctuation left out of documents.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError, library
from toolkit.core.specs import SystemSpec
from toolkit.core.system.lazy_names import torch
from toolkit.core.templates import Input
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.architectures import check_weights
from toolkit.models.checkpoints.checkpoint_files import WEIGHTS, inside, read_json, sound
from toolkit.models.checkpoints.hub import origin_of
from toolkit.models.checkpoints.pretrained import table_of_positions
from toolkit.models.encoders.base import SIDES, check_finite
from toolkit.models.encoders.tokens import FAR, Framing
from toolkit.models.vectors.batches import by_length, inference

TASKS = {"query": "query", "passage": "document"}  # as sentence-transformers calls the sides
TINY = 1e-12  # a zero vector stays one
# tokens whose logits a CPU pools together: those of a batch, one a term of the vocabulary, are not copied as a whole
POOLED = 16
# what only our own path does
OURS = ("attention", "eos", "mask_prefix", "layer_norm", "padding")
MODEL_TYPES = ("MultiVectorEncoder", "ColBERT")  # what its and PyLate's checkpoints call themselves
PYLATE = ("query_prefix", "document_prefix")  # what PyLate's older ones have instead


def load_model(
    kind: str,
    spec: SystemSpec,
    folder: Path,
    *,
    device: str | None = None,
    precision: str | None = None,
    trust_remote_code: bool,
) -> Any:
    """The checkpoint in a folder as `SentenceTransformer`, `MultiVectorEncoder` or `SparseEncoder`; it asks no network.

    Raises ToolkitError where the extra is not installed, where the checkpoint does not fit into memory, and where weights are
    pickled or missing.
    """
    device = computing.pick_device(device)
    dtype = computing.pick_dtype(spec, precision, device)
    local_checkpoints.check_memory(spec, folder, device, precision)
    with sound(folder):
        places = [inside(folder, entry["path"]) for entry in read_json(folder / "modules.json", [])] or [folder]
    for place in places:
        if (place / "pytorch_model.bin").exists() and not any(place.glob(WEIGHTS)):
            raise ToolkitError(f"{place} has pickled weights only", "`tandem systems convert` writes safetensors")
    computing.import_transformers()
    sentence_transformers = library("sentence_transformers", spec.name, "dense")
    # what it warns of (truncated queries, layouts it converts) is counted and checked here
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    # where no other code takes part, weights of other shapes are named below, and not used
    options = {"use_safetensors": True, "dtype": dtype, "ignore_mismatched_sizes": not trust_remote_code}
    with computing.explained(spec.name, folder):
        how = {"device": device, "trust_remote_code": trust_remote_code, "local_files_only": True, "model_kwargs": options}
        model = getattr(sentence_transformers, kind)(str(folder), **how)
        whole = getattr(model[0], "model", None)
        if type(whole).__module__.startswith("transformers.models."):  # other modules are loaded strictly, as torch does it
            check_weights(spec.name, places[0], type(whole), config=whole.config)
    return model.to(dtype)


class SentenceEncoder:
    """Texts through a model of sentence-transformers; attributes as of `Encoder`, and limits: side -> tokens."""

    def __init__(self, spec: SystemSpec, folder: Path, model: Any, batch_size: int):
        self.spec, self.model, self.origin = spec, model, origin_of(folder)
        self.precision = computing.precision_of(model.dtype)
        self.limits = set_limits(spec, model[0])
        self.truncated = dict.fromkeys(SIDES, 0)
        self.lost = 0
        self._batch_size = batch_size
        self._framing = Framing(model.tokenizer)

    def encode(self, inputs: Sequence[Input], side: str) -> list:
        """One result an input, in the inputs' order; equal inputs are encoded once."""
        unique, marker = list(dict.fromkeys(inputs)), self.model.prompts.get(TASKS[side]) or ""
        sent = self._framing([each._replace(prefix=marker + each.prefix) for each in unique], self.limits[side])
        fate = dict(zip(unique, sent, strict=True))
        self.truncated[side] += sum(fate[each].truncated for each in inputs)
        if side == "query":
            self.lost += sum(fate[each].lost(len(self._framing.tail)) for each in inputs)
        expansion = self.model[0].query_expansion if side == "query" else None
        filled = expansion["length"] if expansion else 0
        made: dict[Input, Any] = {}
        for batch in by_length([max(len(each.ids), filled) for each in sent], self._batch_size):
            texts = [unique[position].whole for position in batch]
            with inference():
                results = self._results(texts, side)
            made |= {unique[position]: result for position, result in zip(batch, results, strict=True)}
        return [made[each] for each in inputs]

    def token_ids(self, input: Input, side: str) -> list[int]:
        """What the model sees of an input: markers, special tokens and what queries are filled with, too."""
        task = TASKS[side]
        return self.model.preprocess([input.whole], prompt=self.model.prompts.get(task), task=task)["input_ids"][0].tolist()

    def _run(self, texts: list[str], side: str, **options: Any) -> Any:
        run = self.model.encode_query if side == "query" else self.model.encode_document
        return run(texts, batch_size=len(texts), show_progress_bar=False, **options)

    def _results(self, texts: list[str], side: str) -> list:
        """The results of one batch."""
        raise NotImplementedError


def set_limits(spec: SystemSpec, transformer: Any) -> dict[str, int]:
    """Set the entry's lengths where it has any, and return those in force: side -> tokens, special ones counted.

    Raises ToolkitError for more than the model has positions for.
    """
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
    default = transformer.max_seq_length
    limits = {"query": fixed or transformer.query_length or default, "passage": transformer.document_length or default}
    positions = table_of_positions(transformer.model) or getattr(transformer.config, "max_position_embeddings", None)
    for side, limit in limits.items():
        if positions and limit > positions:
            raise ToolkitError(f"{spec.name} has {positions} positions, {side}_length is {limit}", f"at most {positions}")
    return limits


class SentenceTransformersEncoder:
    """An `Encoder` of a checkpoint with modules of other kinds than `modules` reads: these compute what they say."""

    def __init__(self, spec: SystemSpec, folder: Path, devices: list[str], dtype: torch.dtype, batch_size: int, trust: bool):
        """Raises ToolkitError for several devices and for parameters that would change what the modules compute."""
        ours = [name for name in OURS if spec.parameters.get(name)]
        if spec.parameters.get("pooling", "own") != "own":
            ours.append("pooling")
        if ours or len(devices) > 1:
            message = f"{spec.name}: {folder} has modules of its own kind"
            raise ToolkitError(message, f"leave out {', '.join(ours)}" if ours else "name a single --device")
        how = {"device": devices[0], "precision": computing.precision_of(dtype), "trust_remote_code": trust}
        self.model = load_model("SentenceTransformer", spec, folder, **how)
        self.origin = origin_of(folder)
        self.similarity, self.batch_size = spec.parameters.get("similarity", "cos"), batch_size
        self.precision = computing.precision_of(dtype)
        self.framing = Framing(self.model.tokenizer)
        self.limits = {side: spec.parameters.get(f"{side}_length") or self.model.max_seq_length or FAR for side in SIDES}
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


def load_multivector(spec: SystemSpec, *, batch_size: int, trust_remote_code: bool, **where: Any) -> MultiVectorEncoder:
    """The encoder of a system of kind `multivector`; arguments (`where`: device, precision) as of `load_encoder`.

    Raises ToolkitError for a checkpoint that was not trained for late interaction: its projection would be random.
    """
    folder = local_checkpoints.locate(spec, trust_remote_code=trust_remote_code)
    # a checkpoint of another kind is refused
    config, settings = (read_json(folder / name, {}) for name in ("config.json", "config_sentence_transformers.json"))
    with sound(folder):
        stanford = "HF_ColBERT" in (config.get("architectures") or [])
    if not stanford and settings.get("model_type") not in MODEL_TYPES and not any(key in settings for key in PYLATE):
        hint = "known are those of Stanford's ColBERT, PyLate and sentence-transformers' MultiVectorEncoder"
        raise ToolkitError(f"{folder} is no checkpoint for late interaction", hint)
    if settings.get("similarity_fn_name") == "meanmaxsim":
        raise ToolkitError(f"{folder} is compared by the mean of MaxSim", "only MaxSim itself is computed here")
    model = load_model("MultiVectorEncoder", spec, folder, trust_remote_code=trust_remote_code, **where)
    return MultiVectorEncoder(spec, folder, model, batch_size)


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


def load_sparse(spec: SystemSpec, *, batch_size: int, trust_remote_code: bool, **where: Any) -> SparseEncoder:
    """The encoder of a system of kind `impact`; arguments (`where`: device, precision) as of `load_encoder`.

    Raises ToolkitError for anything but a masked language model whose logits are pooled: other weights would be random.
    """
    folder = local_checkpoints.locate(spec, trust_remote_code=trust_remote_code)
    model = load_model("SparseEncoder", spec, folder, trust_remote_code=trust_remote_code, **where)
    modules = [type(module).__name__ for module in model]
    architectures = getattr(model[0].config, "architectures", None) if modules[1:] == ["SpladePooling"] else None
    if not any(name.endswith("ForMaskedLM") for name in architectures or []):
        hint = "SPLADE and models of its form are supported"
        raise ToolkitError(f"{folder} is no masked language model with SPLADE's pooling", hint)
    if model.device.type == "cpu" and model[1].pooling_strategy == "max":  # a sum would depend on it
        model[1].chunk_size = POOLED
    return SparseEncoder(spec, folder, model, batch_size)


class SparseEncoder(SentenceEncoder):
    """Texts to weights (SPLADE and its kin): of each term the largest over all tokens of log(1 + relu(logit)).

    `encode` gives of each input the terms that have a weight, in the vocabulary's order: term -> weight.
    """

    def __init__(self, spec: SystemSpec, folder: Path, model: Any, batch_size: int):
        model.prompts = {}  # the entry's templates have all that is sent
        super().__init__(spec, folder, model, batch_size)
        self._terms: list[str] = []

    def _results(self, texts: list[str], side: str) -> list[dict[str, float]]:
        rows = self._run(texts, side, convert_to_sparse_tensor=False).float().cpu().numpy()
        check_finite(texts, rows, self.precision)
        self._terms = self._terms or _terms(self.model.tokenizer, rows.shape[1])
        nonzero = [(row.nonzero()[0], row) for row in rows]
        return [{self._terms[column]: float(row[column]) for column in columns.tolist()} for columns, row in nonzero]


def _terms(tokenizer: Any, count: int) -> list[str]:
    """A name for each column: the token; its number where there is none, or where white space would divide it."""
    tokens = tokenizer.convert_ids_to_tokens(range(count))
    return [token if token and token.split() == [token] else f"[{number}]" for number, token in enumerate(tokens)]
