"""The files of steps, `steps/<step>.jsonl`, each with its record: what it depends on, how many items, what was asked.

All of a build together (`BuiltSteps`) say what an item was made of and what was made of it, and who had a hand in it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from toolkit import __version__
from toolkit.construction.build_config import BuildConfig
from toolkit.construction.steps import Item, Step, after, read_items, to_line
from toolkit.construction.tools import Asked
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_output, write_text
from toolkit.core.system.yaml_json import dump_yaml, plain, read_yaml
from toolkit.files.provenance.record import record_path
from toolkit.files.store.digests import file_sha256
from toolkit.registry.loader import did_you_mean

FOLDER = "steps"


@dataclass(frozen=True)
class StepRecord:
    """What is known of a step that was run.

    depends   what its items depend on: parameters, prompts, models, seeds, the files of earlier steps
    sha256    of its file
    entered   how many items it was given (of the first step: went over)
    left      how many it passed on; `waiting` wait for people; `rejected` has why -> how many
    asked     model -> what it was asked
    figures   further counts, see `Step.figures`
    seconds   it took when it was run last
    """

    depends: Mapping[str, Any]
    sha256: str
    entered: int
    left: int
    waiting: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, Asked] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """Requests without an answer: the step is run again."""
        return sum(asked.failed for asked in self.asked.values())

    @property
    def tokens(self) -> int | None:
        """Of all answers, cached ones too; None where nothing was asked."""
        asked = self.asked.values()
        return sum(each.prompt_tokens + each.completion_tokens for each in asked) if asked else None

    @property
    def digest(self) -> str:
        """SHA-256 of what the items depend on."""
        return digest_of(self.depends)


def digest_of(depends: Mapping[str, Any]) -> str:
    """SHA-256, whatever the order of names."""
    return hashlib.sha256(json.dumps(plain(depends), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class StepFile:
    """The file of a step in a build's folder."""

    path: Path

    def items(self) -> Iterator[Item]:
        """All items, passed on and rejected. ToolkitError where the step was not run."""
        if not self.path.exists():
            raise ToolkitError(f"the step {self.path.stem} was not run", "`tandem build run` does it")
        return read_items(self.path)

    def passed(self) -> list[Item]:
        """Those that the next step gets, in order."""
        return [item for item in self.items() if item.is_passed]

    def record(self) -> StepRecord | None:
        """What is known of it; None where it was not run, or where another file lies there than the one that was recorded."""
        place = record_path(self.path)
        if not place.exists() or not self.path.exists():
            return None
        hint = "remove it: `tandem build run` makes it again"
        row = read_yaml(place, dict, hint)
        try:
            found = StepRecord(**{name: row[name] for name in (*_FIELDS, "depends") if name in row})
            found = replace(found, asked={name: Asked(**each) for name, each in found.asked.items()})
        except (TypeError, AttributeError) as error:
            raise ToolkitError(f"{place} is no record of a step ({error})", hint) from error
        return found if found.sha256 == file_sha256(self.path) else None

    def write(self, given: Iterable[Item], entered: Mapping[str, Item]) -> Counts:
        """Write what a step gives, whole or not at all; what was counted. ToolkitError for an id that comes twice."""
        counts, sha256 = Counts(), hashlib.sha256()
        with open_output(self.path) as out:
            for line in counts.lines(given, entered):
                sha256.update(line)
                out.write(line)
        counts.sha256 = sha256.hexdigest()
        return counts

    def write_record(self, step: Step, record: StepRecord) -> None:
        """Write the record beside the file."""
        row = {"step": step.name, "tandem-ir": __version__, "digest": record.digest}
        row |= {name: getattr(record, name) for name in _FIELDS}
        row |= {"asked": {name: asdict(each) for name, each in record.asked.items()}, "depends": record.depends}
        write_text(record_path(self.path), dump_yaml(plain(row)))


_FIELDS = ("sha256", "entered", "left", "waiting", "rejected", "asked", "figures", "seconds")


@dataclass
class Counts:
    """What is counted while a step's items are written."""

    sha256: str = ""
    left: int = 0
    waiting: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> int:
        """Every item that the step gave."""
        return self.left + self.waiting + sum(self.rejected.values())

    def lines(self, given: Iterable[Item], entered: Mapping[str, Item]) -> Iterator[bytes]:
        """The lines of the items, each counted as it passes."""
        seen: set[str] = set()
        for item in given:
            if item.id in seen:
                raise ToolkitError(f"the item {item.id!r} comes twice", "ids are unique within a step")
            seen.add(item.id)
            if item.rejected:
                self.rejected[item.rejected] += 1
            elif item.waiting:
                self.waiting += 1
            else:
                self.left += 1
            yield to_line(after(item, entered))


DONE = "up to date"


@dataclass(frozen=True)
class StepState:
    """How far a step is: `up to date`, `not run`, or why it will be run again; with the record of its last run."""

    step: Step
    state: str
    record: StepRecord | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return self.state == DONE


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
            here: dict[str, Made] = {}
            for item in self.items(step):
                rows: list[Mapping[str, str]] = []
                for source in item.sources:  # who made it, as of the last step so far that gave one of this id
                    rows += next((items[source] for items in reversed(known.values()) if source in items), ())
                rows += [{**row, "step": step} for row in item.made]
                unique = {(key := json.dumps(row, sort_keys=True)): shared.setdefault(key, row) for row in rows}
                here[item.id] = tuple(unique.values())
            known[step] = here
        return known

    def history(self, item_id: str) -> list[Found]:
        """An item in all steps that gave it, with its ancestors and descendants, step after step.

        Raises ToolkitError where no step gave it.
        """
        rows = {step: {item.id: item for item in self.items(step)} for step in self.files if self.files[step].path.exists()}
        if not any(item_id in items for items in rows.values()):
            known = [key for items in rows.values() for key in items][:NEAR]
            raise ToolkitError(f"no item {item_id!r}", f"{did_you_mean(item_id, known)}ids are in steps/*.jsonl")
        relations: dict[tuple[str, str], str] = {}
        made_of_it, made_from = {item_id}, {item_id}
        for step, items in rows.items():
            here = {name for name, item in items.items() if made_of_it.intersection(item.sources)}
            relations |= {(step, name): "descendant" for name in here}
            made_of_it |= here
        for step, items in reversed(rows.items()):
            here = made_from & items.keys()
            relations |= {(step, name): "ancestor" for name in here}
            made_from |= {source for name in here for source in items[name].sources}
        relations |= {(step, item_id): "itself" for step in rows}
        every = ((step, name, item) for step, items in rows.items() for name, item in items.items())
        return [Found(step, relations[step, name], item) for step, name, item in every if (step, name) in relations]
