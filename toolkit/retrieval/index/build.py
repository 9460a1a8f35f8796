"""From a corpus to a Lucene index with its record, complete or not there."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from toolkit.core.duplicate_ids import SeenIds
from toolkit.core.errors import SHOWN_PROBLEMS, ToolkitError
from toolkit.core.system.progress import progress, say
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.formats.indexes import write_index_record
from toolkit.files.store import new_folder
from toolkit.files.texts.corpus import Entry
from toolkit.files.texts.documents import Corpus, Counts, is_empty
from toolkit.retrieval.index.index_types import LUCENE, is_index
from toolkit.retrieval.index.lucene_shards import SHARD, Taker, lucene_libraries, merged_shards
from toolkit.retrieval.index.script_words import ScriptWords


def build_index(
    corpus: Corpus,
    output: Path,
    *,
    language: str = "en",
    threads: int = 2,
    skip_invalid: bool = False,
    shard_size: int | None = None,
    executor: Executor | None = None,
    command: str = "",
) -> Counts:
    """Build a Lucene index into the folder `output`, which is there when it is complete and not before.

    Raises ToolkitError, which names file and line, for a document that is broken, has no id or text, or an id that came
    before; with `skip_invalid` they are left out and counted, and the first of them are said. An older index at `output` is
    replaced, another folder is not.

    threads     of Lucene; of each worker its own number
    shard_size  documents that are indexed at once, and merged in the end, see `toolkit.retrieval.index.lucene_shards`: an
                interrupted build resumes at the shards that are not there. None for no shards
    executor    who indexes the shards; workers have shards anyway
    command     what rebuilds it, for the record

    Statistics, runs and record are the same with shards and without.
    """
    from toolkit.models.lucene.stored_texts import StoredTexts

    check_output(output)
    started, counts, words, executor = time.time(), Counts(), ScriptWords(), executor or LocalExecutor()
    name, how = f"indexing {corpus.name}", {"language": language, "threads": executor.threads or threads}

    def read(indexer: Taker) -> Iterator[int]:
        return _index_all(corpus, indexer, skip_invalid, counts, words)

    if shard_size is None and isinstance(executor, LocalExecutor):
        indexed = _indexed(output, read, name, **how)
    else:
        indexed = merged_shards(output, read, name, executor, **how, size=shard_size or SHARD)
    with indexed as (part, counts.documents):
        refuse_empty(corpus, counts)
        record = {"kind": LUCENE, "language": language, "corpus": corpus.facts(), **asdict(counts)}
        record |= {"statistics": StoredTexts(part).statistics(), "words": words.facts()}
        write_index_record(part, record, command, started, **lucene_libraries())
    return counts


@contextmanager
def _indexed(
    output: Path, read: Callable[[Taker], Iterator[int]], name: str, *, language: str, threads: int
) -> Iterator[tuple[Path, int]]:
    """A folder that gets the name `output` when the block ends well, with an index of what is read, and its documents."""
    from toolkit.models.lucene.anserini_index import indexing

    with new_folder(output) as part:
        with progress(name, unit="documents") as advance, indexing(part, language=language, threads=threads) as indexer:
            for done in read(indexer):
                advance(done)
        yield part, indexer.documents


def check_output(output: Path) -> None:
    """Raise ToolkitError where `output` is something else than an index or an empty folder."""
    if output.exists() and not (output.is_dir() and (not any(output.iterdir()) or is_index(output))):
        raise ToolkitError(f"{output} exists and is no index", "name another folder, or remove it")


def refuse_empty(corpus: Corpus, counts: Counts) -> None:
    """Raise ToolkitError where nothing was indexed."""
    if not counts.documents:
        raise ToolkitError(f"{corpus.name} has no documents to index", "see `tandem index --help` for the forms it reads")


def _index_all(corpus: Corpus, indexer: Taker, skip: bool, counts: Counts, words: ScriptWords) -> Iterator[int]:
    """Hand every document to the indexer, and yield how many have been dealt with, batch by batch."""
    seen = SeenIds()
    for file, batches in corpus.parts:
        for batch in batches:
            if batch.ready and not (again := seen.add(batch.ids)):
                indexer.add_lines(batch.ready, len(batch.ids))
                words.see_batch(batch)
                yield len(batch.ids)
                continue
            entries = batch.entries()
            problems = {place: entry.problem for place, entry in enumerate(entries) if entry.problem}
            places = [place for place in range(len(entries)) if place not in problems]
            if not batch.ready:
                again = seen.add([entries[place].doc.doc_id for place in places])
            problems |= {places[one]: f"id {entries[places[one]].doc.doc_id!r} comes a second time" for one in again}
            refuse(corpus, file, entries, problems, skip, counts)
            for place, entry in enumerate(entries):
                if place not in problems and is_empty(entry.doc):
                    counts.empty += 1
                elif place not in problems:
                    indexer.add(entry.doc)
                    words.see(entry.doc)
            yield len(entries)


def refuse(corpus: Corpus, file: str, batch: list[Entry], problems: dict[int, str], skip: bool, counts: Counts) -> None:
    """Raise ToolkitError for the first problem; where they are skipped, count them and say the first."""
    for place in sorted(problems):
        message = f"{corpus.place(file, batch[place].line)}: {problems[place]}"
        if not skip:
            raise ToolkitError(message, "fix the corpus, or leave such documents out with --skip-invalid")
        if counts.skipped < SHOWN_PROBLEMS:
            say(f"left out: {message}")
        counts.skipped += 1
