"""From a corpus to a Lucene index with its record, complete or not there."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import SHOWN_PROBLEMS, ToolkitError
from toolkit.core.system.progress import progress, say, silenced
from toolkit.core.topics import Topic
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.formats.indexes import write_index_record
from toolkit.files.store import new_folder
from toolkit.files.texts.corpus import Batch, Entry
from toolkit.files.texts.documents import Corpus, Counts, SeenIds, is_empty
from toolkit.retrieval.index.index_types import LUCENE, is_index
from toolkit.retrieval.index.lucene_shards import SHARD, Taker, lucene_libraries, merged_shards

LATIN = "LATIN"
LARGE = 100_000  # documents from which making the arrays takes seconds
LONGEST = 100  # characters of a word: of scripts without blanks it may be a sentence


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

    threads     of Lucene; of each worker its own number
    shard_size  documents that are indexed at once, and merged in the end, see `toolkit.retrieval.index.lucene_shards`: an
                interrupted build resumes at the shards that are not there. None for no shards; workers have them anyway

    Statistics, runs and record are the same with shards and without. Raises ToolkitError, which names file and line, for a
    document that is broken, has no id or text, or an id that came before; with `skip_invalid` they are left out and counted,
    and the first of them are said. An older index at `output` is replaced, another folder is not.
    """
    from toolkit.models.lucene.postings import make_arrays
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
        if counts.documents >= LARGE:
            say("making the arrays for BM25")
        with silenced():
            why_not = make_arrays(part, **how)
        if why_not:
            say(f"note: Lucene searches this index, without arrays for BM25 ({why_not})")
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


class ScriptWords:
    """Words, collected while documents pass. Scripts are called as Unicode's names of characters begin (`CYRILLIC`, `CJK`)."""

    def __init__(self) -> None:
        self._words: dict[str, dict[str, str]] = {}
        self._seen: set[str] = set()

    def see(self, doc: Doc) -> None:
        """Look at a document."""
        for script in self._new_scripts(doc.contents):
            words = (word for word in doc.contents.split() if any(_script(character) == script for character in word))
            self._words[script] = {"word": max(words, key=len)[:LONGEST], "document": doc.doc_id}

    def see_batch(self, batch: Batch) -> None:
        """Look at the documents of a batch of JSON lines, which are taken apart only where one has a new script."""
        if self._new_scripts(batch.ready.decode(errors="replace")):
            self._seen.clear()
            for entry in batch.entries():
                self.see(entry.doc)

    def facts(self) -> dict[str, dict[str, str]]:
        """Script -> a word and the id of the document that has it, for the record."""
        return dict(sorted(self._words.items()))

    def _new_scripts(self, text: str) -> list[str]:
        """The scripts of a text that no text before had."""
        if text.isascii() and LATIN in self._words:
            return []
        new = set(text) - self._seen
        self._seen |= new
        return sorted({_script(character) for character in new} - self._words.keys() - {""})


def unfound_words(folder: Path, language: str, words: Mapping[str, Any]) -> Iterator[str]:
    """A line for each of the words of a record that a Lucene index does not find in the document that has it."""
    from toolkit.models.lucene.anserini import Searcher

    searcher = Searcher(folder, language=language)
    for script, known in words.items():
        word, doc_id = (known.get(key) if isinstance(known, Mapping) else None for key in ("word", "document"))
        if not isinstance(word, str) or not isinstance(doc_id, str):
            yield f"{script}: the record does not say which word of which document"
        elif (
            searcher.tokens(word)
            and not searcher.search([Topic("word", word)], candidates={"word": [doc_id]}, hits=1).query_ids
        ):
            yield f"{script}: document {doc_id} is not found by its word {word!r}"


def _script(character: str) -> str:
    """The script of a letter; empty for other characters."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
