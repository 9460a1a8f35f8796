"""A run in another form: see `toolkit.formats.runs` and `toolkit.formats.requests` for the forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.formats import FORMS, write_requests
from toolkit.formats.corpus import corpus_files, read_corpus

NAMES = (*(form.name for form in FORMS.values() if form.write), "rank-llm")


def convert(
    run: Run,
    format: str,
    output: str | Path,
    *,
    topics: Iterable[Topic] = (),
    contents: Mapping[str, str] | None = None,
) -> None:
    """Write a run as one of NAMES; `rank-llm` needs the topics and the contents (doc_id -> text) of the run's documents."""
    if format == "rank-llm":
        write_requests(run, topics, output, contents=contents or {})
    else:
        FORMS[format].write(run, output)


def benchmark_texts(name: str, run: Run) -> tuple[list[Topic], dict[str, str]]:
    """The topics of a benchmark that are in the run, and the texts of the run's documents.

    Raises ToolkitError where none of its queries is in the run, and where a document id has two texts.
    """
    from toolkit.benchmarks import load

    benchmark = load(name)
    wanted, needed = set(run.query_ids), set(run.doc_ids.to_pylist())
    topics, contents = [], {}
    for group in benchmark.groups:
        found = [topic for mode in benchmark.spec.modes or ("",) for topic in benchmark.topics(group, mode)]
        found = [topic for topic in found if topic.query_id in wanted]
        topics += found
        for doc in benchmark.docs(group) if found else ():
            if doc.doc_id in needed and contents.setdefault(doc.doc_id, doc.contents) != doc.contents:
                raise ToolkitError(f"document {doc.doc_id} has two texts in {name}", "convert each group's run by itself")
    if not topics:
        raise ToolkitError(
            f"no query of {run.source} is one of {name}: {', '.join(run.query_ids[:3])}", "name the benchmark that was searched"
        )
    return topics, contents


def file_texts(topics: str | Sequence[str], docs: str | Path, run: Run) -> tuple[list[Topic], dict[str, str]]:
    """The topics of a name or file or of several, and the texts of the run's documents from a file or folder of documents.

    Raises ToolkitError, with file and line, for a document that cannot be read or has two texts.
    """
    from toolkit.benchmarks import resolve_topics

    needed, contents = set(run.doc_ids.to_pylist()), {}
    for file in corpus_files(docs):
        for line, doc, problem, *_ in (entry for batch in read_corpus(file) for entry in batch.entries()):
            if doc is None:
                raise ToolkitError(f"{file}, line {line}: {problem}", "documents are JSONL, TSV or TREC text")
            if doc.doc_id in needed and contents.setdefault(doc.doc_id, doc.contents) != doc.contents:
                raise ToolkitError(f"{file}, line {line}: document {doc.doc_id} has another text than before", "ids are unique")
    return resolve_topics(topics).topics, contents
