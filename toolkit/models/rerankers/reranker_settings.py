"""The parameters of a system's entry, as each kind of pointwise reranker understands them."""

from dataclasses import asdict, dataclass
from typing import Any

from toolkit.core.errors import ToolkitError


@dataclass(frozen=True)
class Parameters:
    """What all kinds have.

    length      tokens of a pair at most, special ones counted; None for what tokenizer and model say (512 at most)
    activation  `identity` (the logit, or the difference of two) or `sigmoid` of it (of two logits: their softmax)
    """

    length: int | None = None
    activation: str = "identity"

    def facts(self, **resolved: Any) -> dict[str, Any]:
        """What a run's record says of them, whether the entry has them or not; `resolved` is what the checkpoint decided."""
        values = {**asdict(self), **resolved}
        values.pop("prompt", None)  # which prompt was sent, it says itself
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class CrossEncoderParameters(Parameters):
    """query_share  how much of `length` a query may take before the document is truncated; 1: the longer text is first."""

    query_share: float = 1.0


@dataclass(frozen=True)
class PromptParameters(Parameters):
    """Of models that are asked in words.

    tokens  the two that are compared, as the vocabulary has them, positive first
    prompt  its name in the registry
    cut     what is shortened when a prompt is too long: the `document`, or the end of the whole `prompt`
    """

    activation: str = "sigmoid"
    tokens: tuple[str, str] = ("▁true", "▁false")
    prompt: str = "pointwise-monot5.v1"
    cut: str = "document"

    def __post_init__(self):
        if len(set(self.tokens)) != 2:
            raise ToolkitError(f"tokens are {list(self.tokens)}", "two different ones, positive first")


@dataclass(frozen=True)
class YesNoParameters(PromptParameters):
    """Of decoders.

    length     None for what tokenizer and model say (2048 at most)
    chat       whether the checkpoint's chat template is put around the prompt; None: where it has one
    reasoning  how many tokens of `length` it may write before it answers; 0: it answers at once
    """

    tokens: tuple[str, str] = ("yes", "no")
    prompt: str = "pointwise-yes-no.v1"
    chat: bool | None = None
    reasoning: int = 0


PROMPTED = {"monot5": PromptParameters, "yes-no": YesNoParameters}
SETTINGS = {"cross-encoder": CrossEncoderParameters, **PROMPTED}
