"""The topics that a run was made with, and the benchmark that they are of, as its record says."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.datasets.benchmark import load
from toolkit.datasets.ir_datasets_adapter import at_hand
from toolkit.datasets.names import TopicSet, find, open_collection, resolve_topics
from toolkit.datasets.own import is_benchmark_folder
from toolkit.files.provenance import Recorded, part, topics_digest

HINT = "name them with --topics"
NAME_IT = "--benchmark ID, or --qrels F"


def recorded_topics(recorded: Recorded[Any]) -> TopicSet:
    """The topics that the record of a run names.

    Raises ToolkitError where nothing names any, where they are not found by that name, and where they have changed since.
    """
    source, known = recorded.source, part(recorded.record, "data", "topics")
    if "name" not in known:
        raise ToolkitError(f"no record says which topics {source} was made with", HINT)
    try:
        with at_hand(known["name"], HINT):
            topics = resolve_topics(references(known))
    except ToolkitError as error:
        raise ToolkitError(f"{source} was made with topics {known['name']}, which are not found by that name", HINT) from error
    if topics_digest(topics.topics) != known.get("sha256"):
        raise ToolkitError(f"{source} was made with other topics than {known['name']} has now", HINT)
    return topics


def references(known: Mapping[str, Any]) -> list[str]:
    """What `find` knows the topics by that a record names: parts of the folder that it names too, where that is still there."""
    name, folder = known["name"], known.get("folder", "")
    if folder and not is_benchmark_folder(folder) and find(name) is None:
        raise ToolkitError(f"the benchmark {name} is no longer in {folder}", NAME_IT)
    if not folder or not is_benchmark_folder(folder):
        return [name] if find(name) else name.split("+")
    own = load(folder).spec.name
    parts = [one.removeprefix(own).lstrip("-") for one in name.split("+")]
    return [f"{folder}/{part}" if part else folder for part in parts]


def recorded_benchmark(runs: Sequence[Recorded]) -> str:
    """The benchmark, or the part of one, that the records of runs name, alike for all; runs of each mode are of all modes.

    Raises ToolkitError where a run has no record that names one, and where they differ.
    """
    records = [(run.source or "a run in memory", part(run.record, "data", "topics")) for run in runs]
    if not records:
        raise ToolkitError("the runs are no files, and have no record", NAME_IT)
    if unnamed := [source for source, known in records if not known.get("name")]:
        raise ToolkitError(f"no record says which benchmark {unnamed[0]} is of", NAME_IT)
    names = list(dict.fromkeys(name for _, known in records for name in references(known)))
    selections = [find(name) for name in names]
    if len(names) > 1 and all(selections):
        wholes = {selection.whole for selection in selections}
        modes = {mode for selection in selections for mode in selection.modes}
        names = list(wholes) if len(wholes) == 1 and modes == set(find(min(wholes)).modes) else names
    if len(names) > 1:
        differing = ", ".join(f"{source} of {known['name']}" for source, known in records)
        raise ToolkitError(f"the runs are of several benchmarks: {differing}", NAME_IT)
    if not selections[0]:
        collection = open_collection(names[0])  # a file of topics is no benchmark
        with at_hand(names[0], f"--benchmark {names[0]}"):
            collection.topics(), collection.qrels()
    return names[0]
