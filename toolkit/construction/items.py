"""Items: what the steps of a build make, pass on and reject; a line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import Malformed, decode_json

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

    def by(self, *made: Mapping[str, str]) -> Item:
        """The item with who made it in this step."""
        return replace(self, made=made)

    def reject(self, why: str) -> Item:
        """The item as one that goes no further."""
        return replace(self, rejected=why, waiting=False)


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
    row = {"id": item.id, "fields": item.fields, "sources": item.sources, "made": item.made}
    row |= {"rejected": item.rejected, "waiting": item.waiting}
    kept = {name: value for name, value in row.items() if value or name == "id"}
    return json.dumps(kept, ensure_ascii=False, default=dict).encode(errors="surrogatepass") + b"\n"


def read_items(path: Path) -> Iterator[Item]:
    """The items of a step's file, in its order. ToolkitError, with the line, for what is none."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _item(decode_json(line.decode(errors="surrogatepass"), halves=True))
            except (Malformed, UnicodeDecodeError, TypeError, ValueError) as error:
                hint = "remove the file: `tandem build run` makes it again from cached answers"
                raise ToolkitError(f"{path}, line {number}: no item ({error})", hint) from error


def _item(row: Any) -> Item:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row.keys() <= KEYS:
        raise ValueError("expected an object with an id")
    row["sources"], row["made"] = tuple(row.get("sources", ())), tuple(row.get("made", ()))
    return Item(**row)


def unique(items: Sequence[Item]) -> dict[str, Item]:
    """id -> item. ToolkitError for an id that comes twice."""
    known = {item.id: item for item in items}
    if len(known) < len(items):
        seen: set[str] = set()
        twice = next(item.id for item in items if item.id in seen or seen.add(item.id))
        raise ToolkitError(f"the item {twice!r} comes twice", "ids are unique within a step")
    return known
