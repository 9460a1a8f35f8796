"""What rows of published tables hold: ids, texts, labels, documents, judgments; what is wrong with them, with its place.

And documents of a local copy, which are read when they are asked for.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.datasets.copies.data_files import Record, read_table
from toolkit.datasets.copies.local_copies import unchanged

Known = Container[str] | None  # the document ids that there are; None where nobody asks


def text(record: Record, *names: str) -> str:
    """The value of the first of these columns that is there. ToolkitError, which names the row, where it is no text."""
    for name in names:
        if (value := record.values.get(name)) is not None:
            if isinstance(value, str):
                return value
            raise ToolkitError(f"{record.place}: expected text in {name!r}, found {value!r}", "get the file again")
    what = "nothing in column" if any(name in record.values for name in names) else "no column"
    raise ToolkitError(f"{record.place}: {what} {' or '.join(map(repr, names))}", f"its columns: {', '.join(record.values)}")


def optional(record: Record, name: str) -> str:
    """The value of a column that a row need not have."""
    return "" if record.values.get(name) is None else text(record, name)


def identifier(record: Record, *names: str) -> str:
    """An id is text always; some files have whole numbers. ToolkitError, which names the row, where a run could not hold it."""
    name = next((name for name in names if type(record.values.get(name)) is int), None)
    value = str(record.values[name]) if name else text(record, *names)
    if value.split() != [value]:
        raise ToolkitError(f"{record.place}: the id {value!r} is empty or holds white space", "run files could not hold it")
    return value


def label(record: Record) -> int | None:
    """A relevance: a whole number, which some files write as 1.0; None where it is something else."""
    score = record.values.get("score")
    if isinstance(score, bool):
        return None
    try:
        value = float(text(record, "score") if score is None else score)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**31 else None


def id_list(record: Record, name: str, docs: Known, problems: list[str]) -> list[str]:
    """The document ids that a column lists; what cannot be right (no list of texts, an id twice, an unknown one) goes to
    `problems`."""
    doc_ids = record.values.get(name)
    if not isinstance(doc_ids, list) or not all(isinstance(doc_id, str) for doc_id in doc_ids):
        problems.append(f"{record.place}: expected a list of ids in {name!r}, found {str(doc_ids)[:40]}")
        return []
    if len(set(doc_ids)) < len(doc_ids):
        problems.append(f"{record.place}: a document twice in {name!r}")
    unknown = [doc_id for doc_id in doc_ids if doc_id not in docs] if docs is not None else []
    problems += [f"{record.place}: unknown document {doc_id}" for doc_id in unknown]
    return doc_ids


def documents(folder: Path, table: str, problems: list[str]) -> dict[str, Doc]:
    """A corpus (`_id` or `id`, `title`, `text` or `content`) by document id; ids that come twice go to `problems`."""
    docs: dict[str, Doc] = {}
    for record in read_table(folder, table):
        doc = Doc(identifier(record, "_id", "id"), optional(record, "title"), text(record, "text", "content"))
        if doc.doc_id in docs:
            problems.append(f"{record.place}: document {doc.doc_id} for the second time")
        docs[doc.doc_id] = doc
    return docs


def corpus(folder: Path, table: str, problems: list[str], *, stored: bool) -> tuple[Known, Sequence[Doc]]:
    """The known document ids and the documents; in a stored copy, which was checked before, they are read when asked for."""
    if stored:
        return None, stored_docs(folder, table)
    docs = documents(folder, table, problems)
    return docs, list(docs.values())


def by_id(folder: Path, table: str, columns: Sequence[str], what: str, problems: list[str]) -> dict[str, Record]:
    """The rows of a table by the id in the first of these columns that is there; ids that come twice go to `problems`."""
    rows: dict[str, Record] = {}
    for record in read_table(folder, table):
        name = identifier(record, *columns)
        if name in rows:
            problems.append(f"{record.place}: {what} {name} for the second time")
        rows[name] = record
    return rows


def judgments(
    folder: Path,
    table: str,
    queries: Iterable[str],
    docs: Known,
    problems: list[str],
    columns: tuple[str, str] = ("query-id", "corpus-id"),
) -> dict[str, dict[str, int]]:
    """query id -> document id -> relevance, in the order of the file; what cannot be right goes to `problems`.

    docs     the known document ids; None where the documents are not here, and nobody can say
    columns  of query and document; the relevance stands in `score`
    """
    judged: dict[str, dict[str, int]] = {query_id: {} for query_id in queries}
    for record in read_table(folder, table):
        query_id, doc_id, relevance = identifier(record, columns[0]), identifier(record, columns[1]), label(record)
        if query_id not in judged:
            problems.append(f"{record.place}: unknown query {query_id}")
        elif docs is not None and doc_id not in docs:
            problems.append(f"{record.place}: unknown document {doc_id}")
        elif doc_id in judged[query_id]:
            problems.append(f"{record.place}: query {query_id} and document {doc_id} for the second time")
        elif relevance is None:
            problems.append(f"{record.place}: score {record.values['score']!r} is no whole number")
        else:
            judged[query_id][doc_id] = relevance
    return judged


def refuse(folder: Path, problems: Sequence[str]) -> None:
    """One ToolkitError for all that was found wrong in a folder; nothing where nothing was."""
    hint = "compare the copy with the published one; nothing of it was stored"
    if len(problems) == 1:
        raise ToolkitError(problems[0], hint)
    if problems:
        raise ToolkitError(f"{folder} has {len(problems)} problems", hint, problems=tuple(problems))


@dataclass(frozen=True)
class LazyDocs(Sequence[Doc]):
    """Documents that are read when they are asked for: topics and judgments need not wait for a corpus."""

    read: Callable[[], list[Doc]]

    @cached_property
    def _docs(self) -> list[Doc]:
        return self.read()

    def __len__(self) -> int:
        return len(self._docs)

    def __getitem__(self, place: int | slice) -> Doc | list[Doc]:
        return self._docs[place]


def stored_docs(folder: Path, table: str) -> LazyDocs:
    """The documents of a local copy."""

    def read() -> list[Doc]:
        with unchanged(folder):
            return list(documents(folder, table, []).values())

    return LazyDocs(read)
