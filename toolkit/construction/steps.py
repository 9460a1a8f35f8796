"""A step of a build: what it takes from `build.yaml`, and the items that it makes and rejects, a line of JSON each."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.system.yaml_json import Malformed, decode_json

if TYPE_CHECKING:
    from toolkit.construction.queries.seeds import Seeds
    from toolkit.construction.text_models import TextModel
    from toolkit.construction.tools import Tools

KEYS = {"id", "fields", "sources", "made", "rejected", "waiting"}


@dataclass(frozen=True)
class Item:
    """One thing that a step made, or went over.

    id        unique within its step
    fields    what it holds: JSON values, under names that each kind documents
    sources   ids of the items of earlier steps that it was made from; empty for a seed
    made      who did what in this step: `role` (wrote, filtered, judged), `by` (a model, `rule` or `person`), and of a model
              `family`, `prompt` and `sha256` (of the prompt)
    rejected  why it goes no further; empty where it does
    waiting   whether it waits for people
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    made: tuple[Mapping[str, str], ...] = ()
    rejected: str = ""
    waiting: bool = False

    @property
    def is_passed(self) -> bool:
        """Whether the next step gets it."""
        return not self.rejected and not self.waiting

    def passed(self, **fields: Any) -> Item:
        """The item as the next step passes it on: the same id, these fields beside or instead of its own."""
        return Item(self.id, {**self.fields, **fields}, (self.id,))

    def having(self, **fields: Any) -> Item:
        """The item with these fields beside or instead of its own."""
        return replace(self, fields={**self.fields, **fields})

    def only(self, *names: str) -> dict[str, Any]:
        """These of its fields alone."""
        return {name: self.fields[name] for name in names}

    def by(self, *made: Mapping[str, str]) -> Item:
        """The item with who made it in this step."""
        return replace(self, made=made)

    def reject(self, why: str) -> Item:
        """The item as one that goes no further."""
        return replace(self, rejected=why, waiting=False)


def by_fields(items: Iterable[Item], *names: str) -> dict[Any, list[Item]]:
    """The items in groups, in order: value of the field -> the items that have it; of several fields their values together."""
    groups: dict[Any, list[Item]] = defaultdict(list)
    for item in items:
        groups[itemgetter(*names)(item.fields)].append(item)
    return groups


def after(item: Item, entered: Mapping[str, Item]) -> Item:
    """An item that a step gives, with the history of that step alone: one that is rejected as it came has still the one before.

    entered  id -> what the step was given
    """
    before = entered.get(item.id)
    if before is None:
        return item
    sources = (item.id,) if item.sources is before.sources else item.sources
    return replace(item, sources=sources, made=() if item.made is before.made else item.made)


def to_line(item: Item) -> bytes:
    """A line of a step's file; what is empty is left out."""
    kept = {name: value for name, value in vars(item).items() if value or name == "id"}
    return json.dumps(kept, ensure_ascii=False, default=dict).encode(errors="surrogatepass") + b"\n"


def read_items(path: Path) -> Iterator[Item]:
    """The items of a step's file, in its order. ToolkitError, with the line, for what is none."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = decode_json(line.decode(errors="surrogatepass"), halves=True)
                if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row.keys() <= KEYS:
                    raise ValueError("expected an object with an id")
                row["sources"], row["made"] = tuple(row.get("sources", ())), tuple(row.get("made", ()))
                yield Item(**row)
            except (Malformed, UnicodeDecodeError, TypeError, ValueError) as error:
                hint = "remove the file: `tandem build run` makes it again from cached answers"
                raise ToolkitError(f"{path}, line {number}: no item ({error})", hint) from error


UNREADABLE = "no answer in the form asked for"  # why an item is rejected whose answer cannot be read


class Step(ABC):
    """A step of a kind: a frozen dataclass whose fields are its parameters in `build.yaml`, each with a default.

    What a field's value may be beside its type is checked when the step is made (`__post_init__`): ToolkitError.

    name      in build.yaml, of its file and in tables
    about     what it does, in a line
    after     the earlier step whose passed items it is given; without it the step before
    reads     further steps whose passed items it needs, beside those that it is given
    counted   parameters that are whole numbers from 1 on
    slots     parameter that names a prompt -> the slots that the step fills: a prompt with others, or without one, is refused
    published parameter that names a prompt -> the paper's own, which is sent where the build has its file (`--prompts`)
    fixed     parameter -> its value where the paper's own `prompt` is sent, which asks for that and has no slot for another
    optional  whether it is left out unless build.yaml names it, or, `by_default`, where it says `NAME: false`
    version   is raised where the step makes something else of the same items
    """

    name: ClassVar[str]
    about: ClassVar[str] = ""
    after: ClassVar[str] = ""
    reads: ClassVar[tuple[str, ...]] = ()
    counted: ClassVar[tuple[str, ...]] = ()
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    published: ClassVar[Mapping[str, str]] = {}
    fixed: ClassVar[Mapping[str, Any]] = {}
    optional: ClassVar[bool] = False
    by_default: ClassVar[bool] = False
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_counts(**{name: getattr(self, name) for name in self.counted})

    def is_usual(self, parameter: str) -> bool:
        """Whether a parameter has its default, which build.yaml may well name."""
        return bool(getattr(self, parameter) == getattr(type(self)(), parameter))

    def prompts(self) -> tuple[str, ...]:
        """The prompts that it sends, by name: those of its parameters that `slots` names, and `prompt`."""
        return self._named("prompt", *self.slots)

    def models(self) -> tuple[str, ...]:
        """The language models that it asks, by name: its parameter `model`, and those that end in `_model`."""
        return self._named(*(name for name in self.parameters() if name == "model" or name.endswith("_model")))

    def judge_prompts(self, models: Mapping[str, TextModel]) -> tuple[str, ...]:
        """The prompts of kind `judge` that it sends, by name; `models` are those of build.yaml."""
        return ()

    def problems(self, seeds: Seeds, steps: Sequence[Step]) -> Iterable[str]:
        """What cannot come out with these seeds and these steps, so far as that is known before anything is asked."""
        return ()

    def files(self, folder: Path) -> Sequence[Path]:
        """Files that what it makes depends on, in the build's folder or elsewhere, if they are there: its parameter `runs`."""
        return [folder / name for name in self.parameters().get("runs", ())]

    @abstractmethod
    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """The items that it passes on and those that it rejects, in an order that `items` alone decides.

        items  what the step before (or `after`) passed on, in order; none for the first, which makes its own of `tools.seeds`
        """

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """Further counts over all that it gave, for `build status`: name -> value -> how many (`score` -> `4` -> 17)."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Name -> value of its fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def _named(self, *names: str) -> tuple[str, ...]:
        known = self.parameters()
        return tuple(dict.fromkeys(known[name] for name in names if known.get(name)))
