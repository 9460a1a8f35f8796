"""A prompt fitted around a query and a document, so that all of it keeps within a model's length."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import transformers
from toolkit.core.templates import Input
from toolkit.models.checkpoints.chat_template import Refused, filled
from toolkit.models.llm.prompts import Prompt, load_prompt
from toolkit.models.rerankers.base import Pair, Row

QUERY, DOCUMENT = "{query}", "{document}"
# a judge's prompt has other names for the two: a statement for a query, and a question in a document's place
SLOTTED = {"query": QUERY, "statement": QUERY, "document": DOCUMENT, "question": DOCUMENT}
KIND = "pointwise"
CHAT_HINT = "give it a prompt that it takes (--prompt), or say `chat: false` in an entry of your own (--systems)"
THOUGHT, CLOSED = "<think>", "\n\n</think>\n\n"


def pointwise_prompt(name: str | Prompt) -> Prompt:
    """The prompt of a name or file (see `toolkit.models.llm.prompts`), its document once, where it is truncated."""
    prompt = load_prompt(name, KIND) if isinstance(name, str) else name
    if skeleton(prompt).count(DOCUMENT) != 1:
        raise ToolkitError(f"prompt {prompt.name} has {DOCUMENT} more than once", "once, where the document goes")
    return prompt


def skeleton(
    prompt: Prompt,
    tokenizer: transformers.PreTrainedTokenizerBase | None = None,
    *,
    thinks: bool = False,
    system: str = "keep",
    gap: str = "",
) -> str:
    """All that is said around query and document, their slots in place.

    Without a tokenizer, whose chat template is put around the turns, they follow each other with `gap` between them. An
    assistant's turn at the end starts the answer. Where the model is not to think, a thought that the template opens is closed:
    behind an open one no answer begins. Raises ToolkitError for a template that refuses the turns, or drops one of the slots.
    """
    turns = prompt.messages(SLOTTED, system=system)
    if tokenizer is None:
        return gap.join(turn["content"] for turn in turns)
    answer_start = turns.pop()["content"] if turns[-1]["role"] == "assistant" else ""
    if not tokenizer.chat_template:
        raise ToolkitError(f"no chat template for prompt {prompt.name}: the tokenizer has none", CHAT_HINT)
    try:
        text = filled(tokenizer, turns, thinks=thinks)
    except Refused as error:
        raise ToolkitError(f"the chat template refuses prompt {prompt.name}: {error}", CHAT_HINT) from error
    if lost := [slot for slot in (QUERY, DOCUMENT) if slot not in text]:
        raise ToolkitError(f"the chat template drops {lost[0]} of prompt {prompt.name}", "put it into the user's turn")
    if text.rstrip().endswith(THOUGHT) and not thinks:
        text = text.rstrip() + CLOSED
    return text + answer_start


class PromptEncoder:
    """Pairs into one text each, truncated to the model's length.

    cut    `document`: a document is shortened until all fits; `prompt`: whatever stands at the end goes, the cue too
    turns  `system` and `gap`, see `skeleton`
    """

    def __init__(
        self,
        prompt: Prompt,
        tokenizer: transformers.PreTrainedTokenizerBase,
        *,
        length: int,
        chat: bool,
        cut: str,
        thinks: bool = False,
        **turns: str,
    ):
        self._before, self._after = skeleton(prompt, tokenizer if chat else None, thinks=thinks, **turns).split(DOCUMENT)
        self._tokenizer, self._length = tokenizer, length
        # a chat template writes the special tokens itself
        self._options = {"add_special_tokens": not chat}
        self._cuts_document = cut == "document"

    def texts(self, pair: Pair) -> tuple[str, str, str]:
        """What stands before the document, the document, and what stands after it."""
        query, document = pair
        return self._before.replace(QUERY, query.whole), document.whole, self._after.replace(QUERY, query.whole)

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs as they are sent. ToolkitError where a query leaves no room for its documents."""
        parts = [self.texts(pair) for pair in pairs]
        encoded = self._tokenizer(["".join(part) for part in parts], return_attention_mask=False, **self._options)
        rows = []
        for pair, part, ids in zip(pairs, parts, encoded["input_ids"], strict=True):
            is_long = len(ids) > self._length
            rows.append(Row(self._shortened(part, pair[0]) if is_long else ids, [], is_long))
        return rows

    def _shortened(self, part: tuple[str, str, str], query: Input) -> list[int]:
        if not self._cuts_document:
            return self._tokenizer("".join(part), truncation=True, max_length=self._length, **self._options)["input_ids"]
        before, document, after = part
        while True:
            encoded = self._tokenizer(before + document + after, return_offsets_mapping=True, **self._options)
            excess = len(encoded["input_ids"]) - self._length
            if excess <= 0:
                return encoded["input_ids"]
            start, end = len(before), len(before) + len(document)
            inside = [first for first, last in encoded["offset_mapping"] if last > start and first < end]
            if not document:
                excess_text = f"{query.text[:60]!r} needs {excess} tokens more than {self._length}"
                hint = "give the system a larger `length` in a file of your own (--systems)"
                raise ToolkitError(f"a query leaves no room for a document: {excess_text}", hint)
            # a token may begin before the document, or several (of one character) at the same place
            last = inside[-excess] if excess <= len(inside) else start
            document = document[: max(0, min(last - start, len(document) - 1))]
