"""Reading: benchmarks, runs, qrels, topics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.benchmarks import Collection
    from toolkit.core.qrels import Qrels
    from toolkit.core.runs import Run
    from toolkit.core.topics import Topic


def load(benchmark: str) -> Collection:
    """A benchmark by its name (`infosearch-mini`), or any collection of ir_datasets by its id.

    It has `groups`, `topics(group, mode)`, `qrels(group, mode)`, `docs(group)`, `scoreddocs(group, mode)`. Raises ToolkitError,
    with the nearest known name, where there is none.
    """
    from toolkit.benchmarks import find, open_collection
    from toolkit.benchmarks import load as load_benchmark

    selection = find(benchmark)
    return load_benchmark(selection.benchmark) if selection else open_collection(benchmark)


def read_run(path: str | Path, form: str = "") -> Run:
    """A run from a file of any form (TREC, JSON, JSONL, Parquet, MTEB, PyTerrier, MS MARCO, ranx), recognised by its content.

    form  which one it is, for a file that fits two

    Raises ToolkitError with what is wrong with the file.
    """
    from toolkit.formats import read_run

    return read_run(path, form)


def read_qrels(path: str | Path) -> Qrels:
    """Qrels from a TREC file, or BEIR's TSV. Raises ToolkitError with what is wrong with it."""
    from toolkit.formats import read_qrels

    return read_qrels(path)


def read_topics(topics: Any) -> list[Topic]:
    """The topics of a benchmark's name or of a file, of several, or those that a DataFrame, a mapping or a list holds."""
    from toolkit.steps import given_topics

    return given_topics(topics).topics
