"""One corpus a question: documents sorted by the question that they name, and an index made of each corpus."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from toolkit.core.errors import three
from toolkit.core.system.files import temporary_folder
from toolkit.core.system.progress import progress, say, silenced
from toolkit.files.formats.indexes import read_index_record, write_index_record
from toolkit.files.store import new_folder
from toolkit.files.texts.corpus import Entry
from toolkit.files.texts.documents import Corpus, Counts, SeenIds, content, corpus_from_docs, corpus_from_files, is_empty
from toolkit.files.texts.per_query_corpus import IDS, Question, write_questions
from toolkit.retrieval.index.build import check_output, refuse, refuse_empty

HELD = 1 << 16  # documents in memory until they are written to the files of their questions
# what an index says of itself alone; the rest is the same for all questions
OF_ONE = ("format", "files", "corpus", "documents", "empty", "skipped", "statistics", "vectors", "cut", "words")

Build = Callable[[Corpus, Path], Counts]  # (the corpus of a question, a folder): makes the index


def build_per_question(corpus: Corpus, output: Path, build: Build, *, skip_invalid: bool = False, command: str = "") -> Counts:
    """Make an index of each question's documents, all in the folder `output`, which is there when all are and not before.

    Every document names its question (`Entry.question`), in any order; its id may come again in another question's corpus, with
    the same text. Raises ToolkitError, which names file and line, for one with another text, for a document that is broken,
    comes twice or names no question (with `skip_invalid` they are left out and counted), and for a corpus without documents.
    """
    check_output(output)
    started, counts = time.time(), Counts()
    output.parent.mkdir(parents=True, exist_ok=True)
    # where documents wait
    with temporary_folder(output.parent, f".{output.name}.", ".part") as held, new_folder(output) as part:
        files = _sort(corpus, held, skip_invalid, counts)
        questions = []
        with progress("indexing", len(files), "questions") as advance, (part / IDS).open("wb") as ids:
            for name, file in files.items():
                docs, folder = list(corpus_from_files(file).documents()), part / file.stem
                with silenced():  # a line a question would hide what matters
                    build(corpus_from_docs(name, docs), folder)
                ids.write("".join(f"{doc.doc_id}\n" for doc in docs).encode())
                questions.append(Question(name, folder, len(docs)))
                advance(1)
        counts.documents = sum(question.documents for question in questions)
        refuse_empty(corpus, counts)
        write_questions(part, questions)
        of_first = read_index_record(questions[0].folder) or {}
        shared = {name: value for name, value in of_first.items() if name not in OF_ONE}
        record = {**shared, "corpus": corpus.facts(), "questions": len(questions), **asdict(counts)}
        write_index_record(part, record, command, started)
    return counts


def _sort(corpus: Corpus, folder: Path, skip: bool, counts: Counts) -> dict[str, Path]:
    """Question -> the file of its documents, in order of first appearance. Empty documents are left out and counted."""
    files: dict[str, Path] = {}
    waiting: dict[str, list[str]] = defaultdict(list)
    named, held = set(), 0
    for entry in _sound(corpus, skip, counts):
        named.add(entry.question)
        if is_empty(entry.doc):
            counts.empty += 1
            continue
        files.setdefault(entry.question, folder / f"q{len(files) + 1:05d}.jsonl")
        row = {"id": entry.doc.doc_id, "title": entry.doc.title, "text": entry.doc.text}
        waiting[entry.question].append(json.dumps(row, ensure_ascii=False) + "\n")
        held += 1
        if held % HELD == 0:
            _append(waiting, files)
    _append(waiting, files)
    if without := named - files.keys():
        say(f"note: all documents of {len(without)} of {len(named)} questions are empty ({three(without)})")
    return files


def _append(waiting: dict[str, list[str]], files: dict[str, Path]) -> None:
    for question, lines in waiting.items():
        with files[question].open("a", encoding="utf-8") as file:
            file.writelines(lines)
    waiting.clear()


def _sound(corpus: Corpus, skip: bool, counts: Counts) -> Iterator[Entry]:
    """The entries with which nothing is wrong; see `build_per_question`."""
    pairs, ids, texts = SeenIds(), SeenIds(), SeenIds()
    for file, batches in corpus.parts:
        for batch in batches:
            entries = batch.entries()
            problems = {place: entry.problem for place, entry in enumerate(entries) if entry.problem}
            sound = [place for place in range(len(entries)) if place not in problems]
            problems |= {place: "it names no question (query_id)" for place in sound if not entries[place].question}
            sound = [place for place in sound if place not in problems]
            again = set(ids.add([entries[place].doc.doc_id for place in sound]))
            again -= set(texts.add([content(entries[place].doc).decode() for place in sound]))
            twice = set(pairs.add([f"{entries[place].question}\t{entries[place].doc.doc_id}" for place in sound]))
            for number, place in enumerate(sound):
                if number in again | twice:
                    what = "comes a second time" if number in twice else "has another text in another question's corpus"
                    problems[place] = f"id {entries[place].doc.doc_id!r} {what}"
            refuse(corpus, file, entries, problems, skip, counts)
            yield from (entry for place, entry in enumerate(entries) if place not in problems)
