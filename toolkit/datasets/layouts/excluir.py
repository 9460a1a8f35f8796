"""ExcluIR: questions that rule something out, each with the document that it asks for and the one that it excludes.

The authors' folder (`src/data/`):

    corpus             a list of texts; a document's id is its place, from 0
    test_manual_final  ExcluQ (or RQ_rewrite): the exclusionary question; index (or corpus_sub_index): the places of the
                       excluded and of the wanted document; question0, where the file has it: the question of HotpotQA
                       that it was made of

and the pairs alone, as one repository of the hub has them (group `pairs`): a table `train` of `query`, `doc_pos`, `doc_neg`,
whose corpus is those documents and nothing else.

Sources: the authors' `src/data/README.md`, which has one spelling of the columns, and `bi_eval.py`, which has the
other. Neither data file was read.
"""

from collections.abc import Iterator
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.modes import join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record, folder_with, read_table
from toolkit.datasets.group_data import Group, Part, as_qrels, topic_in_mode

NEEDED = ("name",)
QUESTIONS, PAIRS = "test_manual_final", "train"
ORIGINAL, EXCLUDING, PLACES = "question0", ("ExcluQ", "RQ_rewrite"), ("index", "corpus_sub_index")
BASE, EXCLUDE = "base", "exclude"
FOLDERS = (".", "src/data", "data", "ExcluIR/src/data")


def tables(group: Group) -> tuple[str, ...]:
    """Of the authors' folder, or of the hub's pairs."""
    return (PAIRS,) if "repository" in group else ("corpus", QUESTIONS)


def find(root: Path, group: Group) -> Path | None:
    """The folder with the questions, at its place in the authors' repository or the local copy itself."""
    return folder_with(root, group, (PAIRS,)) if "repository" in group else folder_with(root, group, (QUESTIONS,), FOLDERS)


def expected(group: Group) -> str:
    """For a message."""
    return f"{PAIRS}.jsonl" if "repository" in group else f"src/data/{QUESTIONS}.json with corpus.json"


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """The questions. What is asked for is judged 1 and what is ruled out 0; without the exclusion both are relevant.

    All that cannot be right (a question without text, places of no document) is one ToolkitError with each problem's place.
    """
    problems: list[str] = []
    name = group["name"]
    if "repository" in group:
        # documents `d0`, `d1`, ... in order of first appearance; equal texts are one document
        ids: dict[str, str] = {}
        rows: list[_Row] = []
        for record in read_table(folder, PAIRS):
            pair = (row_values.text(record, column) for column in ("doc_pos", "doc_neg"))
            asked_for, ruled_out = (ids.setdefault(text, f"d{len(ids)}") for text in pair)
            rows.append((record, "", row_values.text(record, "query").strip(), asked_for, ruled_out))
        docs = {doc_id: Doc(doc_id, "", text) for text, doc_id in ids.items()}
    else:
        docs = row_values.documents(folder, "corpus", problems)
        rows = list(_questions(folder, docs, problems))
    topics: dict[str, list[Topic]] = {BASE: [], EXCLUDE: []}
    judged: dict[str, dict[str, dict[str, int]]] = {BASE: {}, EXCLUDE: {}}
    for number, (record, original, excluding, asked_for, ruled_out) in enumerate(rows):
        if not excluding:
            problems.append(f"{record.place}: question {number} has no text")
        texts = {BASE: original, EXCLUDE: excluding}
        labels = {BASE: {asked_for: 1, ruled_out: 1}, EXCLUDE: {asked_for: 1, ruled_out: 0}}
        for mode in (mode for mode, text in texts.items() if text):
            topic = topic_in_mode(f"{name}-{number}", mode, texts[mode], original_id=str(number))
            topics[mode].append(topic)
            judged[mode][topic.query_id] = labels[mode]
    row_values.refuse(folder, problems)
    without = len(topics[EXCLUDE]) - len(topics[BASE])
    notes = (f"{name}: {without} questions have no {ORIGINAL}: they have no mode {BASE}",) if without else ()
    qrels = {mode: as_qrels(judged[mode], join_mode(name, mode)) for mode in topics}
    return Part(name, topics, qrels, list(docs.values()), notes=notes)


_Row = tuple[Record, str, str, str, str]  # record, original question, exclusionary one, document asked for, document ruled out


def _questions(folder: Path, docs: dict[str, Doc], problems: list[str]) -> Iterator[_Row]:
    for record in read_table(folder, QUESTIONS):
        given = next((record.values[name] for name in PLACES if name in record.values), None)
        two = isinstance(given, list) and len(given) == 2 and all(type(place) is int for place in given)
        if not two or given[0] == given[1] or any(str(place) not in docs for place in given):
            expected = f"expected the places of two documents in {' or '.join(PLACES)}"
            problems.append(f"{record.place}: {expected}, found {str(given)[:40]}")
            continue
        ruled_out, asked_for = map(str, given)
        original, excluding = row_values.optional(record, ORIGINAL).strip(), row_values.text(record, *EXCLUDING).strip()
        yield record, original, excluding, asked_for, ruled_out
