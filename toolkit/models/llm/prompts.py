"""Prompts as data: `registry/prompts/<name>.yaml`, or a file of the user's in the same form.

name, version   both are in the record of every run
kind            what it is for; says which slots it has
description     and what it was written from
turns           in their order: `{role, content}`; turns under `each` come once for every passage
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import SLOT
from toolkit.core.yaml_json import read_yaml
from toolkit.models.llm.messages import Message
from toolkit.registry.loader import FOLDER, did_you_mean

PROMPTS = FOLDER / "prompts"
KEYS = {"kind", "description", "source", "turns"}
ROLES = ("system", "user", "assistant")
# kind -> its slots, and those of a turn under `each`; all of them have to occur
SLOTS = {
    "listwise": (("query", "count"), ("number", "passage")),
    "pointwise": (("query", "document"), ()),
    "judge": (("document", "statement"), ()),
    "judge-stance": (("question", "first", "second"), ()),
    "expander": (("question",), ()),
}
BUILD = "build"  # a kind whose prompts have the slots that the step of a build fills: each step says which


@dataclass(frozen=True)
class Prompt:
    """A prompt with slots.

    name   in the registry, or the file's
    turns  (role, content, whether it comes once for every passage)
    shots  examples that stand before the question: what fills the slots, and the answer
    ours   one of the registry's, which were written for this project: no model was trained on it
    """

    name: str
    kind: str
    turns: tuple[tuple[str, str, bool], ...]
    ours: bool
    shots: tuple[tuple[Mapping[str, str], str], ...] = ()

    def messages(
        self, values: Mapping[str, str], passages: Iterable[Mapping[str, str]] = (), *, system: str = "keep"
    ) -> list[Message]:
        """The chat that is sent: slots filled, neighbouring turns of one role joined by a line feed.

        system  `keep` the system turn; `merge` it into the first user turn, for chat templates that refuse one; or `drop` it
        """
        turns = list(self._filled_turns(values, list(passages)))
        if system == "drop":
            turns = [turn for turn in turns if turn[0] != "system"]
        elif system == "merge":
            turns = [("user" if role == "system" else role, text) for role, text in turns]
        messages: list[Message] = []
        for role, text in turns:
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += f"\n{text}"
            else:
                messages.append({"role": role, "content": text})
        return messages

    def _filled_turns(self, values: Mapping[str, str], passages: list[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
        """(role, text) of every turn: those of the examples first, system turns only once."""
        for number, (slots, answer) in enumerate([*self.shots, (values, "")]):
            for role, content, row in self._rows(slots, passages):
                if number == 0 or role != "system":
                    yield role, _fill(content, row)
            if answer:
                yield "assistant", answer

    def _rows(self, values: Mapping[str, str], passages: list[Mapping[str, str]]) -> Iterable[tuple[str, str, Mapping]]:
        """Turns with what fills them; a block of `each` turns comes once a passage."""
        for repeated, block in itertools.groupby(self.turns, key=lambda turn: turn[2]):
            block = list(block)
            for row in [{**values, **passage} for passage in passages] if repeated else [values]:
                yield from ((role, content, row) for role, content, _ in block)

    @property
    def slots(self) -> frozenset[str]:
        """The slots that occur in it."""
        return frozenset(slot for _, content, _ in self.turns for slot in SLOT.findall(content))

    @property
    def sha256(self) -> str:
        """Over the turns, and the examples where there are some: what is sent, not how the file is laid out."""
        content = [self.turns, self.shots] if self.shots else self.turns
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()

    def facts(self, spec: SystemSpec) -> dict[str, Any]:
        """What a run's record says of its prompt.

        `prompt: ours` marks a system whose own prompt is published at `prompt_source` (it was trained on it, or the paper's run
        was made with it) and which was sent one of ours: its run is not to be set beside a published row.
        """
        source = spec.parameters.get("prompt_source")
        said = {"prompt_sha256": self.sha256, **({"prompt_source": source} if source else {})}
        said |= {"shots": len(self.shots)} if self.shots else {}
        return {"prompt": "ours", "prompt_name": self.name, **said} if self.ours and source else {"prompt": self.name, **said}

    def show(self) -> str:
        """The prompt for people, slots and all."""
        marks = {False: "", True: ", once for every passage"}
        if self.shots:
            slots = {slot: f"{{{slot}}}" for slot in self.slots}
            return "\n\n".join(f"--- {turn['role']}\n{turn['content']}" for turn in self.messages(slots))
        return "\n\n".join(f"--- {role}{marks[repeated]}\n{content}" for role, content, repeated in self.turns)


def slot_problems(prompt: Prompt, filled: Sequence[str]) -> list[str]:
    """What a prompt of a build lacks of the slots that are filled, and has beside them."""
    return list(_slot_problems(set(prompt.slots), filled))


def load_prompt(name: str, kind: str) -> Prompt:
    """The prompt of a name or file. ToolkitError for one that is not there, is of another kind, or has wrong slots."""
    known = sorted(path.stem for path in PROMPTS.glob(f"{kind}*.yaml"))
    if name in known:
        return _prompt(PROMPTS / f"{name}.yaml", kind, ours=True)
    if not Path(name).is_file():
        raise ToolkitError(f"no prompt {name!r}", f"{did_you_mean(name, known)}known: {', '.join(known)}; or a file")
    return _prompt(Path(name), kind, ours=False)


def _prompt(path: Path, kind: str, *, ours: bool) -> Prompt:
    row = read_yaml(path)
    problems = list(_problems(row, kind))
    if problems:
        hint = "see the prompts in toolkit/registry/prompts"
        raise ToolkitError(f"{path} is no prompt of kind {kind}", hint, problems=problems)
    turns = [(turn["role"], turn["content"], "each" in entry) for entry in row["turns"] for turn in entry.get("each", [entry])]
    return Prompt(path.stem if ours else path.name, kind, tuple(turns), ours)


def _problems(row: Any, kind: str) -> Iterator[str]:
    """What is wrong with the content of a prompt's file."""
    if not isinstance(row, Mapping) or not {"kind", "turns"} <= row.keys() <= KEYS:
        yield "it has the keys kind and turns, and may have description and source"
        return
    if row["kind"] != kind:
        yield f"it is of kind {row['kind']}"
    entries = row["turns"] if isinstance(row["turns"], list) and all(isinstance(e, Mapping) for e in row["turns"]) else []
    repeats = [entry for entry in entries if "each" in entry]
    if any(len(entry) > 1 or not isinstance(entry["each"], list) for entry in repeats):
        yield "`each` has a list of turns, and nothing stands beside it"
        return
    blocks = {False: [e for e in entries if "each" not in e], True: [turn for entry in repeats for turn in entry["each"]]}
    for repeated, turns in blocks.items():
        found = yield from _turn_problems(turns)
        if kind == BUILD:
            yield from ["`each` has no meaning in a build"] if repeated and turns else []
        else:
            yield from _slot_problems(found, SLOTS[kind][repeated], SLOTS[kind][0] if repeated else ())


def _turn_problems(turns: Sequence[Any]) -> Generator[str, None, set[str]]:
    """What is wrong with turns; the slots that occur in them are returned."""
    slots: set[str] = set()
    for turn in turns:
        is_turn = isinstance(turn, Mapping) and turn.keys() == {"role", "content"}
        if not (is_turn and turn["role"] in ROLES and isinstance(turn["content"], str)):
            yield f"a turn is a role ({', '.join(ROLES)}) and its content, found {turn!r}"
        else:
            slots.update(SLOT.findall(turn["content"]))
    return slots


def _slot_problems(slots: set[str], needed: Sequence[str], allowed: Sequence[str] = ()) -> Iterator[str]:
    yield from (f"slot {{{slot}}} is missing" for slot in needed if slot not in slots)
    yield from (f"slot {{{slot}}} is unknown here" for slot in sorted(slots - {*needed, *allowed}))


def _fill(content: str, values: Mapping[str, str]) -> str:
    return SLOT.sub(lambda match: values[match[1]], content)
