"""Checkpoints into models, through transformers: complete and of the kind that is asked for, or refused."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from toolkit.core.errors import ToolkitError, three
from toolkit.core.specs import SystemSpec
from toolkit.files.store import reason
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.architectures import check_weights, is_native, native
from toolkit.models.checkpoints.hub import origin_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from toolkit.models.rerankers.base import Row

CAUSAL = "AutoModelForCausalLM"
UNLISTED_LENGTH = 512  # tokens, for a checkpoint of which no entry says more, unless tokenizer or model say less


@dataclass(frozen=True)
class Loaded:
    """A model on its device, in evaluation mode, with its tokenizer. origin: see `origin_of`."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    device: torch.device
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """What a run's record says of how it was run."""
        return {**self.origin, "device": self.device.type, "precision": computing.precision_of(self.model.dtype)}

    def length(self, spec: SystemSpec, wanted: int | None, unlisted: int = UNLISTED_LENGTH) -> int:
        """How many tokens of a pair it is sent at most, see `length_limit`."""
        return length_limit(spec, "length", wanted, self.model, self.tokenizer, unlisted)


def load(
    auto: str, spec: SystemSpec, *, device: str | None, precision: str | None, trust_remote_code: bool, what: str
) -> Loaded:
    """A checkpoint through one of transformers' AutoModel classes; a language model's adapter is merged into its base.

    Raises ToolkitError where the checkpoint cannot be had or does not fit (see `local_checkpoints`), where it does not hold the
    weights of such a model (see `check_weights`), for an adapter of another kind, and for a tokenizer without offsets.
    """
    if spec.base and auto != CAUSAL:
        message = f"{spec.name} is an adapter, and no language model's: such are loaded whole"
        raise ToolkitError(message, "merge it into its base")
    transformers = computing.import_transformers()
    folder = local_checkpoints.locate(spec, trust_remote_code=trust_remote_code)
    place = computing.pick_device(device)
    whole = local_checkpoints.base_of(spec) or folder  # an adapter has the tokenizer of its base
    local_checkpoints.check_memory(spec, whole, place, precision)
    origin = origin_of(folder, whole)
    shared = {"trust_remote_code": trust_remote_code and not is_native(whole)}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(whole, **shared)
        config, kind = native(whole, auto) or (None, getattr(transformers, auto))
        options = {"config": config, "dtype": computing.pick_dtype(spec, precision, place), **shared}
        check_weights(spec.name, whole, kind, **options)
        model = kind.from_pretrained(whole, use_safetensors=True, **options)
    except ToolkitError:
        raise
    except Exception as error:  # transformers has no class of its own for what it cannot load
        hint = "see --kind; is the checkpoint complete?"
        raise ToolkitError(f"{spec.name} does not load as a {what}: {reason(error)}", hint) from error
    if spec.base:
        model = merged(spec, model, folder)
    if not tokenizer.is_fast:
        message = f"{spec.name}: its tokenizer does not say where tokens stand in a text"
        raise ToolkitError(message, "add a tokenizer.json to it")
    tokenizer.truncation_side = "right"  # some checkpoints' say left, for their own generation
    if model.config.pad_token_id is None:  # classifiers on decoders look for a text's last token before the padding
        model.config.pad_token_id = tokenizer.pad_token_id or 0
    return Loaded(model.to(place).eval(), tokenizer, torch.device(place), origin)


def merged(spec: SystemSpec, model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter in `folder` merged into it; ToolkitError where that is another model's."""
    from peft import PeftModel, get_peft_model_state_dict, load_peft_weights

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PEFT, to its own authors
        # PEFT only warns, and the base alone would answer
        warnings.filterwarnings("error", message="Found missing adapter keys")
        try:
            adapted = PeftModel.from_pretrained(model, folder)
            if unused := set(load_peft_weights(str(folder), device="cpu")) - set(get_peft_model_state_dict(adapted)):
                raise ValueError(three(unused))
            return adapted.merge_and_unload()
        except Exception as error:  # a UserWarning, or whatever PEFT and torch raise over a file that is damaged
            message = f"{spec.name}: the adapter in {folder} does not fit {type(model).__name__} ({reason(error)[:500]})"
            raise ToolkitError(message, "check the entry's base and base_revision") from error


def table_of_positions(model: PreTrainedModel) -> int | None:
    """Maximum position embeddings: how many positions a table of learnt ones has; None where the model has no table."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and its kin begin to count after the padding's
            return module.num_embeddings - (module.padding_idx + 1 if module.padding_idx is not None else 0)
    return None


def length_limit(
    spec: SystemSpec, name: str, wanted: int | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, unlisted: int
) -> int:
    """How many tokens a model is sent at most: those wanted, else the least of what tokenizer and model say and `unlisted`.

    name  of the parameter that says what is wanted; ToolkitError for more than the model has positions for
    """
    positions = table_of_positions(model)
    if wanted and positions and wanted > positions:
        message = f"{spec.name}: {name} is {wanted}, but the model has {positions} positions"
        raise ToolkitError(message, f"set {name} to {positions} or less")
    trained = getattr(model.config, "max_position_embeddings", None)
    return wanted or min(known for known in (unlisted, tokenizer.model_max_length, positions, trained) if known)


def token_ids(loaded: Loaded, spec: SystemSpec, tokens: Sequence[str | int]) -> list[int]:
    """The ids of tokens, given as such or as pieces of the vocabulary; ToolkitError for one that the model has not."""
    vocabulary = loaded.tokenizer.get_vocab()
    if unknown := [token for token in tokens if isinstance(token, str) and token not in vocabulary]:
        hint = "`tokens` are pieces of the vocabulary, such as '▁true' (SentencePiece) or 'Ġtrue' (byte-level BPE)"
        raise ToolkitError(f"{spec.name}: its vocabulary has no token {', '.join(map(repr, unknown))}", hint)
    ids = [token if isinstance(token, int) else vocabulary[token] for token in tokens]
    head = loaded.model.get_output_embeddings()  # None where a repository's own code does not name it
    if head and (beyond := [token for token in ids if not 0 <= token < len(head.weight)]):
        message = f"{spec.name}: it has {len(head.weight)} tokens, and none of id {beyond[0]}"
        raise ToolkitError(message, "see `tokens` in its entry")
    return ids


def padded(rows: Sequence[Row], loaded: Loaded, side: str = "right") -> dict[str, torch.Tensor]:
    """Rows as a batch, each (n, longest) int64 on the model's device; no mask where all are of one length: it costs time."""
    longest = max(len(row.ids) for row in rows)
    ids = np.full((len(rows), longest), loaded.tokenizer.pad_token_id or 0)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for line, row in enumerate(rows):
        place = slice(longest - len(row.ids), None) if side == "left" else slice(len(row.ids))
        ids[line, place], mask[line, place] = row.ids, 1
        types[line, place] = row.types or 0
    batch = {"input_ids": ids}
    if not mask.all():
        batch["attention_mask"] = mask
    if any(row.types for row in rows):
        batch["token_type_ids"] = types
    return {name: torch.from_numpy(values).to(loaded.device) for name, values in batch.items()}


def as_scores(logits: torch.Tensor) -> np.ndarray:
    """(n,) logits of any precision as float64."""
    return logits.float().cpu().numpy().astype(np.float64)
