"""Indexes in which every question has a corpus of its own: a folder with an index for each, and a list of them.

questions.tsv   a line a question: its id, the folder of its index, how many documents that has
docid           the documents' ids, a line each, question by question in the order of the list
tandem.yaml     what all of them have in common, see `toolkit.files.formats.indexes`
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.files.formats.indexes import NAME

QUESTIONS = "questions.tsv"
IDS = "docid"


class Question(NamedTuple):
    """A question with a corpus of its own: its id, where its index is, and how many documents that has."""

    name: str
    folder: Path
    documents: int


def has_questions(folder: Path) -> bool:
    """Whether a folder holds an index a question."""
    return (folder / QUESTIONS).is_file() and (folder / NAME).is_file()


def write_questions(folder: Path, questions: Iterable[Question]) -> None:
    """Write the list into the folder in which the indexes lie."""
    lines = (f"{question.name}\t{question.folder.name}\t{question.documents}\n" for question in questions)
    (folder / QUESTIONS).write_text("".join(lines), encoding="utf-8")


def read_questions(folder: Path) -> list[Question]:
    """The questions of an index, in the order of the list; ToolkitError where the list cannot be read."""
    questions = []
    for number, line in enumerate(_lines(folder / QUESTIONS), 1):
        name, place, documents = [*line.split("\t"), "", ""][:3]
        if not documents.isdigit() or not (folder / place).is_dir():
            raise ToolkitError(f"{folder / QUESTIONS}, line {number}: no index of a question", "rebuild the index")
        questions.append(Question(name, folder / place, int(documents)))
    return questions


def _lines(path: Path) -> list[str]:
    """A line feed alone ends a line: an id may hold what `splitlines` takes for an end."""
    return path.read_bytes().decode().split("\n")[:-1]


def indexes_of(folder: Path, doc_ids: Iterable[str]) -> dict[Path, list[str]]:
    """The folders of the indexes that hold these documents -> the ids in each; an id of several corpora is in the first."""
    import numpy as np

    questions = read_questions(folder)
    known = pyarrow.array(_lines(folder / IDS), pyarrow.large_string())
    wanted = list(dict.fromkeys(doc_ids))
    places = compute.index_in(pyarrow.array(wanted, pyarrow.large_string()), known).to_pylist()
    ends, ids_by_folder = np.cumsum([question.documents for question in questions]), {}
    for doc_id, place in zip(wanted, places, strict=True):
        if place is not None:
            question = questions[int(np.searchsorted(ends, place, side="right"))]
            ids_by_folder.setdefault(question.folder, []).append(doc_id)
    return ids_by_folder
