"""Texts to the token ids that a model is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import transformers
from toolkit.core.templates import Input
from toolkit.models.vectors.batches import within_budget

FAR = 1_000_000  # no limit; transformers' tokenizers say 10**30 where they know none
AT_ONCE = 4_000_000  # characters: a tokenizer holds a hundred bytes for each token of the texts that it is given together


class Sent(NamedTuple):
    """One input as the model sees it.

    ids        with special tokens, truncated at the limit
    prefix     how many of them come before the text's own: the special ones in front and the prefix's
    truncated  whether it was longer than the limit
    """

    ids: list[int]
    prefix: int
    truncated: bool

    def lost(self, tail: int) -> bool:
        """Whether nothing of the text itself is left; `tail` special tokens end every input."""
        return self.truncated and self.prefix >= len(self.ids) - tail


class Framing:
    """Tokens between the special ones that the tokenizer puts around them; `bos` and `eos` where it does not do so by itself.

    They are put there by us: transformers 5 no longer looks at a tokenizer's `add_bos_token` and `add_eos_token`, so that
    checkpoints of the Mistral kind lose theirs, and a truncated text must end as a whole one does. ToolkitError for an end that
    it has not.
    """

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase, *, bos: bool = False, eos: bool = False):
        self.tokenizer = tokenizer
        bare, framed = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
        start = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
        self.head, self.tail = framed[:start], framed[start + len(bare) :]
        if bos and tokenizer.bos_token_id not in (None, *self.head[:1]):
            self.head = [tokenizer.bos_token_id, *self.head]
        if eos and tokenizer.eos_token_id is None:
            hint = "leave `eos` out of the entry"
            raise ToolkitError(f"the tokenizer of {tokenizer.name_or_path} has no end of sequence", hint)
        if eos and tokenizer.eos_token_id not in self.tail[-1:]:
            self.tail = [*self.tail, tokenizer.eos_token_id]
        self.pad = next(token for token in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if token is not None)

    def __call__(self, inputs: Sequence[Input], limit: int) -> list[Sent]:
        """Each input as it is sent, at most `limit` tokens long.

        A prefix counts as many tokens as it has by itself, which is how the authors of Instructor and GritLM count; a blank at
        its end, which is a token by itself alone, is the text's first token's, as NV-Embed's count comes out.
        """
        prefixes = list(dict.fromkeys(each.prefix for each in inputs))
        bare = [prefix.rstrip(" ") for prefix in prefixes]
        sizes = {prefix: len(ids) for prefix, ids in zip(prefixes, self._tokens(bare), strict=True)}
        room = max(0, limit - len(self.head) - len(self.tail))
        sent = []
        for each, body in zip(inputs, self._tokens([each.whole for each in inputs]), strict=True):
            ids = [*self.head, *body[:room], *self.tail]
            before = len(self.head) + sizes[each.prefix] if each.prefix else 0
            sent.append(Sent(ids, min(before, len(ids) - len(self.tail)), len(body) > room))
        return sent

    def _tokens(self, texts: list[str]) -> Iterator[list[int]]:
        """Of each text, all of them."""
        options = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
        for group in within_budget(map(len, texts), AT_ONCE):
            yield from self.tokenizer(texts[group], add_special_tokens=False, **options)["input_ids"]
