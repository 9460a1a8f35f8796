"""What a user names, as runs and qrels: which file is part of which run, and which mode it holds."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import Modes, join_mode
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.core.runs import Run, join_runs
from toolkit.core.system.progress import progress
from toolkit.evaluation.comparison.references import is_reference
from toolkit.files.provenance.naming import natural
from toolkit.files.runs.conversion import as_qrels, as_run, is_one

Given = Any  # what `toolkit.files.runs.conversion` takes
READERS = 2  # files read at the same time; arrow parses each with all processors already


class Source(NamedTuple):
    """A file, a DataFrame or the noun itself, with the mode that it was given as (empty where it was given as none).

    modes  that its query ids may carry; those of all benchmarks where it is empty
    tag    what the run is called; as its file says where it is empty
    """

    mode: str
    given: Given
    modes: Modes = Modes()
    tag: str = ""

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return str(self.given) if isinstance(self.given, str | Path) else getattr(self.given, "source", "")


def parse_source(text: str, modes: Modes | None = None) -> Source:
    """`ins=a.trec` -> mode `ins`; anything but one of the modes before the `=` belongs to the file's name."""
    mode, equals, path = text.partition("=")
    return Source(mode, path, modes or Modes()) if equals and mode in _known(modes) else Source("", text, modes or Modes())


def as_sources(given: Given | Source | Sequence | Mapping, modes: Modes | None = None) -> list[Source]:
    """Accept one thing, several, a mapping from modes to things, or one from tags to any of these.

    modes  that may be named, and that query ids may carry; those of all benchmarks where none are given
    """
    # {name of a run: {mode: file}} has the shape of {query_id: {doc_id: score}}
    if isinstance(given, Mapping) and (
        not is_one(given) or any(each and each.keys() <= _known(modes).keys() for each in given.values())
    ):
        return _named(given, modes)
    if is_one(given):
        return [Source("", given, modes or Modes())]
    if isinstance(given, Source):
        return [given._replace(modes=modes or given.modes)]
    if isinstance(given, list | tuple):
        return [source for thing in given for source in as_sources(thing, modes)]
    return [parse_source(given, modes) if isinstance(given, str) else Source("", given, modes or Modes())]


def given_together(runs: Sequence[Any]) -> Any:
    """What the arguments of a call name: one is whatever `as_sources` takes, several are a list."""
    return runs[0] if len(runs) == 1 else list(runs)


def _named(given: Mapping[str, Any], modes: Modes | None) -> list[Source]:
    """The things of a mapping, named by their modes or by their tags."""
    names = [name for name in given if name not in _known(modes)]
    if not names:
        return [Source(mode, thing, modes or Modes()) for mode, thing in given.items()]
    if len(names) < len(given):
        hint = f"the modes are {', '.join(_known(modes))}; names of runs do not stand beside them"
        raise ToolkitError(f"no mode {names[0]!r}", hint)
    if wrong := [name for name in names if not isinstance(name, str) or not name or is_reference(name)]:
        hint = "a name is text, and not that of a reference ranking (random, blind)"
        raise ToolkitError(f"{wrong[0]!r} is no name for a run", hint)
    return [source._replace(tag=name) for name, thing in given.items() for source in as_sources(thing, modes)]


def _known(modes: Modes | None) -> Modes:
    return modes or registry.known_modes()


def load_runs(sources: Sequence[Source], rename: Rename | None = None, keep: Keep = lambda run: run) -> list[Run]:
    """The runs that these sources are, sorted by name; every query id carries its mode, every tag is unique.

    Files of one tag with disjoint query ids are parts of one run, otherwise each is a run, and is then called by its file.

    rename  turns published query ids of a mode into ours
    keep    what is kept of each file once it is read, where runs are larger than what is asked of them
    """
    _refuse_twice(sources)
    by_tag = defaultdict(list)
    for part in _read_all(sources, rename, keep):
        by_tag[part.tag].append(part)
    runs = [run for tag in sorted(by_tag) for run in _parts_or_runs(by_tag[tag])]
    tags = [run.tag for run in runs]
    if same := [tag for tag in tags if tags.count(tag) > 1]:
        raise ToolkitError(f"two runs are called {same[0]}", "name them, as in {'a': run, 'b': run}")
    return sorted(runs, key=lambda run: (natural(run.tag), natural(run.source)))


def load_each(sources: Sequence[Source], rename: Rename | None = None, keep: Keep = lambda run: run) -> list[Run]:
    """The same, each source a run by itself, in the order given; a file may be named twice, standard input may not."""
    _refuse_twice([source for source in sources if source.name == "-"])
    return [run for part in _read_all(sources, rename, keep) for run in _parts_or_runs([part])]


def _read_all(sources: Sequence[Source], rename: Rename | None, keep: Keep) -> list[Run]:
    if not sources:
        raise ToolkitError("no run is given", "name one or more")
    parts = []
    with progress("reading runs", len(sources), "files") as advance, ThreadPoolExecutor(READERS) as pool:
        for part in pool.map(lambda source: keep(_load(source, as_run, rename)), sources):
            parts.append(part)
            advance()
    return parts


def load_qrels(sources: Sequence[Source]) -> Qrels:
    """All sources as one; every query id carries its mode."""
    if named := [source.tag for source in sources if source.tag]:
        raise ToolkitError(f"no mode {named[0]!r}", f"the modes are {', '.join(_known(sources[0].modes))}")
    _refuse_twice(sources)
    parts = [_load(source, as_qrels, None) for source in sources]
    seen: dict[str, str] = {}
    for part in parts:
        if shared := [query_id for query_id in part.query_ids if query_id in seen]:
            message = f"{seen[shared[0]]} and {part.source} judge the same queries: {three(shared)}"
            raise ToolkitError(message, "name the mode of each file: --qrels ori=F --qrels ins=F --qrels rev=F")
        seen.update(dict.fromkeys(part.query_ids, part.source))
    return join_qrels(sorted(parts, key=lambda part: min(part.query_ids, default="")))


Rename = Callable[[Iterable[str], str, str], list[str]]
Keep = Callable[[Run], Run]


def _load(source: Source, convert: Callable[[Any], Run | Qrels], rename: Rename | None) -> Run | Qrels:
    part = convert(source.given)
    if source.tag:
        part = replace(part, tag=source.tag)
    if rename:
        return part.with_query_ids(rename(part.query_ids, source.mode, part.source))
    if not source.mode:
        return part
    mode, modes = source.mode, _known(source.modes)
    split = [modes.split(query_id) for query_id in part.query_ids]
    others = [join_mode(base, other) for base, other in split if other not in ("", mode)]
    if others:
        message = f"{part.source or 'what'} is given as mode {mode} and holds queries of another: {three(others)}"
        raise ToolkitError(message, "a file of all modes is given without a mode")
    renamed = [join_mode(base, mode) for base, _ in split]
    if len(set(renamed)) < len(renamed):
        twice = sorted({query_id for query_id in renamed if renamed.count(query_id) > 1})
        what = part.source or f"what is given as mode {mode}"
        raise ToolkitError(f"{what} has queries both with and without their mode: {three(twice)}", "use one form")
    return part.with_query_ids(renamed)


def _parts_or_runs(files: list[Run]) -> list[Run]:
    """Files of one tag: one run where no query is in two of them, otherwise each by itself, named by its file."""
    query_ids = [query_id for file in files for query_id in file.query_ids]
    if len(query_ids) > len(set(query_ids)):
        unnamed = (f"run{place}" for place in itertools.count(1))
        return [replace(file, tag=file.source or next(unnamed)) for file in files]
    run = join_runs(sorted(files, key=lambda file: min(file.query_ids, default="")))
    # a run without a tag, or called like a reference, is known by its file
    return [replace(run, tag=run.source or "run") if not run.tag or is_reference(run.tag) else run]


def _refuse_twice(sources: Sequence[Source]) -> None:
    # of what is no file the name says nothing: two runs that were made of the same topics are called alike
    given = [(source.tag, source.name if isinstance(source.given, str | Path) else id(source.given)) for source in sources]
    if twice := sorted(source.name for source, each in zip(sources, given, strict=True) if given.count(each) > 1):
        raise ToolkitError(f"{twice[0] or 'a run'} is given twice", "name each file once")


def sorted_by_query(qrels: Qrels) -> Qrels:
    """The same judgments with sorted query ids: sums over queries do not depend on the order of files or lines."""
    order = sorted(range(len(qrels.query_ids)), key=qrels.query_ids.__getitem__)
    codes = np.empty(len(order), np.int32)
    codes[order] = np.arange(len(order), dtype=np.int32)
    return replace(qrels, query_ids=tuple(qrels.query_ids[code] for code in order), queries=codes[qrels.queries])
