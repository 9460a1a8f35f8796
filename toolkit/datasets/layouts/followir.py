"""FollowIR and mFollowIR as MTEB publishes them: every query twice, with the original (`og`) and the changed instruction.

    corpus        _id, title, text
    queries       _id (`310-og`, `310-changed`), text: the query alone
    instruction   query-id, instruction; in some repositories a column of `queries` instead
    default       query-id, corpus-id, score
    top_ranked    query-id, corpus-ids: the candidates to rerank, best first
    qrel_diff     query-id without its mode, corpus-ids: what the changed instruction makes non-relevant

A repository of several languages has each table once a language (`corpus-fas`), which a group's entry names as `subset`.

The releases before had one row a query (`_id`, `text`, `instruction_og`, `instruction_changed`, and for the paper's
ablations `keywords` and `short_query`), the tables `qrels_og` and `qrels_changed`, and a row of `top_ranked` for each
candidate (`qid`, `pid`); they are read as well. Column names: SOURCES.md, MTEB's loaders and the hub's dataset cards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.modes import BASE, INSTRUCTED, Modes, join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import TABLES, has_table, read_table
from toolkit.datasets.group_data import Group, Part, as_candidates, as_qrels, part_name, topic_in_mode

NEEDED = ("name", "repository", "revision", "language")
PRESENT = ("queries", "corpus", "instruction", "default", "top_ranked", "qrel_diff")
FORMER = ("qrels_og", "qrels_changed")
WORDINGS = {"short": "short_query", "keywords": "keywords"}  # ours -> the column of the former releases
DIFF = "qrel_diff"
MODES = Modes({"og": BASE, "changed": INSTRUCTED})  # as published ids end


def tables(group: Group) -> tuple[str, ...]:
    """The tables of a collection or language, of today's form and of the former one."""
    return tuple(_table(group, name) for name in (*PRESENT, *FORMER))


def patterns(group: Group) -> tuple[str, ...]:
    """In a repository of several languages, the files of one."""
    return (f"*-{group['subset']}/*", f"*-{group['subset']}.*") if "subset" in group else TABLES


def expected(group: Group) -> str:
    """For a message."""
    return f"{group['repository'].rpartition('/')[2]}/{_table(group, 'queries')}/"


def _table(group: Group, name: str) -> str:
    return f"{name}-{group['subset']}" if "subset" in group else name


@dataclass
class _Query:
    """A query of the source in one mode."""

    place: str
    text: str
    instruction: str
    wordings: dict[str, str] = field(default_factory=dict)


@dataclass
class _Source:
    """What the tables say, by published id with its mode (`310-og`); what is wrong with it goes to `problems`."""

    queries: dict[str, _Query]
    judged: dict[str, dict[str, int]]
    candidates: dict[str, list[str]]
    diff: dict[str, set[str]] | None  # by published id without mode; None where there is no such table


def read(folder: Path, spec: BenchmarkSpec, group: Group, *, stored: bool = False) -> Part:
    """A collection or a language of it. The text of a topic is the query, one blank, the instruction of its mode.

    Candidates keep their published order; their score is 1/rank.
    All that cannot be right (an id twice or without a mode, a query in one mode only, without text, instruction, judgments
    or candidates, an unknown document or query) is one ToolkitError with file and line of each problem.
    """
    problems: list[str] = []
    known, docs = row_values.corpus(folder, _table(group, "corpus"), problems, stored=stored)
    read_source = _former if has_table(folder, _table(group, FORMER[0])) else _present
    source = read_source(folder, group, known, problems)
    problems += _lacking(source)
    row_values.refuse(folder, problems)
    name, prefix = group["name"], part_name(group["name"])
    topics = {mode: list(_topics(source, prefix, mode)) for mode in MODES}
    ids = {topic.original_id: topic.query_id for of_mode in topics.values() for topic in of_mode}
    judged = {mode: {ids[query_id]: value for query_id, value in _of_mode(source.judged, mode)} for mode in MODES}
    ranked = {mode: {ids[query_id]: value for query_id, value in _of_mode(source.candidates, mode)} for mode in MODES}
    bases = dict.fromkeys(MODES.split(query_id)[0] for query_id in source.queries)
    apart = [base for base in bases if len({source.queries[join_mode(base, mode)].text for mode in MODES}) > 1]
    notes = (f"{name}: {len(apart)} queries have another text in their changed mode",) if apart else ()
    qrels = {mode: as_qrels(judged[mode], join_mode(prefix, mode)) for mode in MODES}
    candidates = {mode: as_candidates(ranked[mode], "top_ranked") for mode in MODES}
    return Part(name, topics, qrels, docs, candidates, notes, published={} if source.diff is None else {DIFF: source.diff})


read_copy = partial(read, stored=True)


def _present(folder: Path, group: Group, docs: row_values.Known, problems: list[str]) -> _Source:
    rows = row_values.by_id(folder, _table(group, "queries"), ("_id", "id"), "query", problems)
    if has_table(folder, instruction := _table(group, "instruction")):
        instructions = row_values.by_id(folder, instruction, ("query-id",), "the instruction of query", problems)
        unknown = [(query_id, record) for query_id, record in instructions.items() if query_id not in rows]
        problems += [f"{record.place}: unknown query {query_id}" for query_id, record in unknown]
    else:
        instructions = rows
    queries = {
        query_id: _Query(
            record.place,
            row_values.text(record, "text").strip(),
            row_values.optional(instructions[query_id], "instruction").strip() if query_id in instructions else "",
        )
        for query_id, record in rows.items()
    }
    judged = row_values.judgments(folder, _table(group, "default"), queries, docs, problems)
    bases = {MODES.split(query_id)[0] for query_id in queries}
    ranked = _lists(folder, _table(group, "top_ranked"), queries, docs, problems)
    diff = _lists(folder, _table(group, DIFF), bases, docs, problems)
    return _Source(queries, judged, ranked, {base: set(doc_ids) for base, doc_ids in diff.items()})


def _lists(
    folder: Path, table: str, queries: Mapping[str, object] | set[str], docs: row_values.Known, problems: list[str]
) -> dict[str, list[str]]:
    """A table of `query-id` and `corpus-ids`."""
    lists: dict[str, list[str]] = {}
    for record in read_table(folder, table):
        query_id = row_values.identifier(record, "query-id")
        if query_id not in queries:
            problems.append(f"{record.place}: unknown query {query_id}")
        elif query_id in lists:
            problems.append(f"{record.place}: query {query_id} for the second time")
        else:
            lists[query_id] = row_values.id_list(record, "corpus-ids", docs, problems)
    return lists


def _former(folder: Path, group: Group, docs: row_values.Known, problems: list[str]) -> _Source:
    rows = row_values.by_id(folder, _table(group, "queries"), ("_id", "id"), "query", problems)
    queries, judged = {}, {}
    for mode in MODES:
        for base, record in rows.items():
            wordings = {ours: row_values.optional(record, column).strip() for ours, column in WORDINGS.items()}
            wordings = {name: text for name, text in wordings.items() if text}
            query, instruction = (row_values.text(record, column).strip() for column in ("text", f"instruction_{mode}"))
            queries[join_mode(base, mode)] = _Query(record.place, query, instruction, wordings)
        labels = row_values.judgments(folder, _table(group, f"qrels_{mode}"), rows, docs, problems)
        judged |= {join_mode(base, mode): values for base, values in labels.items()}
    ranked: dict[str, list[str]] = {}
    for record in read_table(folder, _table(group, "top_ranked")):
        query_id, doc_id = row_values.identifier(record, "qid"), row_values.identifier(record, "pid")
        if query_id not in rows:
            problems.append(f"{record.place}: unknown query {query_id}")
        elif docs is not None and doc_id not in docs:
            problems.append(f"{record.place}: unknown document {doc_id}")
        elif doc_id in ranked.setdefault(query_id, []):
            problems.append(f"{record.place}: query {query_id} has a document twice")
        else:
            ranked[query_id].append(doc_id)
    return _Source(queries, judged, {join_mode(base, mode): values for mode in MODES for base, values in ranked.items()}, None)


def _lacking(source: _Source) -> Iterator[str]:
    """What a query must have, and has not."""
    for query_id, query in source.queries.items():
        base, mode = MODES.split(query_id)
        if mode not in MODES:
            yield f"{query.place}: query {query_id} ends neither in -og nor in -changed"
            continue
        for other in MODES:
            if join_mode(base, other) not in source.queries:
                yield f"{query.place}: query {query_id} has no counterpart {base}-{other}"
        judged, ranked = source.judged.get(query_id), source.candidates.get(query_id)
        needed = {"text": query.text, "instruction": query.instruction, "judgments": judged, "candidates": ranked}
        for what in (what for what, there in needed.items() if not there):
            yield f"{query.place}: query {query_id} has no {what}"


def _topics(source: _Source, prefix: str, mode: str) -> Iterator[Topic]:
    for query_id, query in _of_mode(source.queries, mode):
        group_id = f"{prefix}-{MODES.split(query_id)[0]}"
        facts = {"original_id": query_id, "wordings": query.wordings}
        yield topic_in_mode(group_id, mode, query.text, query.instruction, **facts)


def _of_mode(values: Mapping[str, Any], mode: str) -> Iterator[tuple[str, Any]]:
    return ((query_id, value) for query_id, value in values.items() if MODES.split(query_id)[1] == mode)


def checks(part: Part, group: Group) -> Iterator[tuple[str, str]]:
    """What the pair of modes must be: no document gains relevance, `qrel_diff` is what loses it, and every query has as many
    candidates as published (`candidates` of the group's entry)."""
    # by the query's id without mode
    relevant = {mode: {topic.group_id: set[str]() for topic in part.topics[mode]} for mode in MODES}
    for mode, of_mode in relevant.items():
        for row in (row for row in part.qrels[mode] if row.relevance > 0):
            of_mode[MODES.split(row.query_id)[0]].add(row.doc_id)
    originals = {topic.group_id: MODES.split(topic.original_id)[0] for topic in part.topics["og"]}
    lost = {base: relevant["og"][base] - relevant["changed"][base] for base in originals}
    gained = {base: relevant["changed"][base] - relevant["og"][base] for base in originals}
    if DIFF in part.published:
        published = part.published[DIFF]
        apart = [base for base, ours in originals.items() if lost[base] != published.get(ours, set())]
        yield DIFF, _named("not what is relevant in og and not in changed", apart)
    yield "relevance gained", _named("relevant in changed and not in og", [base for base in originals if gained[base]])
    yield "relevance lost", "" if any(lost.values()) else "the changed instructions make no document non-relevant"
    if wanted := group.get("candidates"):
        lengths = [pair for run in part.scoreddocs.values() for pair in zip(run.query_ids, run.lengths.tolist(), strict=True)]
        yield "candidates", _named(f"not {wanted} candidates", [query_id for query_id, length in lengths if length != wanted])


def _named(what: str, names: list[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{len(names)} queries: {what} ({shown})"
