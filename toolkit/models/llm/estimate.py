"""How many tokens a text has for a model whose tokenizer is not at hand."""

import string
from collections.abc import Callable, Sequence

from toolkit.models.llm.messages import Message

TURN_TOKENS = 8  # what a chat template adds to a turn
ASCII, LETTERS = bytes(range(128)), string.ascii_letters.encode() + b" \n\t"
FIRST_BYTES = bytes(range(0xC0, 0x100))  # of the characters beyond ASCII, in UTF-8


def estimate_tokens(text: str) -> int:
    """Tokens of a text for a model whose tokenizer is not at hand; meant to err upwards.

    A token for each 3 ASCII letters and blanks (English prose has 4 to 5 a token), one for each digit and other ASCII
    sign, and for each character beyond ASCII one less than its bytes in UTF-8 (Cyrillic and Persian 1, Chinese 2).
    """
    raw = text.encode("utf-8", "surrogatepass")
    rest = raw.translate(None, LETTERS)
    wide = rest.translate(None, ASCII)
    # a character beyond ASCII has one first byte (11xxxxxx) and further ones (10xxxxxx): these are what counts
    return -(-(len(raw) - len(rest)) // 3) + len(rest) - len(wide) + len(wide.translate(None, FIRST_BYTES))


class Estimate:
    """Token counts that err upwards."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Of a chat: of its texts, and 8 more a turn for what the model's template adds."""
        return sum(estimate_tokens(message["content"]) + TURN_TOKENS for message in messages)

    def count_text(self, text: str) -> int:
        """Of a text."""
        return estimate_tokens(text)


def longest_that_fits(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number of words or characters, at most `most`, with which a prompt fits; 0 where not one does."""
    if fits(most):
        return most
    low, high = 0, most  # `low` fits (or is 0), `high` does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
