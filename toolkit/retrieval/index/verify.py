"""Whether an index is what its record says."""

from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.files.formats.indexes import NAME, read_index_record, verify_files
from toolkit.files.provenance import part
from toolkit.files.store import fetched_files
from toolkit.files.texts.documents import ContentDigest
from toolkit.files.texts.per_query_corpus import has_questions, read_questions
from toolkit.retrieval.index.index_types import FAISS, LUCENE, index_kind


def verify_index(folder: Path) -> list[str]:
    """What is not as the record says, a line each; empty where all is well.

    The files are compared with their SHA-256. Where they are whole, a Lucene index's statistics are compared with those
    recorded, its documents, read back, with the content digest where one is recorded, and a word of each of its scripts is
    searched; a FAISS index is opened, and its number of vectors and their dimension compared. A prebuilt index is compared with
    what was unpacked. Raises ToolkitError where the folder holds no index or the index has no record.
    """
    kind = index_kind(folder)
    if kind is None:
        raise ToolkitError(f"{folder} holds no index", "`tandem index CORPUS --output DIR` makes one")
    record, fetched = read_index_record(folder), fetched_files(folder)
    if record is None and fetched is not None:
        return fetched
    if record is None:
        raise ToolkitError(f"{folder} has no record to compare it with", "indexes that Tandem made or fetched have one")
    if not isinstance(record.get("files"), dict):
        return [f"{NAME}: says nothing of the files"]
    check = _questions if has_questions(folder) else CONTENTS.get(kind)  # of others all that is known is in the digests
    return verify_files(folder, record) or (check(folder, record) if check else [])


def _questions(folder: Path, record: dict[str, Any]) -> list[str]:
    """The same of the index of each question."""
    questions = read_questions(folder)
    problems = [f"question {name}: {problem}" for name, index, _ in questions for problem in verify_index(index)]
    return problems + _different({"documents": sum(question.documents for question in questions)}, record)


def _lucene(folder: Path, record: dict[str, Any]) -> list[str]:
    from toolkit.models.lucene.anserini import ENGLISH
    from toolkit.models.lucene.stored_texts import StoredTexts
    from toolkit.retrieval.index.build import unfound_words

    texts, problems = StoredTexts(folder), []
    content = part(record, "corpus").get("content")
    if content and ContentDigest(texts).hexdigest() != content:
        problems.append("the documents are not those that were indexed")
    problems += _different(texts.statistics(), part(record, "statistics"))
    return problems + list(unfound_words(folder, str(record.get("language", ENGLISH)), part(record, "words")))


def _faiss(folder: Path, record: dict[str, Any]) -> list[str]:
    from toolkit.models.vectors.faiss_shards import open_faiss

    index = open_faiss(folder)
    return _different({"documents": len(index), "dimension": index.dimension}, record)


def _different(actual: dict[str, int], recorded: dict[str, Any]) -> list[str]:
    return [f"{name}: {value}, recorded {recorded.get(name)}" for name, value in actual.items() if value != recorded.get(name)]


CONTENTS = {LUCENE: _lucene, FAISS: _faiss}
