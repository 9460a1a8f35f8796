"""All references of a run evaluated together: from the judged documents' places alone, whatever the length of the lists."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from ir_measures.measures import Measure

from toolkit.core.modes import Modes, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.weak_cache import once_per_object
from toolkit.core.tables.columns import lookup, to_arrow
from toolkit.evaluation.comparison.references import PERMUTATIONS, RANDOM, Orders, references
from toolkit.evaluation.scores.judgments import Part
from toolkit.metrics import compute, parse_all
from toolkit.metrics.evaluation import MeasureValues, aggregate, by_mode, evaluate
from toolkit.metrics.families.join import Located, Positions, judgments
from toolkit.metrics.families.pairs import ROLES, Pairs, followed
from toolkit.metrics.providers import is_ours

COPIES = 3 + PERMUTATIONS


class Joined(compute.Joined):
    """All references of a run, joined with the judgments as one run: query `q` of reference 3 is `3<tab>q`.

    Only where judged documents stand is looked at; of the other lines there may be millions.
    """

    def __init__(self, orders: Orders, qrels: Qrels, groups: Mapping[str, str] | None, *, skip_absent: bool):
        super().__init__(Run.from_rows(()), qrels, groups, skip_absent=skip_absent)
        self.orders = orders

    def positions(self, ties: str) -> Positions:
        """Where each judgment's document stands in each reference."""
        rows, copies = judgments(self.qrels), _copied_judgments(self.qrels)
        return self._once("positions", "", lambda: copies.at(self._locate(rows.query_ids, rows.queries, rows.docs)))

    def documents(self, ties: str) -> Positions:
        """The same, a row a (query, document)."""
        return super().documents("")

    def pairs(self, ties: str) -> Pairs:
        """Documents followed through the modes of each reference."""
        return self._once("pairs", "", self._pairs)

    def _pairs(self) -> Pairs:
        rows, docs = followed(self.qrels)
        queries = np.concatenate([rows.queries + role * len(rows.query_ids) for role in ROLES])
        located = self._locate(rows.all_ids, queries, np.tile(docs, len(ROLES)))
        # by reference, role, document -> by role, reference, document
        parts = (column.reshape(COPIES, len(ROLES), -1).swapaxes(0, 1).reshape(-1) for column in located)
        return _copied_pairs(self.qrels).at(Located(*parts))

    def groups_of(self, query_ids: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
        """The core queries of each reference; query_ids  those of `positions`."""
        names, codes = super().groups_of(self.qrels.query_ids)
        return _copied_ids(names), _copied_codes(codes, len(names))

    def group(self, query_id: str) -> str:
        """The core query of one."""
        copy, tab, query_id = query_id.rpartition("\t")
        return copy + tab + super().group(query_id)

    def _locate(self, query_ids: Sequence[str], queries: np.ndarray, docs: np.ndarray) -> Located:
        """`join.locate` in each reference, one after the other; queries, docs  codes in `query_ids` and the qrels."""
        lists, width = self.orders.lists, len(self.orders.lists.doc_ids)
        known = {join_mode(base, mode): (code, mode) for mode in self.orders.wishes for code, base in enumerate(lists.bases)}
        bases = np.array([known.get(query_id, (-1, ""))[0] for query_id in query_ids], np.int64)
        modes = np.array([known.get(query_id, (-1, ""))[1] for query_id in query_ids])
        docs = lookup(self.qrels.doc_ids, lists.doc_ids)[docs]
        keys = np.where((bases[queries] >= 0) & (docs >= 0), bases[queries] * width + docs, -1)
        lines = lookup(to_arrow(keys), to_arrow(lists.queries * width + lists.docs))
        missing = lines < 0
        lengths = np.append(lists.lengths, 0)[bases]
        ranks = np.tile(lengths[queries] + 1, (COPIES, 1))
        scores = np.zeros(ranks.shape)
        for mode in self.orders.wishes:
            rows = np.flatnonzero(~missing & (modes[queries] == mode))
            ranks[:, rows] = self.orders.ranks(mode, lines[rows])
            scores[:, rows] = 1 / ranks[:, rows]
        return Located(ranks.reshape(-1), scores.reshape(-1), np.tile(missing, COPIES), np.tile(lengths, COPIES))


def _copied_ids(query_ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{copy}\t{query_id}" for copy in range(COPIES) for query_id in query_ids)


def _copied_codes(codes: np.ndarray, count: int) -> np.ndarray:
    """codes below `count`, again and again, each time those after the last."""
    return (codes + count * np.arange(COPIES)[:, None]).reshape(-1)


@once_per_object
def _copied_judgments(qrels: Qrels) -> Positions:
    rows = judgments(qrels)
    weights = {}
    for copy in range(COPIES):
        weights |= {(f"{copy}\t{query_id}", subtopic): weight for (query_id, subtopic), weight in rows.weights.items()}
    columns = {name: np.tile(getattr(rows, name), COPIES) for name in ("docs", "subtopics", "relevance")}
    columns["queries"] = _copied_codes(rows.queries, len(rows.query_ids))
    return replace(rows, ideals={}, query_ids=_copied_ids(rows.query_ids), weights=weights, **columns)


@once_per_object
def _copied_pairs(qrels: Qrels) -> Pairs:
    rows, _ = followed(qrels)
    ids = {name: _copied_ids(getattr(rows, name)) for name in ("query_ids", "unpaired")}
    columns = {name: np.tile(getattr(rows, name), COPIES) for name in ("gold", "relevant")}
    columns["queries"] = _copied_codes(rows.queries, len(rows.query_ids))
    return replace(rows, modes=rows.modes * COPIES, doc_ids=list(rows.doc_ids) * COPIES, **ids, **columns)


def evaluate_references(
    run: Run, part: Part, modes: Modes, measures: Sequence[str], missing: str
) -> dict[str, list[MeasureValues]]:
    """The values of each reference, in the order of measures and modes; of `random` a column a permutation."""
    orders = references(run, part.qrels, modes)
    joined = Joined(orders, part.qrels, part.cores, skip_absent=missing == "skip")
    found: dict[str, list[MeasureValues]] = {name: [] for name in orders.names}
    for measure in parse_all(measures):
        if is_ours(measure):
            for of_mode in by_mode(measure, compute.compute(joined, measure), joined.modes, missing):
                query_ids, rows = _copies_of(of_mode.query_ids)
                _add(found, orders.names, measure, replace(of_mode, query_ids=query_ids), of_mode.values[rows])
        else:  # other providers read whole runs
            whole = [evaluate(measure, each, part.qrels, groups=part.cores, missing=missing) for each in orders.runs()]
            for of_copies in zip(*whole, strict=True):
                _add(found, orders.names, measure, of_copies[0], np.array([each.values for each in of_copies]))
    return found


def _add(found: Mapping[str, list], names: Sequence[str], measure: Measure, form: MeasureValues, copies: np.ndarray) -> None:
    """To each reference its values; copies (copies, queries)."""
    for name, values in found.items():
        rows = [row for row, each in enumerate(names) if each == name]
        own = copies[rows].T if name == RANDOM else copies[rows[0]]
        values.append(replace(form, values=own, aggregate=aggregate(measure, own)))


@functools.lru_cache(maxsize=128)
def _copies_of(query_ids: tuple[str, ...]) -> tuple[tuple[str, ...], np.ndarray]:
    """The ids of each reference's queries, and (copies, queries) where they are."""
    split = [query_id.partition("\t") for query_id in query_ids]
    names = tuple(name for copy, _, name in split if copy == "0")
    place = {name: column for column, name in enumerate(names)}
    rows = np.empty((COPIES, len(names)), np.int64)
    for row, (copy, _, name) in enumerate(split):
        rows[int(copy), place[name]] = row
    return names, rows
