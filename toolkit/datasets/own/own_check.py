"""All problems of a folder at once, and warnings: what may be meant so, and often makes numbers say little."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED
from toolkit.core.qrels import Qrel
from toolkit.core.tables.area_under_curve import FAR, area_under_curve
from toolkit.datasets.own import FILE
from toolkit.datasets.own.declaration import line_of
from toolkit.datasets.own.own_folder import OwnFolder, open_folder
from toolkit.datasets.own.own_qrels import lines_of
from toolkit.datasets.own.remarks import Remark, Remarks, in_order
from toolkit.files.texts.corpus import read_corpus
from toolkit.files.texts.documents import is_empty
from toolkit.registry.loader import did_you_mean

SMALLEST = 0.1  # the difference of a measure that is worth seeing
DEVIATION = 0.3  # of the differences of nDCG@10 between two systems on one query: cautious, most are smaller
POWER = 2.80  # 1.96 + 0.84: 5 % two-sided, seen 80 % of the times
LEAST = 5  # gold documents, and others, that an area is computed from
SURE = 2.58  # standard deviations: 1 % two-sided
IDEAL = 0.995  # of an nDCG: it is printed as 1.00
NEAR_NAMES = 2000  # documents among which the nearest id is looked for


@dataclass(frozen=True)
class Checked:
    """What was found.

    remarks  file by file, line by line
    counts   groups, modes, core queries, queries, documents, judgments
    """

    remarks: list[Remark]
    counts: Mapping[str, int]

    @property
    def problems(self) -> list[Remark]:
        """What is wrong."""
        return [remark for remark in self.remarks if not remark.is_warning]

    @property
    def sizes(self) -> str:
        """What there is: `1 core query, 20 documents`."""
        one = {"core queries": "core query", "queries": "query"}
        counted = {what: number for what, number in self.counts.items() if number}
        named = (f"{n:,} {what if n != 1 else one.get(what, what.removesuffix('s'))}" for what, n in counted.items())
        return ", ".join(named) or "empty"


@dataclass
class _Documents:
    """The documents of a file: id -> number of words; how many lines are none."""

    path: Path
    words: dict[str, int] = field(default_factory=dict)
    lost: float = 0


def check_folder(path: str | Path, *, smallest: float = SMALLEST, parse: Callable[[str], object] | None = None) -> Checked:
    """All problems and warnings of the benchmark in a folder.

    smallest  difference of a measure that should be seen with 80 % power: groups with too few core queries for it are warned of
    parse     raises ToolkitError for what is no measure; without it names of measures are not looked at

    Raises ToolkitError where there is no folder, or no `benchmark.yaml` in it.
    """
    if smallest <= 0:
        raise ToolkitError(f"--smallest {smallest:g} is no difference", "a number above 0, as in 0.1")
    own = open_folder(path)
    qrels, candidates = own.qrels, own.candidates
    remarks = Remarks(own.remarks)
    documents = {group: _read_documents(file, remarks) for group, file in own.corpora.items()}
    corpora = {group["name"]: documents.get(own.spec.corpus(group["name"])) for group in own.spec.groups}
    for file in own.judgment_files():
        _check_documents(file, own, corpora, remarks)
    _check_measures(own, parse, remarks)
    if not remarks.problems:
        _add_warnings(own, corpora, smallest, remarks)
    cores = {(group, topic.group_id) for group, topics in own.topics.topics.items() for topic in next(iter(topics.values()))}
    counts = {"groups": len(own.spec.groups), "modes": len(own.modes), "core queries": len(cores)}
    counts |= {"queries": len(own.topics.places), "documents": sum(len(each.words) for each in documents.values())}
    counts |= {"judgments": 0 if qrels is None else len(qrels)}
    counts |= {} if candidates is None else {"candidates": len(candidates)}
    return Checked(in_order(remarks), counts)


def _read_documents(path: Path, remarks: Remarks) -> _Documents:
    """The documents of a file; what cannot be one, an id that comes again, and empty ones go to `remarks`."""
    found, first = _Documents(path), {}
    try:
        for entry in (entry for batch in read_corpus(path) for entry in batch.entries()):
            if entry.problem:
                found.lost += 1
                remarks.problem(path, entry.line, entry.problem, 'a document is {"id": "d1", "title": "...", "text": "..."}')
            elif (before := first.setdefault(entry.doc.doc_id, entry.line)) != entry.line:
                what = f"document {entry.doc.doc_id} again, first on line {before}"
                remarks.problem(path, entry.line, what, "ids are unique")
            else:
                found.words[entry.doc.doc_id] = len(entry.doc.contents.split())
                if is_empty(entry.doc):
                    remarks.warning(path, entry.line, f"document {entry.doc.doc_id} is empty", "nothing can find it: remove it")
    except ToolkitError as error:
        remarks.of_error(path, error)
        found.lost = math.inf
    if not first and not remarks.problems:
        remarks.problem(path, 0, "no documents in it", 'a line is {"id": "d1", "title": "...", "text": "..."}')
    return found


def _check_documents(path: Path, own: OwnFolder, corpora: Mapping[str, _Documents | None], remarks: Remarks) -> None:
    """Judged documents that the corpus of their query's group has not."""

    def group_of(query_id: str) -> str | None:
        return own.topics.groups.get(query_id, own.topics.groups.get(own.modes.split(query_id)[0]))

    def is_unknown(query_id: str, doc_id: str) -> bool:
        documents = corpora.get(group_of(query_id) or "")
        return documents is not None and doc_id not in documents.words

    unknown = lines_of(path, is_unknown)
    lost = sum(documents.lost for documents in corpora.values() if documents is not None)
    if len({doc_id for _, _, doc_id in unknown}) <= lost:  # they may be those that could not be read, which was said
        return
    for line, query_id, doc_id in unknown:
        documents = corpora[group_of(query_id)]
        near = did_you_mean(doc_id, documents.words).strip() if len(documents.words) <= NEAR_NAMES else ""
        todo = near or "add the document, or remove the line"
        remarks.problem(path, line, f"document {doc_id} is not in {documents.path.name}", todo)


def _check_measures(own: OwnFolder, parse: Callable[[str], object] | None, remarks: Remarks) -> None:
    path = own.path / FILE
    text = path.read_text(encoding="utf-8", errors="replace")
    named = [*own.declared.measures, *(name for group in own.declared.groups for name in group.get("measures", ()))]
    for name in dict.fromkeys(named):
        key = "measures" if name in own.declared.measures else "groups"
        try:
            if parse is not None:
                parse(name)
        except ToolkitError as error:
            remarks.problem(path, line_of(text, key, name), error.message, error.hint)
            continue
        if "reversed" in registry.measure(name).needs and own.modes and not (own.modes.of(REVERSED) or own.declared.refused):
            what = f"{name} needs a reversed mode, there is none"
            remarks.warning(path, line_of(text, key, name), what, "its column will be -")


def _add_warnings(own: OwnFolder, corpora: Mapping[str, _Documents | None], smallest: float, remarks: Remarks) -> None:
    if own.qrels is None:
        remarks.warning(own.path, 0, "there are no judgments: it can be searched, not evaluated", "write qrels.MODE.txt")
        return
    labels = highest_labels(own.qrels)
    for group in own.spec.groups:
        name = group["name"]
        # core query -> its gold documents: relevant in base and an instructed mode; without both, relevant at all
        golds: dict[str, set[str]] = defaultdict(set)
        base, instructed = own.modes.of(BASE), own.modes.of(INSTRUCTED)
        for core, _, ids in _variants(own, name):
            relevant = {mode: set(relevant_of(labels, query_id)) for mode, query_id in ids.items()}
            asked = set().union(*(relevant[mode] for mode in (instructed if base and instructed else ids)))
            golds[core] |= asked & relevant[base[0]] if base and instructed else asked
        _say_cores(own, name, golds, labels, remarks)
        _say_instructions(own, name, labels, remarks)
        # a random order of candidates that scores as an ideal one: no system can be told from another by them
        lists = own.candidates.rankings() if own.candidates is not None else ()
        query_ids = {query_id for _, _, ids in _variants(own, name) for query_id in ids.values()}
        graded = {query_id: [labels.get(query_id, {}).get(doc.doc_id, 0) for doc in ranking] for query_id, ranking in lists}
        decided = [query_id for query_id, grades in graded.items() if query_id in query_ids and random_order(grades) > IDEAL]
        if decided:
            what = f"group {name}: a random order of the candidates scores as an ideal one"
            which = f"of {len(decided):,} of {len(query_ids):,} queries ({three(decided)}): all or nearly all are relevant"
            remarks.warning(own.path, 0, f"{what}, {which}", "pool others, too (`tandem runs pool`)")
        if (documents := corpora[name]) is None:
            remarks.warning(own.path, 0, f"group {name} has no documents", "write corpus.jsonl, or search with --index")
        else:
            _say_lengths(name, set().union(*golds.values()), documents, remarks)
        cores, needed = len(golds), math.ceil((POWER * DEVIATION / smallest) ** 2)
        if cores < needed:
            seen = f"a difference below {smallest_difference(cores):.2f} is hardly seen"
            queries = f"{cores} core quer{'y' if cores == 1 else 'ies'}"
            remarks.warning(own.path, 0, f"group {name} has {queries}: {seen}", f"{smallest:g} takes {needed}")


def highest_labels(rows: Iterable[Qrel]) -> Mapping[str, dict[str, int]]:
    """Query id -> document -> its highest label."""
    labels: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        judged = labels[row.query_id]
        judged[row.doc_id] = max(row.relevance, judged.get(row.doc_id, row.relevance))
    return labels


def relevant_of(labels: Mapping[str, Mapping[str, int]], query_id: str) -> dict[str, int]:
    """The relevant documents of a query, with their labels."""
    return {doc_id: label for doc_id, label in labels.get(query_id, {}).items() if label > 0}


def _variants(own: OwnFolder, group: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Core query, base id, and mode -> query id of every query of a group."""
    by_mode = own.topics.topics[group]
    for topics in zip(*by_mode.values(), strict=True):
        yield topics[0].group_id, topics[0].original_id, dict(zip(by_mode, (topic.query_id for topic in topics), strict=True))


def _say_cores(
    own: OwnFolder, group: str, golds: Mapping[str, set[str]], labels: Mapping[str, dict[str, int]], remarks: Remarks
) -> None:
    """Queries without judgments, core queries without a gold document."""
    said, texts, several = set(), defaultdict(set), {}
    for core, base, ids in _variants(own, group):
        place = own.topics.places[base]
        for query_id in (query_id for query_id in ids.values() if query_id not in labels):
            remarks.warning(*place, f"query {query_id} has no judgments", "judge documents for it, or remove the query")
        if not golds[core] and core not in said:
            what = "relevant in base and instructed mode" if own.modes.of(BASE) and own.modes.of(INSTRUCTED) else "relevant"
            remarks.warning(*place, f"core query {core} has no gold document ({what})", "label one")
            said.add(core)
    for topic in next(iter(own.topics.topics[group].values())):
        texts[topic.group_id].add(topic.query)
        if len(texts[topic.group_id]) == 2:
            several.setdefault(topic.group_id, own.topics.places[topic.original_id])
    if several:
        core, place = next(iter(several.items()))
        what = f"core query {core} has {len(texts[core])} texts"
        others = f"{len(several):,} core queries have several texts ({core}: {len(texts[core])})"
        remarks.warning(*place, what if len(several) == 1 else others, "is it one need?")


def _say_instructions(own: OwnFolder, group: str, labels: Mapping[str, dict[str, int]], remarks: Remarks) -> None:
    """Instructions that change no label of the base mode."""
    for mode in own.modes.of(INSTRUCTED, REVERSED) if own.modes.of(BASE) else ():
        for _, base, ids in _variants(own, group):
            before, after = (relevant_of(labels, ids[one]) for one in (own.modes.of(BASE)[0], mode))
            if before == after and before:
                what = f"the instruction of query {base} in mode {mode} changes no label"
                remarks.warning(*own.topics.places[base], what, "measures of pairs of modes see nothing there")


def random_order(labels: Sequence[int], k: int = 10) -> float:
    """The nDCG@k to be expected of documents with these labels in a random order, where their best order has 1; 0 without gain.

    At each rank a random order is expected to have the mean of the gains. Labels below 0 gain nothing.
    """
    gains = np.sort(np.maximum(labels, 0))[::-1]
    discounts = 1 / np.log2(np.arange(2, min(len(gains), k) + 2))
    ideal = (gains[:k] * discounts).sum() if len(gains) else 0.0
    return float(gains.mean() * discounts.sum() / ideal) if ideal else 0.0


def _say_lengths(group: str, golds: set[str], documents: _Documents, remarks: Remarks) -> None:
    """Whether length alone tells gold documents from others."""
    is_gold = np.array([doc_id in golds for doc_id in documents.words])
    if min(is_gold.sum(), (~is_gold).sum()) < LEAST:
        return
    words = np.array(list(documents.words.values()))
    area, deviations = area_under_curve(words[is_gold], words[~is_gold])
    if abs(area - 0.5) > FAR and abs(deviations) > SURE:
        longer = "longer" if area > 0.5 else "shorter"
        what = f"group {group}: gold documents are {longer} than the others (area under the curve of length {area:.2f})"
        todo = f"who prefers {longer} texts finds them: add {longer} ones that are not relevant"
        remarks.warning(documents.path, 0, what, todo)


def smallest_difference(cores: int) -> float:
    """What a paired test sees with 80 % power at 5 %, over this many core queries."""
    return POWER * DEVIATION / math.sqrt(cores)


def lines(remarks: Iterable[Remark]) -> list[str]:
    """A line each; a warning says that it is one."""
    return [f"{'warning: ' if remark.is_warning else ''}{remark}" for remark in remarks]
