"""Adapters (LoRA) through PEFT: what is used is their base with the adapter merged into it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def merged(spec: SystemSpec, model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter in `folder` merged into it; ToolkitError where that is another model's."""
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PEFT, to its own authors
        # PEFT only warns, and the base alone would answer
        warnings.filterwarnings("error", message="Found missing adapter keys")
        try:
            return PeftModel.from_pretrained(model, folder).merge_and_unload()
        except (UserWarning, RuntimeError) as error:
            message = f"{spec.name}: the adapter in {folder} does not fit {type(model).__name__}"
            raise ToolkitError(message, "check the entry's base and base_revision") from error
