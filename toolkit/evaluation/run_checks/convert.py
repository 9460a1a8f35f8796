"""A run in another form (`toolkit.files.runs.runs`, `files.runs.requests`), under other ids, or repaired; its record then."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.files import is_stream, open_output
from toolkit.core.topics import Topic
from toolkit.files.formats import FORMS, read_run, write_requests
from toolkit.files.provenance import Recorded, file_digest, part, read_recorded, write_record
from toolkit.files.runs.lint import Lines, examine_qrels, examine_run, judgment
from toolkit.files.runs.problems import Problem, codes
from toolkit.files.runs.trec_runs import DEFAULT_TAG
from toolkit.files.texts.corpus import corpus_files, read_corpus
from toolkit.files.texts.lines import comments, read_bytes


def convert_run(
    path: str | Path,
    to: str,
    output: str | Path,
    *,
    form: str = "",
    tag: str | None = None,
    ids: str | None = None,
    benchmark: str | None = None,
    mode: str | None = None,
    topics: Sequence[str] = (),
    docs: str | None = None,
) -> Run:
    """Write a run in another form, with its record; the run as it was written.

    form       that it has, where its content fits two
    ids, mode  see `with_ids`, of a benchmark
    topics, docs  where texts come from that the form `rank-llm` has, in place of the benchmark's
    """
    recorded = read_recorded(path, partial(read_run, form=form))
    run, record = recorded.content, converted_record(recorded)
    run = replace(run, tag=tag or run.tag or record.get("tag") or DEFAULT_TAG)
    if ids and not benchmark:
        raise ToolkitError("--ids needs the benchmark whose ids they are", "name it: --benchmark ID")
    if mode and not ids:
        raise ToolkitError("--mode says which mode published ids are of", "name it with --ids tandem or --ids published")
    if ids:
        run = with_ids(run, ids, benchmark, mode or "")
    if to == "rank-llm":
        if not benchmark and not (topics and docs):
            hint = "name their source: --benchmark ID, or --topics T --docs D"
            raise ToolkitError("rank_llm requests hold the texts of queries and documents", hint)
        asked, contents = benchmark_texts(benchmark, run) if benchmark else file_texts(topics, docs, run)
        write_requests(run, asked, output, contents=contents)
    else:
        FORMS[to].write(run, output)
    write_converted_record(record, run, output)
    return run


def benchmark_texts(name: str, run: Run) -> tuple[list[Topic], dict[str, str]]:
    """The topics of a benchmark that are in the run, and the texts of the run's documents.

    Raises ToolkitError where none of its queries is in the run, and where a document id has two texts.
    """
    from toolkit.datasets import find, load

    selection = find(name)
    benchmark = load(selection.benchmark if selection else name)
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
        message = f"no query of {run.source} is one of {name}: {', '.join(run.query_ids[:3])}"
        raise ToolkitError(message, "name the benchmark that was searched")
    return topics, contents


def file_texts(topics: str | Sequence[str], docs: str | Path, run: Run) -> tuple[list[Topic], dict[str, str]]:
    """The topics of a name or file or of several, and the texts of the run's documents from a file or folder of documents.

    Raises ToolkitError, with file and line, for a document that cannot be read or has two texts.
    """
    from toolkit.datasets import resolve_topics

    needed, contents = set(run.doc_ids.to_pylist()), {}
    for file in corpus_files(docs):
        for line, doc, problem, *_ in (entry for batch in read_corpus(file) for entry in batch.entries()):
            if doc is None:
                raise ToolkitError(f"{file}, line {line}: {problem}", "documents are JSONL, TSV or TREC text")
            if doc.doc_id in needed and contents.setdefault(doc.doc_id, doc.contents) != doc.contents:
                raise ToolkitError(f"{file}, line {line}: document {doc.doc_id} has another text than before", "ids are unique")
    return resolve_topics(topics).topics, contents


def with_ids(run: Run, ids: str, benchmark: str, mode: str = "") -> Run:
    """The run with its query ids as Tandem has them (`tandem`), or as published (`published`).

    benchmark  whose ids they are, or a part of it (`infosearch-audience`): only its queries are written then
    mode       of a file with published ids, which the modes share: the one it holds, or the one to write

    Raises ToolkitError for an id that is not the benchmark's, and where published ids do not tell queries apart.
    """
    from toolkit.datasets import PublishedIds, find, resolve_topics

    selection = find(benchmark)
    if selection is None:
        raise ToolkitError(f"{benchmark} has no published ids", "name one of `tandem benchmarks list`")
    if mode and mode not in selection.modes:
        raise ToolkitError(f"{benchmark} has no mode {mode!r}", f"known: {', '.join(selection.modes) or 'none'}")
    selected = PublishedIds.of(resolve_topics(benchmark).topics)
    if ids == "tandem":
        return run.with_query_ids(selected.rename(run.query_ids, mode, run.source))
    whole = PublishedIds.of(resolve_topics(selection.benchmark).topics)
    ours, ending = selected.originals, f"-{mode}" if mode else ""
    left_out = {query_id for query_id in whole.originals if query_id not in ours or not query_id.endswith(ending)}
    chosen = [query_id for query_id in run.query_ids if query_id not in left_out]  # nobody's stays, for `publish` to refuse
    if not chosen:
        raise ToolkitError(f"{run.source} has no query of {benchmark}{f' in mode {mode}' if mode else ''}", "name another")
    return run.select(chosen).with_query_ids(whole.publish(chosen, run.source))


def converted_record(recorded: Recorded[Any]) -> dict[str, Any]:
    """The record of a run's file, for the same run in another form; call it before that is written, perhaps in its place."""
    if not recorded.sha256:
        return {}
    facts = {"file": Path(recorded.source).name, "sha256": recorded.sha256}
    data = {**part(recorded.record, "data"), "run": {"converted from": {**part(recorded.record, "data", "run"), **facts}}}
    return {**recorded.record, "data": data}


def write_converted_record(record: dict[str, Any], run: Run, output: str | Path) -> None:
    """Write `converted_record` beside the file that was made; nothing beside standard output, a pipe or a device."""
    if is_stream(output):
        return
    made = {"file": Path(output).name, "sha256": file_digest(Path(output))}
    counts = {"queries": len(run.query_ids), "lines": len(run)}
    data = {**part(record, "data"), "run": {**made, **counts, **part(record, "data", "run")}}
    write_record(output, {**record, "tag": run.tag, "data": data})


def repair_file(path: str | Path, output: str | Path, *, is_qrels: bool = False) -> list[Problem]:
    """Write a repaired copy of a run, with its record, or of qrels; all problems that the file has.

    A run gets its ranks numbered, lines best first, one blank between columns, and equal lines once. Scores, the second column
    and tags stay as they are written, equal scores in the order of the file (`ties='file'` goes by it); comments go to the top.
    Qrels get four columns, one blank between them, and equal judgments once, in the order of the file: a reader scores neither
    differently than before. Where an error is among the problems that no repair cures, nothing is written (`is_repaired`).
    """
    record = {} if is_qrels else converted_record(Recorded(path, None))  # it may be no run yet
    data = read_bytes(path)
    lines, problems = (examine_qrels if is_qrels else examine_run)(data)
    if not is_repaired(problems):
        return problems
    with open_output(output) as out:
        out.writelines(line + b"\n" for line in comments(data))
        out.writelines(b" ".join(row) + b"\n" for row in (map(judgment, lines.rows()) if is_qrels else _ranked(lines)))
    if not is_qrels and not is_stream(output):
        write_converted_record(record, read_run(output), output)
    return problems


def is_repaired(problems: Iterable[Problem]) -> bool:
    """Whether the safe repairs leave no error."""
    return all(codes()[problem.code].fixable for problem in problems if problem.is_error)


def _ranked(lines: Lines) -> Iterator[list[bytes]]:
    rank, query_id = 0, None
    for row in lines.rows(lines.best_first()):
        rank = rank + 1 if row[0] == query_id else 1
        query_id = row[0]
        yield [*row[:3], b"%d" % rank, *row[4:]]
