"""Prompts as data: read from the registry or a user's file, and fitted around a query and a document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_input
from toolkit.core.specs import SystemSpec
from toolkit.models.rerankers.base import Pair, Row
from toolkit.registry.loader import FOLDER, did_you_mean, read_yaml, to_spec

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROMPTS = FOLDER / "prompts"
QUERY, DOCUMENT = "{query}", "{document}"
# Llama's templates state a date: today's would change scores from one day to the next
TEMPLATE_DATE = "26 Jul 2024"


@dataclass(frozen=True)
class Prompt:
    """What is said to a model; `{query}` and `{document}` stand where the two filled templates go, once each.

    system, user, assistant  the turns: `assistant` is how the answer is begun for the model; without a chat template they
                             are sent one after the other as they are
    description, source      what it is for, and where its structure is described
    """

    user: str
    system: str = ""
    assistant: str = ""
    description: str = ""
    source: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over what is sent."""
        said = [self.system, self.user, self.assistant]
        return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()

    def skeleton(self, tokenizer: PreTrainedTokenizerBase | None) -> str:
        """The text around query and document; in the tokenizer's chat template where one is given."""
        if tokenizer is None:
            return self.system + self.user + self.assistant
        turns = [{"role": "system", "content": self.system}] if self.system else []
        turns.append({"role": "user", "content": self.user})
        text = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, date_string=TEMPLATE_DATE, enable_thinking=False
        )
        return text + self.assistant


def load_prompt(name: str, file: Path | None = None) -> Prompt:
    """The prompt of this name in the registry, or a user's file: YAML with the keys of `Prompt`, or the user turn as text.

    Raises ToolkitError where there is none, and where a slot is missing or comes twice.
    """
    path = file or PROMPTS / f"{name}.yaml"
    if file is None and not path.exists():
        known = sorted(path.stem for path in PROMPTS.glob("*.yaml"))
        raise ToolkitError(f"no prompt {name!r}", f"{did_you_mean(name, known)}known: {', '.join(known)}")
    if path.suffix in (".yaml", ".yml"):
        prompt = to_spec(Prompt, read_yaml(path), path)
    else:
        with open_input(path) as content:
            prompt = Prompt(user=_decoded(content.read(), path))
    said = prompt.system + prompt.user + prompt.assistant
    if wrong := [slot for slot in (QUERY, DOCUMENT) if said.count(slot) != 1]:
        raise ToolkitError(f"{path}: {' and '.join(wrong)} must stand in a prompt once", "see the prompts in toolkit/registry")
    return prompt


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ToolkitError(f"{path}: not UTF-8 text", "save the file as UTF-8") from error


def prompt_facts(spec: SystemSpec, prompt: Prompt, name: str, file: Path | None) -> dict[str, Any]:
    """What a run's metadata say of its prompt.

    `prompt: ours` marks a checkpoint that was trained on a fixed prompt (published at `prompt_source`) and was sent one of
    ours: its run is not to be set beside a published row.
    """
    source = spec.parameters.get("prompt_source")
    said = {"prompt_sha256": prompt.digest, **({"prompt_source": source} if source else {})}
    if file is not None:
        return {"prompt": file.name, **said}
    return {"prompt": "ours", "prompt_name": name, **said} if source else {"prompt": name, **said}


class PromptEncoder:
    """Pairs into one text each, cut to the model's length.

    chat  whether the tokenizer's chat template is put around the prompt
    cut   `document`: a document is shortened until all fits; `prompt`: whatever stands at the end goes, the cue too
    """

    def __init__(self, prompt: Prompt, tokenizer: PreTrainedTokenizerBase, *, length: int, chat: bool, cut: str):
        self._before, self._after = prompt.skeleton(tokenizer if chat else None).split(DOCUMENT)
        self._tokenizer = tokenizer
        self._length = length
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
        rows = [Row(ids, [], len(ids) > self._length) for ids in encoded["input_ids"]]
        return [Row(self._shortened(part), [], True) if row.cut else row for part, row in zip(parts, rows, strict=True)]

    def _shortened(self, part: tuple[str, str, str]) -> list[int]:
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
                raise ToolkitError(
                    f"a query leaves no room for a document: it needs {excess} tokens more than {self._length}",
                    "give the system a larger `length` in a file of your own (--systems)",
                )
            # a token may begin before the document, or several (of one character) at the same place
            last = inside[-excess] if excess <= len(inside) else start
            document = document[: max(0, min(last - start, len(document) - 1))]
