"""Runs that make the numbers of a run readable: what would it score if it ignored, followed or inverted instructions?

Each reference keeps the run's own lists of the base mode (without instruction) and puts them into another order in each mode.
No document comes in or goes out, so what the run did not retrieve stays missing: `oracle` is the best that reordering
these lists can do, not a perfect run.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toolkit.core.modes import BASE, Modes, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.tables.columns import Ids, lookup

BLIND, RANDOM, ORACLE, REVERSED = NAMES = ("blind", "random", "oracle", "reversed")
PERMUTATIONS = 40
TURNS = 4  # each shuffled list is used in so many places of a circle: a quarter of the sorting, and a mean with less noise
SEED = 20241031  # any constant: the same run gets the same permutations
WANTED, OTHER, UNWANTED = 0, 1, 2


def is_reference(name: str) -> bool:
    """Whether a row of scores belongs to a reference: `blind`, `random 2.5%`, `oracle of bm25`; tags hold no blanks."""
    return bool(reference_of(name))


def reference_of(name: str) -> str:
    """What a reference is called below its run: `random 2.5%` of `random 2.5% of bm25`; empty for a run."""
    return name.partition(" of ")[0] if name.partition(" ")[0] in NAMES else ""


@dataclass(frozen=True, eq=False)
class BaseLists:
    """The lists of the base mode, best first, one query after the other in sorted order.

    bases    (queries,) query ids without mode
    queries  (n,) int64, code of each line's query
    docs     (n,) int64, code of each line's document in `doc_ids`
    ranks    (n,) int64, from 1
    """

    bases: tuple[str, ...]
    queries: np.ndarray
    docs: np.ndarray
    ranks: np.ndarray
    doc_ids: pyarrow.StringArray


def base_lists(run: Run, modes: Modes) -> BaseLists:
    """The run's own lists of the base mode."""
    base = run.select(query_id for query_id in run.query_ids if modes.split(query_id)[1] in modes.of(BASE))
    bases = [modes.split(query_id)[0] for query_id in base.query_ids]
    place = np.argsort(np.argsort(np.array(bases, object)))
    order = base.order()
    order = order[np.argsort(place[base.queries[order]], kind="stable")]
    lengths = np.bincount(place[base.queries], minlength=len(bases))
    ranks = np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    return BaseLists(tuple(sorted(bases)), place[base.queries[order]], base.docs[order].astype(np.int64), ranks, base.doc_ids)


@dataclass(frozen=True, eq=False)
class Orders:
    """The same lists in other orders.

    names  of the references, `random` `PERMUTATIONS` times
    ranks  mode -> the ranks of all lines in each of them, from 1: an array (n,) each
    """

    lists: BaseLists
    names: tuple[str, ...]
    ranks: Mapping[str, Sequence[np.ndarray]]

    def runs(self) -> Iterator[Run]:
        """Each reference as a run; scores are 1 / rank, alike in every list."""
        lists, count = self.lists, len(self.lists.bases)
        query_ids = tuple(join_mode(base, mode) for mode in self.ranks for base in lists.bases)
        queries = np.concatenate([lists.queries + step * count for step in range(len(self.ranks))]).astype(np.int32)
        docs = Ids(lists.doc_ids, np.tile(lists.docs, len(self.ranks)).astype(np.int32))
        for number in range(len(self.names)):
            yield Run(query_ids, queries, docs, np.concatenate([1 / ranks[number] for ranks in self.ranks.values()]))


def references(run: Run, qrels: Qrels, modes: Modes) -> Orders:
    """The references of a run.

    blind     the base list in every mode: what a system gives that does not read instructions
    random    every list shuffled anew in every mode, the base mode included
    oracle    the base list as it is; in another mode what that mode wants comes first, and last what the base mode
              wants and that mode does not; between equals, and for all other documents, the base list's order stays
    reversed  the same with first and last exchanged
    """
    lists = base_lists(run, modes)
    keys = {mode: _wishes(lists, qrels, mode, modes) for mode in modes}
    shuffled = _shuffled(tuple(np.bincount(lists.queries, minlength=len(lists.bases)).tolist()), len(modes))
    ranks = {
        mode: [lists.ranks, *shuffled[step], _by_key(lists, key), _by_key(lists, UNWANTED - key)]
        for step, (mode, key) in enumerate(keys.items())
    }
    return Orders(lists, (BLIND, *[RANDOM] * PERMUTATIONS, ORACLE, REVERSED), ranks)


def blind(run: Run, modes: Modes) -> Run:
    """The reference `blind` alone."""
    lists = base_lists(run, modes)
    return next(Orders(lists, (BLIND,), {mode: [lists.ranks] for mode in modes}).runs())


@functools.lru_cache(maxsize=16)  # runs whose lists are of the same lengths are shuffled alike
def _shuffled(lengths: tuple[int, ...], modes: int) -> np.ndarray:
    """(modes, PERMUTATIONS, n) int32: new ranks of the lines of lists of these lengths."""
    queries = np.repeat(np.arange(len(lengths)), lengths)
    length = np.array(lengths)[queries]
    ranks = np.empty((modes, PERMUTATIONS, len(queries)), np.int32)
    generator = np.random.default_rng(SEED)
    for permutation in range(0, PERMUTATIONS, TURNS):
        for mode in range(modes):
            # one key sorts by query, then at random
            shuffled = _ranks(queries, np.argsort(queries + generator.random(len(queries))))
            for turn in range(TURNS):
                ranks[mode, permutation + turn] = (shuffled + length * turn // TURNS) % length + 1
    return ranks


def _by_key(lists: BaseLists, key: np.ndarray) -> np.ndarray:
    return _ranks(lists.queries, np.lexsort((lists.ranks, key, lists.queries)))


def _ranks(queries: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(n,) int64: the rank of each line; queries  sorted, and the order sorts by them first."""
    lengths = np.bincount(queries)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    return ranks


def _wishes(lists: BaseLists, qrels: Qrels, mode: str, modes: Modes) -> np.ndarray:
    """(n,) int64: does the mode want this line's document? In the base mode all are alike: the list stays as it is."""
    base = modes.of(BASE)[0]
    if mode == base:
        return np.full(len(lists.queries), OTHER)
    wanted, wanted_in_base = (_relevant(lists, qrels, each) for each in (mode, base))
    return np.where(wanted, WANTED, np.where(wanted_in_base, UNWANTED, OTHER))


def _relevant(lists: BaseLists, qrels: Qrels, mode: str) -> np.ndarray:
    """(n,) bool: lines whose document is relevant in this mode."""
    code = {join_mode(base, mode): code for code, base in enumerate(lists.bases)}
    queries = np.array([code.get(query_id, -1) for query_id in qrels.query_ids], np.int64)[qrels.queries]
    docs = lookup(qrels.doc_ids, lists.doc_ids)[qrels.docs]
    rows = (qrels.relevance > 0) & (queries >= 0) & (docs >= 0)
    width = len(lists.doc_ids)
    return np.isin(lists.queries * width + lists.docs, queries[rows] * width + docs[rows])
