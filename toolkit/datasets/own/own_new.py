"""Beginning a folder: a commented example, another benchmark's files, runs that are to be judged, or tables in memory.

And a folder under a name: its entry in the user's registry, which says where it lies.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.core.system.files import home, open_output, write_text
from toolkit.core.system.lazy_names import yaml
from toolkit.core.system.yaml_json import plain, read_yaml
from toolkit.core.topics import Topic
from toolkit.datasets.copies.data_files import read_table
from toolkit.datasets.copies.row_values import documents, identifier, judgments, refuse, text
from toolkit.datasets.group_data import part_name
from toolkit.datasets.own import FILE, remarks
from toolkit.datasets.own.own_check import check_folder
from toolkit.datasets.own.own_folder import open_folder
from toolkit.datasets.own.own_qrels import UNJUDGED
from toolkit.datasets.own.own_topics import IDS
from toolkit.files.formats import write_topics
from toolkit.files.runs.conversion import as_qrels
from toolkit.files.texts.documents import corpus_from_files

MODES = Modes({"base": BASE, "pos": INSTRUCTED, "neg": REVERSED})
SPLITS = ("test", "dev", "train")
DEPTH = 10  # documents of each run and query that are to be judged

NEW = registry.FOLDER / "new-benchmark.yaml"
ENTRY_HEAD = "# written by `tandem benchmarks add`; remove this file, and the name is gone\n"


@dataclass(frozen=True)
class Content:
    """What is written into a folder.

    rows        of topics.jsonl
    qrels       mode -> (query id without mode, iteration, document id, label) of each line
    topics      group -> its topics in place of rows, in a file each: texts that are not the query and its instruction behind it
    corpora     group -> its documents in place of docs, in a file each
    candidates  mode -> (query id without mode, document id) of each document to rerank, those of a query best first
    """

    docs: Iterable[Doc] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    qrels: Mapping[str, Sequence[tuple[str, str, str, str]]] = field(default_factory=dict)
    topics: Mapping[str, Sequence[Topic]] = field(default_factory=dict)
    corpora: Mapping[str, Iterable[Doc]] = field(default_factory=dict)
    candidates: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


def new_folder(
    folder: Path,
    content: Content,
    modes: Modes,
    *,
    name: str = "",
    measures: Sequence[str] = (),
    more: Mapping[str, Any] = {},
    place: Path | None = None,
) -> list[Path]:
    """Write a benchmark's files into a folder, which is made where it is not there; the paths written.

    place  where the folder will lie, if that is another place: comments name it

    Raises ToolkitError, before anything is written, where one of them is there.
    """
    topics = [f"topics.{group}.jsonl" for group in content.topics] or ["topics.jsonl"]
    corpora = {f"corpus.{part_name(group)}.jsonl": docs for group, docs in content.corpora.items()}
    corpora = corpora or {"corpus.jsonl": content.docs}
    candidates = {f"candidates.{mode}.trec" if mode else "candidates.trec": rows for mode, rows in content.candidates.items()}
    names = [*corpora, *topics, *(qrels_name(mode) for mode in content.qrels), *candidates, FILE]
    if taken := [file for file in names if (folder / file).exists()]:
        raise ToolkitError(f"{folder} has {taken[0]} already", "name a folder that holds no benchmark yet")
    folder.mkdir(parents=True, exist_ok=True)
    for file, docs in corpora.items():
        _write(folder / file, (_json(entry_of(doc)) for doc in docs))
    for group, each in content.topics.items():
        write_topics(each, folder / f"topics.{group}.jsonl", "jsonl")
    if not content.topics:
        _write(folder / "topics.jsonl", map(_json, content.rows))
    for mode, judged in content.qrels.items():
        _write(folder / qrels_name(mode), (" ".join(row) for row in judged))
    for file, pairs in candidates.items():
        _write(folder / file, _ranked(pairs))
    _write(folder / FILE, [declaration(place or folder, modes, name=name, measures=measures, more=more)])
    return [folder / file for file in names]


def _ranked(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines of a run: documents of a query in their order, with whole scores that fall to 1."""
    left = Counter(query_id for query_id, _ in pairs)
    ranks: Counter[str] = Counter()
    for query_id, doc_id in pairs:
        ranks[query_id] += 1
        yield f"{query_id} Q0 {doc_id} {ranks[query_id]} {left[query_id] + 1 - ranks[query_id]} candidates"


def qrels_name(mode: str) -> str:
    """`qrels.pos.txt`, `qrels.txt` without modes."""
    return f"qrels.{mode}.txt" if mode else "qrels.txt"


def declaration(folder: Path, modes: Modes, *, name: str, measures: Sequence[str], more: Mapping[str, Any]) -> str:
    """`benchmark.yaml` with a comment on each key."""
    shown = f"measures: [{', '.join(measures)}]" if measures else "# measures: [nDCG@10, WISE@20, pMRR]"
    named = f"modes: {{{', '.join(f'{mode}: {role}' for mode, role in modes.items())}}}" if modes else "# modes: {base: base}"
    form = read_yaml(NEW)["declaration"]
    filled = form.format(folder=folder, name=name or folder.resolve().name, modes=named, measures=shown)
    return (filled + "".join(f"{key}: {_json(value)}\n" for key, value in more.items())).rstrip("\n")


def example(modes: Modes) -> Content:
    """Three documents, a query and their labels: it can be searched and evaluated as it is."""
    given = read_yaml(NEW)["example"]
    instructions = {mode: given["instructions"][role] for mode, role in modes.items() if role != BASE}
    row = {"id": "q1", "query": given["query"], **({"instructions": instructions} if modes else {})}
    roles = modes or {"": BASE}
    labels = {mode: given["labels"][role].items() for mode, role in roles.items()}
    judged = {mode: [("q1", "0", doc_id, str(label)) for doc_id, label in rows] for mode, rows in labels.items()}
    return Content([Doc(**doc) for doc in given["documents"]], [row], judged)


def content_of(modes: Sequence[tuple[str, str]] | None, beir: Path | None = None, split: str = "") -> tuple[Content, Modes]:
    """An example or, of a folder in BEIR's layout, what `from_beir` takes; and its modes, those declared or the usual ones."""
    declared = Modes.declared(dict(modes), "--modes") if modes is not None else Modes() if beir else MODES
    return from_beir(beir, declared, split) if beir else example(declared), declared


def from_beir(source: Path, modes: Modes, split: str = "") -> Content:
    """The corpus, queries and qrels of a folder in BEIR's layout; judgments are those of the base mode.

    Instructions are to be written, and documents to be judged in the other modes: pairs of the base mode wait there with `?`.
    split  of the qrels; without, the first of test, dev, train that is there
    """
    problems: list[str] = []
    docs = documents(source, "corpus", problems)
    queries = {identifier(record, "_id", "id"): text(record, "text") for record in read_table(source, "queries")}
    split = split or next((one for one in SPLITS if (source / "qrels" / f"{one}.tsv").exists()), "")
    if not split:
        raise ToolkitError(f"{source} has no qrels/test.tsv", "name the split with --beir-split")
    judged = judgments(source, f"qrels/{split}", queries, docs, problems)
    refuse(source, problems)
    chosen = {query_id: query for query_id, query in queries.items() if judged[query_id]}
    instructions = {mode: "" for mode, role in modes.items() if role != BASE}
    unwritten = {"instructions": instructions} if instructions else {}
    rows = [{"id": query_id, "query": query, **unwritten} for query_id, query in chosen.items()]
    pairs = [(query_id, doc_id, label) for query_id in chosen for doc_id, label in judged[query_id].items()]
    qrels = {
        mode: [(query_id, "0", doc_id, str(label) if role == BASE else UNJUDGED.decode()) for query_id, doc_id, label in pairs]
        for mode, role in (modes or {"": BASE}).items()
    }
    return Content(docs.values(), rows, qrels)


def from_tables(docs: Any, topics: Any, qrels: Any, modes: Modes) -> Content:
    """What DataFrames, rows or mappings hold.

    docs    `doc_id` (or `id`), `title`, `text`; or {doc_id: text}; a path is a file of documents
    topics  the keys of topics.jsonl; or {query_id: query}
    qrels   `query_id, doc_id, relevance`, with ids that carry their mode; or mode -> such judgments
    """
    rows = [_named(row, IDS, "id") for row in _records(topics, "query")]
    if isinstance(docs, str | Path):
        kept = list(corpus_from_files(docs).documents())
    else:
        given = (_named(row, ("id", "_id", "doc_id", "docno"), "id") for row in _records(docs, "text"))
        kept = [Doc(str(row["id"]), row.get("title") or "", row.get("text", row.get("contents", ""))) for row in given]
    by_mode = isinstance(qrels, Mapping) and modes and set(qrels) <= set(modes)
    labelled = {} if qrels is None else qrels if by_mode else {"": qrels}
    judged: dict[str, list[tuple[str, str, str, str]]] = {}
    for mode, one in labelled.items():
        for row in as_qrels(one):
            base, ending = (row.query_id, mode) if mode else modes.split(row.query_id)
            judged.setdefault(ending, []).append((base, row.iteration, row.doc_id, str(row.relevance)))
    if modes and "" in judged:
        raise ToolkitError(f"judgments of query {judged[''][0][0]} carry no mode", f"ids end in one: {', '.join(modes)}")
    return Content(kept, rows, judged)


def _records(table: Any, value: str) -> list[Mapping[str, Any]]:
    """Rows of a DataFrame, a list of mappings, or a mapping of ids to texts."""
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict("records")
    if isinstance(table, Mapping):
        table = [{"id": key, value: text} for key, text in table.items()]
    if not isinstance(table, Sequence) or not all(isinstance(row, Mapping) for row in table):
        raise ToolkitError(f"no table: {type(table).__name__}", "a DataFrame, a list of mappings, or ids with texts")
    return [{key: one for key, one in row.items() if not _is_missing(one)} for row in table]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _named(row: Mapping[str, Any], names: Sequence[str], name: str) -> dict[str, Any]:
    """The row with its id under one name."""
    given = next((one for one in names if one in row), None)
    if given is None:
        raise ToolkitError(f"a row without id: {str(dict(row))[:60]}", f"ids are named {', '.join(names)}")
    rest = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in row.items() if key != given}
    return {name: str(row[given]), **rest}


def entry_of(doc: Doc) -> dict[str, str]:
    """A document as a line of JSON or an item holds it."""
    return {"id": doc.doc_id, **({"title": doc.title} if doc.title else {}), "text": doc.text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(path: Path, rows: Iterable[str]) -> None:
    with open_output(path) as out:
        for row in rows:
            out.write(f"{row}\n".encode())


def register(path: str | Path) -> Path:
    """Write the entry of the benchmark in a folder; its path. An entry that `add` wrote before is replaced.

    The files stay where they are: what changes in them counts, unless groups or modes do.
    Raises ToolkitError with all that is wrong with the folder, and where another benchmark has its name.
    """
    own = open_folder(path)
    remarks.refuse(own.path, check_folder(path).problems)
    spec = own.spec
    entry = home() / "registry" / "benchmarks" / f"{spec.name}.yaml"
    known = registry.benchmarks().get(spec.name)
    if (known is not None and not known.folder) or (known is None and entry.exists()):
        hint = f"name yours otherwise: `name:` in {own.path}/benchmark.yaml"
        raise ToolkitError(f"there is another benchmark {spec.name}", hint)
    entry.parent.mkdir(parents=True, exist_ok=True)
    content = {field.name: plain(getattr(spec, field.name)) for field in fields(spec)}
    content = {name: value for name, value in content.items() if value or name in ("modes", "groups", "measures", "source")}
    write_text(entry, ENTRY_HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return entry
