"""What runs are called beside each other: by their system, and by what distinguishes runs of one system; the order of names."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.files.provenance.record import last_step, part, steps_of, system_name

BETWEEN = " · "
SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".trec", ".run", ".txt", ".tsv", ".jsonl", ".json", ".parquet")
LONGEST = 24  # characters of a parameter's value in a name
# parameters that make no other system, or that no reader knows
UNSAID = ("name", "recipe", "checkpoint", "files", "weights", "device", "queries cut", "inputs cut", "interpolates", "tokens")
_NUMBER = re.compile(r"([0-9]+)")


class NamedRun(NamedTuple):
    """A run that needs a name.

    tag      its tag, or its file where several runs have one tag
    source   its file; several side by side
    records  those of its files
    """

    tag: str
    source: str
    records: Sequence[Mapping[str, Any]]


def run_names(runs: Sequence[NamedRun]) -> list[str]:
    """A name for each, in order, all different: `bm25`, `bm25 · placebo`, `bm25 · k1 1.2`, `bm25 · v2`.

    The system's name, or the tag where that is another; what became of the instructions, always; and where names are still the
    same, as much as is needed of: the recipe, the run that was reranked, parameters that differ, parts of the files' names.
    """
    names = [_name(run) for run in runs]
    for details in (_recipe, _first_stage, _parameters, _file_parts, _files):
        places = defaultdict(list)
        for place, name in enumerate(names):
            places[name].append(place)
        for alike in (each for each in places.values() if len(each) > 1):
            for place, text in zip(alike, details([runs[place] for place in alike]), strict=True):
                names[place] = _joined(names[place], text)
    return names


def _name(run: NamedRun) -> str:
    record = _record(run)
    tag = str(record.get("tag") or stem(run.tag)) if run.tag in run.source.split(", ") else run.tag
    system, fusion = system_name(tag, record), part(record, "method").get("fusion")
    if tag.endswith(f".rerank-{system}"):
        tag = system
    elif isinstance(fusion, str) and tag.endswith(f".{fusion}"):
        tag = _joined(tag.removesuffix(f".{fusion}"), fusion)
    instructions = {str(part(each, "method").get("instruction", "")) for each in run.records}
    return _joined(tag, *(each for each in sorted(instructions) if each not in tag))


def _joined(*parts: str) -> str:
    return BETWEEN.join(filter(None, parts))


def _recipe(runs: Sequence[NamedRun]) -> list[str]:
    return _differing([str(last_step(_record(run)).get("recipe") or "") for run in runs])


def _first_stage(runs: Sequence[NamedRun]) -> list[str]:
    """The systems before the last, of runs that were reranked."""
    texts = []
    for run in runs:
        record = _record(run)
        before = steps_of(record, "retrieval", "reranking")[:-1] if part(record, "method").get("reranking") else []
        texts.append("over " + ", ".join(str(step.get("name")) for step in before) if before else "")
    return _differing(texts)


def _parameters(runs: Sequence[NamedRun]) -> list[str]:
    """As many of the last step's parameters as tell the runs apart, in the order of the record."""
    facts, texts = [last_step(_record(run)) for run in runs], [""] * len(runs)
    names = dict.fromkeys(name for each in facts for name in each if isinstance(name, str) and name not in UNSAID)
    for name in (name for name in names if "sha256" not in name and "digest" not in name):
        values = [each.get(name) for each in facts]
        are_short = all(each is None or (isinstance(each, str | int | float) and len(str(each)) <= LONGEST) for each in values)
        shown = [f"{name.replace('_', ' ')} {value}" if value is not None else "" for value in values]
        if len(set(texts)) < len(texts) and len(set(shown)) > 1 and are_short:
            texts = [_joined(*each) for each in zip(texts, shown, strict=True)]
    return texts


def _file_parts(runs: Sequence[NamedRun]) -> list[str]:
    """What the files' names do not share: `v2` of `a.bm25.v2.trec` beside `a.bm25.v1.trec`."""
    parts = [stem(run.source.split(", ")[0]).split(".") for run in runs]
    shared = set.intersection(*map(set, parts))
    return _differing([".".join(each for each in own if each not in shared) for own in parts])


def _files(runs: Sequence[NamedRun]) -> list[str]:
    return [run.tag for run in runs]


def stem(path: str) -> str:
    """A file's name without what says its format."""
    name = Path(path).name
    while suffix := next((each for each in SUFFIXES if name.endswith(each) and name != each), ""):
        name = name.removesuffix(suffix)
    return name


def _record(run: NamedRun) -> Mapping[str, Any]:
    return run.records[0] if run.records else {}


def _differing(texts: list[str]) -> list[str]:
    """The texts, none where all are the same."""
    return texts if len(set(texts)) > 1 else [""] * len(texts)


def natural(text: str) -> tuple[tuple, str]:
    """A key to sort names by: numbers in them by their value, letters without regard to case unless nothing else differs."""
    parts = _NUMBER.split(text.casefold())  # words and numbers in turn
    parts[1::2] = [(len(digits), digits) for digits in (part.lstrip("0") for part in parts[1::2])]
    return tuple(parts), text
