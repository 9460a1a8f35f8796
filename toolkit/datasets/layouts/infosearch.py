"""InfoSearch as it is published: one folder a dimension, with a corpus, queries, and qrels for each mode.

The layout is that of MTEB's data sets (`corpus`, `queries`, `qrels_og`, `qrels_changed`, `qrels_reversed`), as files on
disk or as a hub repository holds them. The authors' candidates lie elsewhere, in their code repository.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record, repository_folder
from toolkit.datasets.group_data import Group, Part, Row, assemble
from toolkit.files.formats import read_requests

NEEDED = ("name", "repository", "revision")
PUBLISHED = {BASE: "og", INSTRUCTED: "changed", REVERSED: "reversed"}  # role -> the name in columns and tables
TABLES = ("corpus", "queries", *(f"qrels_{mode}" for mode in PUBLISHED.values()))
CANDIDATES = {BASE: "og", INSTRUCTED: "ch", REVERSED: "re"}  # role -> the name in the authors' files of candidates
CANDIDATES_TAG = "e5-mistral-7b-instruct"  # what retrieved them
# what was put right or is missing
REPEATED, EMPTY, PAIRS_APART = NOTES = (
    "instructions began with their core query; it was taken off",
    "instructions are empty",
    "pairs of query and document are not judged in all three modes",
)
SENTENCE_END = ".!?…。．！？｡؟۔।॥።፧၊။។៕‼⁇⁈⁉\u037e"  # the last is the Greek question mark
CLOSING = "\"'”’»)]）］」』〉》"  # may stand behind the end of a sentence
# the scripts that set no blanks between words, as Unicode names their letters begin
WITHOUT_BLANKS = (
    *("CJK", "IDEOGRAPHIC", "BOPOMOFO", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "YI "),
    *("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "TAI ", "NEW TAI LUE", "JAVANESE", "BALINESE"),
)
_BETWEEN = re.compile(rf"^(?:[\s,;:，、；：،؛{re.escape(SENTENCE_END)}]|[–—]|-(?=\s))+")
_JOINED = re.compile(r"\w['’‐‑_-]\w|\d[.,:/]\d")  # don't, state-of-the-art, 2.5


def find(root: Path, group: Group) -> Path | None:
    """`Audience-v1/` or `<owner>/Audience-v1/`, where a local copy holds it."""
    return repository_folder(root, group["repository"])


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A dimension, without candidates.

    All that cannot be right (a duplicate id, an unknown document or query in qrels, a query without text, without a gold
    document or without reversed judgments) is one ToolkitError with file and line of each problem. Columns that nobody
    knows are fine.
    """
    name, problems = group["name"], []
    docs = row_values.documents(folder, "corpus", problems)
    queries = row_values.by_id(folder, "queries", ("_id", "id"), "query", problems)
    tables = {role: f"qrels_{published}" for role, published in PUBLISHED.items()}
    judgments = {role: row_values.judgments(folder, table, queries, docs, problems) for role, table in tables.items()}
    for query_id, record in queries.items():
        if not row_values.text(record, "text").strip():
            problems.append(f"{record.place}: query {query_id} has no text")
        relevant = [{doc for doc, label in judgments[role][query_id].items() if label > 0} for role in (BASE, INSTRUCTED)]
        if not relevant[0] & relevant[1]:
            what = "no gold document (relevant in qrels_og and in qrels_changed)"
            problems.append(f"{record.place}: query {query_id} has {what}")
        if not judgments[REVERSED][query_id]:
            problems.append(f"{record.place}: query {query_id} is not in qrels_reversed")
    row_values.refuse(folder, problems)
    found = dict.fromkeys(NOTES, 0)
    rows = [_row(query_id, record, judgments, spec.modes, found) for query_id, record in queries.items()]
    for query_id in queries:
        judged = [set(labels[query_id]) for labels in judgments.values()]
        found[PAIRS_APART] += len(set.union(*judged) - set.intersection(*judged))
    notes = [f"{name}: {number} {what}" for what, number in found.items() if number]
    return assemble(name, tuple(spec.modes), rows, list(docs.values()), notes)


def candidates(root: Path, spec: BenchmarkSpec, group: Group, part: Part) -> dict[str, Run]:
    """The authors' candidates to rerank by mode, under our ids, from wherever a local copy holds their files.

    Raises ToolkitError where a file comes twice, and where it names a query or document that the dimension has not.
    """
    runs, known = {}, {doc.doc_id for doc in part.docs}
    for mode, role in spec.modes.items():
        paths = _candidate_files(root, group, role)
        if len(paths) > 1:
            raise ToolkitError(f"candidates twice: {paths[0]} and {paths[1]}", "leave one of them in the folder")
        if paths:
            run, _ = read_requests(paths[0])
            ours = {topic.original_id: topic.query_id for topic in part.topics[mode]}
            problems = [f"unknown query {query_id}" for query_id in run.query_ids if query_id not in ours]
            problems += [f"unknown document {doc_id}" for doc_id in run.doc_ids.to_pylist() if doc_id not in known]
            if problems:
                hint = "compare revisions"
                raise ToolkitError(f"{paths[0]} does not fit {part.name}: {len(problems)} unknown ids", hint, problems=problems)
            runs[mode] = replace(run.with_query_ids(ours[query_id] for query_id in run.query_ids), tag=CANDIDATES_TAG)
    return runs


def has_candidates(root: Path, spec: BenchmarkSpec, group: Group) -> bool:
    """Whether a local copy holds the authors' candidates of some mode."""
    return any(_candidate_files(root, group, role) for role in spec.modes.values())


def _candidate_files(root: Path, group: Group, role: str) -> list[Path]:
    return sorted(root.rglob(f"{group['repository'].rpartition('/')[2]}_{CANDIDATES[role]}_retrieval_results.json"))


def _row(
    query_id: str, record: Record, judgments: Mapping[str, Mapping[str, Mapping[str, int]]], modes: Modes, notes: dict[str, int]
) -> Row:
    query = row_values.text(record, "text").strip()
    instructions = {}
    for mode in modes.of(INSTRUCTED, REVERSED):
        # a column of its own in later releases; in others it may begin with the core query
        column = f"instruction_{PUBLISHED[modes[mode]]}"
        published = row_values.text(record, f"only_{column}", column).strip()
        instructions[mode] = _without(query, published)
        notes[REPEATED] += instructions[mode] != published
        notes[EMPTY] += not instructions[mode]
    base = row_values.optional(record, f"instruction_{PUBLISHED[BASE]}").strip() if modes.of(BASE) else ""
    return Row(
        original_id=query_id,
        query=query,
        condition=row_values.optional(record, "condition"),
        # in the base mode the release repeats an instruction that asks for nothing; ours is the core query alone
        instructions=instructions,
        judgments={mode: judgments[role][query_id] for mode, role in modes.items()},
        released=dict.fromkeys(modes.of(BASE), _without(query, base)),
    )


def _without(query: str, instruction: str) -> str:
    """An instruction without the core query that it begins with and the punctuation between; a part of a longer word stays."""
    rest = instruction.removeprefix(query)
    unchanged = not query or rest == instruction or _in_word(query, rest)
    return instruction if unchanged else _BETWEEN.sub("", rest).rstrip()


def _in_word(query: str, rest: str) -> bool:
    """Whether a query ends inside a word (or number) of the text that continues with `rest`. Where sentences or a script
    without blanks meet, no blank need stand between two words."""
    if unicodedata.category(rest[:1] or " ").startswith("M"):  # an accent or vowel sign of the query's last letter
        return True
    neighbours = (unicodedata.name(letter, "") for letter in query[-1] + rest[:1])
    if query.rstrip(CLOSING).endswith(tuple(SENTENCE_END)) or any(name.startswith(WITHOUT_BLANKS) for name in neighbours):
        return False
    return rest[:1].isalnum() or _JOINED.match(query[-1] + rest) is not None
