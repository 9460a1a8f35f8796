"""The parameters of a judge's entry."""

from dataclasses import dataclass
from typing import Any

from toolkit.core.errors import ToolkitError

TOKEN, ENTAILMENT, WORDS = "token", "entailment", "yes-ends"
SAMPLING = ("temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True)
class Settings:
    """How a judge is asked and how its answer is read.

    positive             `yes-ends`: it writes, and the answer begins or ends with yes, or begins with true or entail, in lower
                         case; `token`: one pass, the share of the first of two tokens where the answer would begin;
                         `entailment`: one pass of a classifier, the share of its class of that name
    tokens               of `token`: ids, or pieces of the vocabulary
    threshold            the share from which on the answer is positive
    length               tokens of what it reads: the document is shortened to it; None for what the model says
    document_characters  the most characters of a document that are shown; None for all
    max_tokens           of an answer in words; None for what a server thinks right
    temperature, top_k, top_p, seed   of an answer in words
    chat                 whether the checkpoint's chat template goes around the prompt; None: where it has one
    system               `keep`, `merge` or `drop` the prompt's system turn
    """

    positive: str = WORDS
    tokens: tuple[str | int, ...] = ()
    threshold: float = 0.5
    length: int | None = None
    document_characters: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    chat: bool | None = None
    system: str = "keep"

    def __post_init__(self):
        if self.positive == TOKEN and len(set(self.tokens)) != 2:
            raise ToolkitError(f"tokens are {list(self.tokens)}", "two different ones, positive first")
        if not 0 < self.threshold < 1:
            raise ToolkitError(f"threshold is {self.threshold}", "a share between 0 and 1")

    @property
    def in_words(self) -> bool:
        """Whether the judge answers in words."""
        return self.positive == WORDS

    def options(self) -> dict[str, Any]:
        """Of a request for an answer in words."""
        options = {name: getattr(self, name) for name in ("max_tokens", *SAMPLING)}
        return {name: value for name, value in options.items() if value is not None}
