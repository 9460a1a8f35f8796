"""Search in which every question has a corpus of its own: document frequencies and lengths are those of that corpus."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, join_runs
from toolkit.core.system.progress import progress, say, say_first, silenced
from toolkit.core.topics import Topic
from toolkit.files.texts.per_query_corpus import has_questions, read_questions

_NUMBER = re.compile(r"\.\d+$")  # of an expanded query: `<question>.<n>`

Search = Callable[[Sequence[Topic], Path], Run]


def search_per_query(topics: Sequence[Topic], index: Path, search: Search, tag: str) -> Run:
    """The run of one index; where the folder holds an index a question, of each question's topics over its own.

    A corpus is named by a topic's id, by that of its core query (`group_id`, `<question>.<n>`), or by the published id.
    Topics that have no corpus have no lines, which `check_per_query` notes; of notes on the corpora, the first is printed.
    """
    if not has_questions(index):
        return search(topics, index)
    searches = searches_of(topics, index)
    runs, notes = [], []
    with progress("searching", len(searches), "questions") as advance:
        for of_question, folder in searches:
            with silenced(notes):  # a bar and a line a question would hide what matters
                runs.append(search(of_question, folder))
            advance(1)
    say_first(notes)
    return join_runs(runs, tag=tag, source=str(index)) if runs else Run.from_rows([], tag=tag, source=str(index))


def searches_of(topics: Sequence[Topic], index: Path) -> list[tuple[Sequence[Topic], Path]]:
    """What is searched where: all topics in an index that serves all, else those of each question in its own."""
    if not has_questions(index):
        return [(topics, index)]
    folders = _folders(index)
    by_corpus, _ = _sorted(topics, folders)
    return [(of_question, folders[name]) for name, of_question in by_corpus.items()]


def check_per_query(parts: Iterable[tuple[Sequence[Topic], Path]]) -> None:
    """Say which topics have no corpus in the index that they are searched over; nothing where an index serves all.

    Raises ToolkitError where none has one, and where a published id is that of several questions.
    """
    of_index: dict[Path, list[Topic]] = {}
    for topics, index in parts:
        of_index.setdefault(index, []).extend(topics)
    for index, topics in of_index.items():
        if not has_questions(index):
            continue
        folders = _folders(index)
        by_corpus, without = _sorted(topics, folders)
        for name, found in by_corpus.items():  # published ids are those of a data set: questions of two may share one
            cores = {topic.group_id or topic.query_id for topic in found if topic.original_id == name}
            if len(cores) > 1:
                hint = "search the topics of one data set, or name the questions in full when the corpus is indexed"
                raise ToolkitError(f"question {name} of {index} is that of {len(cores)} topics ({three(cores)})", hint)
        if without:
            message = f"{index} has no corpus for {len(without)} of {len(topics)} topics ({three(without)})"
            if not by_corpus:
                raise ToolkitError(message, f"it has one for each of {three(folders)}")
            say(f"note: {message}; they have no lines in the run")


def _folders(index: Path) -> dict[str, Path]:
    return {question.name: question.folder for question in read_questions(index)}


def _sorted(topics: Sequence[Topic], known: Mapping[str, Path]) -> tuple[dict[str, list[Topic]], list[str]]:
    """The topics of each corpus by its name, and the ids of those that have none."""
    by_corpus: dict[str, list[Topic]] = {}
    without = []
    for topic in topics:
        names = (topic.query_id, topic.group_id, _NUMBER.sub("", topic.query_id), topic.original_id)
        name = next((name for name in names if name in known), None)
        if name is None:
            without.append(topic.query_id)
        else:
            by_corpus.setdefault(name, []).append(topic)
    return by_corpus, without
