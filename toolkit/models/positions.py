"""Maximum position embeddings: the length of a model's table of positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def table_of_positions(model: PreTrainedModel) -> int | None:
    """How many positions a table of learnt ones has; None where the model has no table."""
    from torch import nn

    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa and its kin begin to count after the padding's
            first = module.padding_idx + 1 if module.padding_idx is not None else 0
            return module.num_embeddings - first
    return None
