"""The judgments and candidates of a folder, a file a mode or one for all, divided among its queries."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes, join_mode
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.core.runs import Run, join_runs
from toolkit.datasets.own.own_topics import OwnTopics
from toolkit.datasets.own.remarks import Remarks
from toolkit.files.formats import read_qrels, read_run
from toolkit.files.texts.lines import columns, read_bytes, without_marks
from toolkit.registry.loader import did_you_mean

UNJUDGED = b"?"  # the label of a pair that nobody has judged yet


# a file of judgments (or candidates) and the mode that it is of; empty where ids carry it, or there are no modes
QrelsFile = tuple[Path, str]


def read_judgments(files: Sequence[QrelsFile], topics: OwnTopics, modes: Modes, remarks: Remarks) -> Qrels | None:
    """All judgments under ids with their modes; None where there are no files. What is wrong goes to `remarks`."""
    parts = []
    for path, mode in files:
        try:
            qrels = read_qrels(path)
        except ToolkitError as error:
            content = columns(without_marks(read_bytes(path)))
            if waiting := [place.number for place, row in content if len(row) == 4 and row[3] == UNJUDGED]:
                several = f"{len(waiting):,} documents from here on are" if len(waiting) > 1 else "a document is"
                remarks.problem(path, waiting[0], f"{several} not judged yet", "write 1 or 0 in place of each ?")
            else:
                remarks.of_error(path, error)
                ids = dict.fromkeys(query_id for _, query_id, _ in lines_of(path, lambda *_: True))
                _names(list(ids), path, mode, topics, modes, remarks)
            continue
        names = _names(qrels.query_ids, path, mode, topics, modes, remarks)
        known = {topic.query_id: topic for each in topics.topics.values() for of_mode in each.values() for topic in of_mode}
        _check_subtopics(qrels, names, known, path, remarks)
        if all(query_id in names for query_id in qrels.query_ids) and len(set(names.values())) == len(names):
            parts.append(qrels.with_query_ids(names[query_id] for query_id in qrels.query_ids))
        else:  # the judgments of the known queries
            rows = (row._replace(query_id=names[row.query_id]) for row in qrels if row.query_id in names)
            parts.append(Qrels.from_rows(rows, qrels.source))
    return join_qrels(parts) if parts else None


def read_candidates(files: Sequence[QrelsFile], topics: OwnTopics, modes: Modes, remarks: Remarks) -> Run | None:
    """All candidates under ids with their modes; None where there are no files."""
    parts = []
    for path, mode in files:
        try:
            run = read_run(path)
        except ToolkitError as error:
            remarks.of_error(path, error)
            continue
        names = _names(run.query_ids, path, mode, topics, modes, remarks)
        known = [query_id for query_id in run.query_ids if query_id in names]
        parts.append(run.select(known).with_query_ids(names[query_id] for query_id in known))
    return join_runs(parts, source="candidates") if parts else None


def lines_of(path: Path, wanted: Callable[[str, str], bool]) -> list[tuple[int, str, str]]:
    """Line, query id and document id of the judgments or candidates for which `wanted` holds."""
    found = []
    for place, row in columns(without_marks(read_bytes(path))):
        if len(row) in (3, 4, 6):
            query_id, doc_id = row[0].decode(errors="replace"), row[1 if len(row) == 3 else 2].decode(errors="replace")
            if wanted(query_id, doc_id):
                found.append((place.number, query_id, doc_id))
    return found


def _names(
    query_ids: Sequence[str], path: Path, mode: str, topics: OwnTopics, modes: Modes, remarks: Remarks
) -> Mapping[str, str]:
    """Query id of a file -> ours, with its mode; ids that are of no query are problems, with their first lines."""
    names, unknown, strange = {}, {}, []
    for query_id in query_ids:
        base, ending = (query_id, "") if query_id in topics.groups else modes.split(query_id)
        if base not in topics.groups:
            strange.append(query_id)
            near = did_you_mean(base, topics.groups).strip()
            unknown[query_id] = (f"there is no query {base} in the topics", near or "add the query, or remove the line")
        elif ending and mode and ending != mode:
            unknown[query_id] = (f"query {query_id} is of mode {ending}", f"the file is of mode {mode}")
        elif modes and not ending and not mode:
            todo = f"write {join_mode(query_id, next(iter(modes)))}, or one file a mode: {path.stem}.MODE.txt"
            unknown[query_id] = (f"query {query_id} carries no mode", todo)
        else:
            names[query_id] = join_mode(base, ending or mode)
    if len({modes.split(query_id)[0] for query_id in strange}) <= topics.lost:  # they may be those of rows that are lost
        unknown = {query_id: said for query_id, said in unknown.items() if query_id not in strange}
    if unknown:
        first: dict[str, int] = {}
        for line, query_id, _ in lines_of(path, lambda query_id, _: query_id in unknown):
            first.setdefault(query_id, line)
        for query_id, (what, todo) in unknown.items():
            remarks.problem(path, first.get(query_id, 0), what, todo)
    return names


def _check_subtopics(qrels: Qrels, names: Mapping[str, str], known: Mapping, path: Path, remarks: Remarks) -> None:
    """Judgments of a perspective that the query has not."""
    if not any(topic.perspectives for topic in known.values()):
        return
    most = {query_id: len(known[name].perspectives) for query_id, name in names.items() if name in known}
    for row in qrels:
        number = int(row.iteration) if row.iteration.isdigit() else 0
        if number > most.get(row.query_id, number):
            lines = lines_of(path, lambda *pair, wanted=(row.query_id, row.doc_id): pair == wanted)
            line = next((line for line, *_ in lines), 0)
            what = f"query {row.query_id} has {most[row.query_id]} perspectives, this is of perspective {number}"
            remarks.problem(path, line, what, "column two numbers the perspectives from 1")
