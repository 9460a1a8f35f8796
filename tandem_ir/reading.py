"""Reading: benchmarks, runs, qrels, topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.core.qrels import Qrels
    from toolkit.core.runs import Run
    from toolkit.core.topics import Topic
    from toolkit.datasets import Collection


def load(
    benchmark: str | Path,
    *,
    docs: Any = None,
    topics: Any = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: Sequence[str] = (),
) -> Collection:
    """A benchmark by its name (`infosearch-mini`) or folder (`benchmark.yaml` in it), or a collection of ir_datasets by its id.

    With topics, what is given is written into the folder first, which is a benchmark from then on:

    docs      a DataFrame or rows with doc_id (or id), title, text; {doc_id: text}; or a file of documents
    topics    rows with id, query, instructions ({mode: text}), group, core, condition, perspectives; {query_id: query}
    qrels     query_id, doc_id, relevance, where ids end in their mode (`q1-pos`); or mode -> such judgments
    modes     name -> role: {"base": "base", "pos": "instructed", "neg": "reversed"}; left out, one without a name
    measures  what its table shows

    It has `groups`, `topics(group, mode)`, `qrels(group, mode)`, `docs(group)`, `scoreddocs(group, mode)`, and calls take it
    where they take its name. Raises ToolkitError, with the nearest known name, where there is none, and with all that is wrong
    with a folder.
    """
    from toolkit.datasets import find, open_collection
    from toolkit.datasets import load as load_benchmark

    if topics is not None:
        _write(Path(benchmark), docs, topics, qrels, modes or {}, measures)
    benchmark = str(benchmark)

    selection = find(benchmark)
    return load_benchmark(selection.benchmark) if selection else open_collection(benchmark)


def _write(folder: Path, docs: Any, topics: Any, qrels: Any, modes: Mapping[str, str], measures: Sequence[str]) -> None:
    from toolkit.core.modes import Modes
    from toolkit.datasets.own.own_new import from_tables, new_folder

    declared = Modes.declared(modes, "modes")
    content = from_tables({} if docs is None else docs, topics, qrels, declared)
    new_folder(folder, content, declared, measures=measures)


def read_run(path: str | Path, form: str = "") -> Run:
    """A run from a file of any form (TREC, JSON, JSONL, Parquet, MTEB, PyTerrier, MS MARCO, ranx), recognised by its content.

    form  which one it is, for a file that fits two

    Raises ToolkitError with what is wrong with the file.
    """
    from toolkit.files.formats import read_run

    return read_run(path, form)


def read_qrels(path: str | Path) -> Qrels:
    """Qrels from a TREC file, or BEIR's TSV. Raises ToolkitError with what is wrong with it."""
    from toolkit.files.formats import read_qrels

    return read_qrels(path)


def read_topics(topics: Any) -> list[Topic]:
    """The topics of a benchmark's name or of a file, of several, or those that a DataFrame, a mapping or a list holds."""
    from toolkit.retrieval.steps import given_topics

    return given_topics(topics).topics
