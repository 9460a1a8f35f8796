"""The items of all steps of a build together: what one was made of and what was made of it, and who had a hand in it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from toolkit.construction.build_config import BuildConfig
from toolkit.construction.items import Item
from toolkit.construction.step_files import StepFile
from toolkit.core.errors import ToolkitError
from toolkit.registry.loader import did_you_mean

Made = tuple[Mapping[str, str], ...]
NEAR = 20_000  # ids among which the nearest is looked for


class Found(NamedTuple):
    """An item in the step that gave it. relation: `ancestor`, `itself` or `descendant` of the one that was asked for."""

    step: str
    relation: str
    item: Item


@dataclass(frozen=True)
class BuiltSteps:
    """What the steps of a build made.

    config  of the build
    files   step -> its file, in order
    to      the folder that a benchmark is written to, by the name that the user gave it
    """

    config: BuildConfig
    files: Mapping[str, StepFile]
    to: Path = Path("benchmark")

    def passed(self, step: str) -> list[Item]:
        """The items that a step passed on, in order; none where an optional step was left out."""
        return self.files[step].passed() if step in self.files else []

    def items(self, step: str) -> Iterator[Item]:
        """All items that a step gave, rejected ones too."""
        return self.files[step].items() if step in self.files else iter(())

    @cached_property
    def made(self) -> Mapping[str, Mapping[str, Made]]:
        """Step -> item -> who had a hand in it from the seed on: what `Item.made` says, with the `step`, each once."""
        known: dict[str, dict[str, Made]] = {}
        shared: dict[str, Mapping[str, str]] = {}
        for step in self.files:
            mine = {item.id: self._made(item, step, known, shared) for item in self.items(step)}
            known[step] = mine
        return known

    @staticmethod
    def _made(item: Item, step: str, known: Mapping[str, Mapping[str, Made]], shared: dict[str, Mapping[str, str]]) -> Made:
        rows = [row for source in item.sources for row in _latest(source, known)]
        rows += [{**row, "step": step} for row in item.made]
        return tuple({(key := json.dumps(row, sort_keys=True)): shared.setdefault(key, row) for row in rows}.values())

    def history(self, item_id: str) -> list[Found]:
        """An item in all steps that gave it, with its ancestors and descendants, step after step.

        Raises ToolkitError where no step gave it.
        """
        rows = {step: {item.id: item for item in self.items(step)} for step in self.files if self.files[step].path.exists()}
        if not any(item_id in items for items in rows.values()):
            known = [key for items in rows.values() for key in items][:NEAR]
            raise ToolkitError(f"no item {item_id!r}", f"{did_you_mean(item_id, known)}ids are in steps/*.jsonl")
        above, below = _ancestors(item_id, rows), _descendants(item_id, rows)
        found = []
        for step, items in rows.items():
            for name, item in items.items():
                if name == item_id:
                    found.append(Found(step, "itself", item))
                elif (step, name) in above:
                    found.append(Found(step, "ancestor", item))
                elif (step, name) in below:
                    found.append(Found(step, "descendant", item))
        return found


def _latest(item_id: str, known: Mapping[str, Mapping[str, Made]]) -> Made:
    """Who made an item, as of the last step so far that gave one of this id."""
    return next((items[item_id] for items in reversed(known.values()) if item_id in items), ())


def _ancestors(item_id: str, rows: Mapping[str, Mapping[str, Item]]) -> set[tuple[str, str]]:
    wanted, found = {item_id}, set()
    for step, items in reversed(rows.items()):
        here = {name for name in wanted if name in items}
        found |= {(step, name) for name in here}
        wanted |= {source for name in here for source in items[name].sources}
    return found


def _descendants(item_id: str, rows: Mapping[str, Mapping[str, Item]]) -> set[tuple[str, str]]:
    known, found = {item_id}, set()
    for step, items in rows.items():
        here = {name for name, item in items.items() if known.intersection(item.sources)}
        found |= {(step, name) for name in here}
        known |= here
    return found
