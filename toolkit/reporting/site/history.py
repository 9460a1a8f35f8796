"""What changed from one version of a run to the next: its record, its rankings, its scores."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.core.scores import Change
from toolkit.reporting.diff.rankings import identical
from toolkit.reporting.report.differences import compared
from toolkit.reporting.report.model import Key
from toolkit.reporting.site.contents import Entry

# what differs between any two runs, or is shown as rankings and scores
LEFT_OUT = ("data.run", "implementation.executable.wall time", "implementation.executable.peak memory")
LONGEST = 200  # characters of a value


@dataclass(frozen=True, eq=False)
class Step:
    """From one version to the next.

    settings  (where in the record, before, after); empty text for what is not there
    same      whether all rankings and scores are the same
    changes   of the average over groups, or the only one; none where all is the same
    """

    before: Entry
    after: Entry
    settings: tuple[tuple[str, str, str], ...]
    same: bool
    changes: tuple[Change, ...]


def steps(versions: Sequence[Entry]) -> list[Step]:
    """Each step, the last one first."""
    return [_step(a, b) for a, b in itertools.pairwise(versions)][::-1]


def _step(a: Entry, b: Entry) -> Step:
    same = identical(a.facts.run, b.facts.run)
    model = a.model
    found = [] if same else compared(model, a.facts, b.facts)
    changes = {Key(change.group, change.measure, change.mode): change for change in found}
    shown = [changes[key] for column in model.columns(model.overall) if (key := Key(model.overall, *column)) in changes]
    return Step(a, b, tuple(differing(a.facts.records, b.facts.records)), same, tuple(shown))


def differing(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(where, before, after) of all that two runs' records say differently, in their order."""
    a, b = (dict(_leaves(list(records) if len(records) > 1 else dict(*records), "")) for records in (before, after))
    for where in dict.fromkeys([*a, *b]):
        values = [_shortened(each.get(where, "")) for each in (a, b)]
        if a.get(where) != b.get(where) and not where.startswith(LEFT_OUT):
            yield where, *values


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Path -> text. What stands in a list is known by its name, a library by its own, anything else by its place."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list):
        for place, each in enumerate(value, 1):
            name, version = str(each).split("==", 1) if isinstance(each, str) and "==" in each else ("", each)
            name = name or (str(each["name"]) if isinstance(each, Mapping) and "name" in each else str(place))
            yield from _leaves(version, f"{where}.{name}" if where else name)
    else:
        yield where, str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\u2026"
