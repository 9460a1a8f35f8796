"""Prompts as data: `registry/prompts/<name>.yaml`, or a file of the user's in the same form.

name, version   both are in the record of every run
kind            what it is for; says which slots it has
description     and what it was written from
turns           in their order: `{role, content}`; turns under `each` come once for every passage. `{name}` is a slot,
                `{{name}}` is sent as `{name}`
whose           `model` for a form that a model was trained on, with no sentence of others in it
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models.llm.messages import Message
from toolkit.models.llm.paper_prompts import PublishedPrompt, published_by, published_prompts, wording_sha256
from toolkit.registry.loader import FOLDER, did_you_mean

PROMPTS = FOLDER / "prompts"
KEYS = {"kind", "description", "source", "turns", "whose"}
SLOT = re.compile(r"\{(\{\w+\})\}|\{(\w+)\}")  # what is sent in braces, or a slot
OURS = "ours"  # whose a prompt of the registry is, unless its file says `model`
FILE = "a file"  # whose a prompt is that nobody has published
OTHER_SPACE, OF_USER = "other white space", "of the user's"  # how what is sent differs from what was published
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
    whose  `model` for one of the registry's that a model was trained on after all
    """

    name: str
    kind: str
    turns: tuple[tuple[str, str, bool], ...]
    ours: bool
    shots: tuple[tuple[Mapping[str, str], str], ...] = ()
    whose: str = OURS

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
                    yield role, SLOT.sub(lambda match, row=row: match[1] or row[match[2]], content)
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
        return frozenset(slot for _, content, _ in self.turns for slot in _slots(content))

    @cached_property
    def wording(self) -> str:
        """SHA-256 of what is sent, slots and all, without shots and whatever its white space, see `wording_sha256`."""
        return self._sha256_sent(layout=False)

    @cached_property
    def layout(self) -> str:
        """The same, with its white space."""
        return self._sha256_sent(layout=True)

    def _sha256_sent(self, *, layout: bool) -> str:
        slots = {slot: f"{{{slot}}}" for slot in self.slots}
        messages = replace(self, shots=()).messages(slots, [{}])
        return wording_sha256(((turn["role"], turn["content"]) for turn in messages), layout=layout)

    @property
    def published(self) -> PublishedPrompt | None:
        """The prompt of a paper, or of a model's authors, that this is word by word; None for any other."""
        return published_by(self.wording, self.name.removesuffix(".yaml"), self.layout)

    @property
    def said_of(self) -> str:
        """Whose it is: `paper (InfoSearch, table 16)`, `model`, `ours`, or FILE; and what of it is another than published."""
        said = self.whose if self.ours else FILE
        if printed := self.published:
            said = printed.said if printed.layout == self.layout else f"{printed.said[:-1]}, {OTHER_SPACE})"
        return f"{said}, with {len(self.shots)} example{'s' * (len(self.shots) > 1)} {OF_USER}" if self.shots else said

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
        said |= {"prompt_of": self.said_of, **({"shots": len(self.shots)} if self.shots else {})}
        return {"prompt": "ours", "prompt_name": self.name, **said} if self.ours and source else {"prompt": self.name, **said}

    def titled(self) -> str:
        """`show`, under its name and digest."""
        return f"{self.name} (sha256 {self.sha256})\n\n{self.show()}"

    def show(self) -> str:
        """The prompt for people, slots and all."""
        marks = {False: "", True: ", once for every passage"}
        if self.shots:
            slots = {slot: f"{{{slot}}}" for slot in self.slots}
            return "\n\n".join(f"--- {turn['role']}\n{turn['content']}" for turn in self.messages(slots))
        return "\n\n".join(f"--- {role}{marks[repeated]}\n{content}" for role, content, repeated in self.turns)


def slot_problems(prompt: Prompt, filled: Sequence[str]) -> list[str]:
    """What a prompt of a build lacks of the slots that are filled, and has beside them; published ones may lack some."""
    return list(_slot_problems(set(prompt.slots), () if prompt.published else filled, filled))


def check_prompts_folder(folder: str | Path) -> None:
    """Raise ToolkitError where there is no folder of that name; an empty name is none, and not this one."""
    if not (str(folder) and Path(folder).is_dir()):
        hint = "`tandem published prompts` makes one of a text of the paper"
        raise ToolkitError(f"no folder {str(folder) or repr('')}", hint)


def prompt_of_folder(name: str, folder: str | Path) -> str | None:
    """The file that a folder of published prompts has for one of them, or for what may stand for it; None where it has neither.

    Raises ToolkitError for a name or a folder that there is not, and for a file that is not word by word what was published.
    """
    prompts = published_prompts()
    if name not in prompts:
        raise ToolkitError(f"no published prompt {name!r}", f"{did_you_mean(name, prompts)}known: {', '.join(prompts)}")
    check_prompts_folder(folder)
    if (path := prompts[name].path(folder)) is None:
        return None
    printed = prompts[path.stem]
    if load_prompt(str(path), printed.kind).wording != printed.sha256:
        hint = "make it again with `tandem published prompts`; named alone, with --prompt, it counts as a file of yours"
        raise ToolkitError(f"{path} is not word by word what {printed.title} prints ({printed.place})", hint)
    return str(path)


def chosen_prompt(spec: SystemSpec, prompt: str | None, folder: str | Path | None) -> str | None:
    """What `--prompt` or `--prompts` chooses for a system: a name or a file; None for its own.

    Raises ToolkitError where both are given, where the folder is not there, and where it has no file for the system.
    """
    if folder is None:
        return prompt
    if prompt:
        raise ToolkitError("--prompt and --prompts are both given", "one file for this system, or a folder of published ones")
    if not (name := spec.parameters.get("published_prompt")):
        hint = "leave --prompts out, or choose a recipe (--recipe): a paper's may have one"
        raise ToolkitError(f"{spec.name} has no published prompt", hint)
    if path := prompt_of_folder(name, folder):
        return path
    printed = published_prompts()[name]
    hint = f"`tandem published prompts {printed.source} --from TEXT --to {folder}` makes it of a text of {printed.text}"
    raise ToolkitError(f"{folder} has no {name}.yaml ({printed.title}, {printed.place})", hint)


def load_prompt(name: str, kind: str) -> Prompt:
    """The prompt of a name or file. ToolkitError for one that is not there, is of another kind, or has wrong slots."""
    if name in (known := _names(kind)):
        return _ours(name, kind)
    if not Path(name).is_file():
        raise ToolkitError(f"no prompt {name!r}", f"{did_you_mean(name, known)}known: {', '.join(known)}; or a file")
    return _prompt(Path(name), kind, ours=False)


@cache
def _names(kind: str) -> list[str]:
    """Of the registry's prompts of a kind, which stay as they are while a process runs."""
    return sorted(path.stem for path in PROMPTS.glob(f"{kind}*.yaml"))


@cache
def _ours(name: str, kind: str) -> Prompt:
    """One of the registry's: a build asks for it with each item."""
    return _prompt(PROMPTS / f"{name}.yaml", kind, ours=True)


def _prompt(path: Path, kind: str, *, ours: bool) -> Prompt:
    row = read_yaml(path)
    if problems := list(_problems(row, kind)):
        hint = "see the prompts in toolkit/registry/prompts"
        raise ToolkitError(f"{path} is no prompt of kind {kind}", hint, problems=problems)
    return Prompt(path.stem if ours else path.name, kind, _turns(row["turns"]), ours, whose=row.get("whose", OURS))


def _turns(entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((turn["role"], turn["content"], "each" in entry) for entry in entries for turn in entry.get("each", [entry]))


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
    wrong = []
    for turn in (turn for turns in blocks.values() for turn in turns):
        is_turn = isinstance(turn, Mapping) and turn.keys() == {"role", "content"}
        if not (is_turn and turn["role"] in ROLES and isinstance(turn["content"], str)):
            wrong.append(f"a turn is a role ({', '.join(ROLES)}) and its content, found {turn!r}")
    yield from wrong
    if kind == BUILD:
        yield from ["`each` has no meaning in a build"] if repeats else []
    elif not wrong:
        printed = Prompt("", kind, _turns(entries), ours=False).published  # it may do with less than ours
        for repeated, turns in blocks.items():
            slots = {slot for turn in turns for slot in _slots(turn["content"])}
            needed, allowed = SLOTS[kind][repeated], SLOTS[kind][0]
            yield from _slot_problems(slots, () if printed else needed, (*needed, *(allowed if repeated else ())))


def _slot_problems(slots: set[str], needed: Sequence[str], allowed: Sequence[str] = ()) -> Iterator[str]:
    yield from (f"slot {{{slot}}} is missing" for slot in needed if slot not in slots)
    yield from (f"slot {{{slot}}} is unknown here" for slot in sorted(slots - {*needed, *allowed}))


def _slots(content: str) -> list[str]:
    return [slot for _, slot in SLOT.findall(content) if slot]
