"""Learned sparse retrieval: weights over a vocabulary, by sentence-transformers' SparseEncoder (SPLADE and its kin)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints.local_checkpoints import locate
from toolkit.models.encoders.base import check_finite
from toolkit.models.encoders.sentence_transformers_adapter import SentenceEncoder, load_model


def load(spec: SystemSpec, *, batch_size: int, trust_remote_code: bool, **where: Any) -> SparseEncoder:
    """The encoder of a system of kind `impact`; arguments (`where`: device, precision) as of `load_encoder`.

    Raises ToolkitError for anything but a masked language model whose logits are pooled: other weights would be random.
    """
    folder = locate(spec, trust_remote_code=trust_remote_code)
    model = load_model("SparseEncoder", spec, folder, trust_remote_code=trust_remote_code, **where)
    modules = [type(module).__name__ for module in model]
    architectures = getattr(model[0].config, "architectures", None) if modules[1:] == ["SpladePooling"] else None
    if not any(name.endswith("ForMaskedLM") for name in architectures or []):
        raise ToolkitError(
            f"{folder} is no masked language model with SPLADE's pooling", "SPLADE and models of its form are supported"
        )
    return SparseEncoder(spec, folder, model, batch_size)


class SparseEncoder(SentenceEncoder):
    """Texts to weights: of each term of the vocabulary the largest over all tokens of log(1 + relu(logit)).

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
