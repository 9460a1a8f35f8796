"""Control runs: a system's run with something else in the place of its instructions, and the run that it is read beside."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.runs import Run
from toolkit.files.provenance import Recorded, part, read_record
from toolkit.retrieval.instructions import REPLACED

# a checkpoint is known by its revision, its weights are named by newer records alone
APART = ("instruction", "usage", "requests", "queries cut", "device", "weights")

Records = Sequence[Mapping[str, Any]]


def replaced(records: Records) -> str:
    """What stood in the place of instructions; empty for the instructions themselves, or another wording of them."""
    sent = {str(part(record, "method").get("instruction") or "") for record in records}
    return next((name for name in REPLACED if sent == {name}), "")


def method_of(records: Records, *more: str) -> list[Any]:
    """How a run was made, but for what became of the instructions, what was counted, and what only newer records say.

    more  what is left out, too
    """
    return [_without(part(record, "method"), (*APART, *more)) for record in records]


def _without(value: Any, names: Container[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(each, names) for name, each in value.items() if name not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def controls_among(records: Mapping[str, Records]) -> dict[str, tuple[str, str]]:
    """Control run -> what stood in the place of instructions, and the run that was made so with them; by their names.

    A control whose run is not among them is a run like any other, and is left out.
    """
    runs = [(method_of(each), name) for name, each in records.items() if each and not replaced(each)]
    found = {}
    for name, each in records.items():
        if kind := replaced(each):
            beside = next((run for method, run in runs if method == method_of(each)), "")
            found |= {name: (kind, beside)} if beside else {}
    return found


def recorded_controls(runs: Sequence[Run]) -> dict[str, tuple[str, str]]:
    """The same of runs by their tags, as the records beside their files say."""
    files = {run.tag: run.source.split(", ")[0] for run in runs}
    there = {tag: file for tag, file in files.items() if file and Path(file).is_file()}
    if len(runs) < 2 or not any(replaced([record]) for file in there.values() if (record := read_record(file))):
        return {}
    verified = {run.tag: Recorded(there[run.tag], run).record for run in runs if run.tag in there}
    return controls_among({tag: [record] for tag, record in verified.items() if record})
