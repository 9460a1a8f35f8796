"""Runs that make the numbers of a run readable: what would it score if it ignored, followed or inverted instructions?

Each reference keeps the run's own lists of the base mode (without instruction) and puts them into another order in each mode.
No document comes in or goes out, so what the run did not retrieve stays missing: `oracle` is the best that reordering
these lists can do, not a perfect run.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from toolkit.core.modes import BASE, Modes, join_mode
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Excerpt, Run
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
    """The lists of the base mode, best first, one query after the other in sorted order; of an excerpt some of their lines.

    bases    (queries,) query ids without mode
    lengths  (queries,) int64, of the whole lists
    queries  (n,) int64, code of each line's query
    docs     (n,) int64, code of each line's document in `doc_ids`
    ranks    (n,) int64, from 1
    """

    bases: tuple[str, ...]
    lengths: np.ndarray
    queries: np.ndarray
    docs: np.ndarray
    ranks: np.ndarray
    doc_ids: pyarrow.StringArray

    def in_modes(self, ranks: Mapping[str, np.ndarray]) -> Run:
        """The lists in another order in each mode, mode -> ranks of the lines; scores are 1 / rank, alike in every list."""
        count, rank = len(self.bases), np.concatenate([*ranks.values()])
        run = Run(
            tuple(join_mode(base, mode) for mode in ranks for base in self.bases),
            np.concatenate([self.queries + step * count for step in range(len(ranks))]).astype(np.int32),
            Ids(self.doc_ids, np.tile(self.docs, len(ranks)).astype(np.int32)),
            1 / rank,
        )
        if len(self.queries) == self.lengths.sum():
            return run
        lengths = np.tile(self.lengths, len(ranks))
        scores = lambda: 1 / np.concatenate([np.arange(1, length + 1) for length in lengths.tolist()])  # noqa: E731
        return Excerpt(**vars(run), lengths=lengths, ranked_scores=scores, line_ranks={"trec": rank, "file": rank}, depth=0)


def base_lists(run: Run, modes: Modes) -> BaseLists:
    """The run's own lists of the base mode."""
    base = run.select(query_id for query_id in run.query_ids if modes.split(query_id)[1] in modes.of(BASE))
    bases = [modes.split(query_id)[0] for query_id in base.query_ids]
    sorted_bases = np.argsort(np.array(bases, object))
    queries, ranks = np.argsort(sorted_bases)[base.queries], base.ranks()
    order = np.lexsort((ranks, queries))
    docs = base.docs[order].astype(np.int64)
    return BaseLists(tuple(sorted(bases)), base.lengths[sorted_bases], queries[order], docs, ranks[order], base.doc_ids)


@dataclass(frozen=True, eq=False)
class Orders:
    """The same lists in other orders.

    names   of the references, `random` `PERMUTATIONS` times
    wishes  mode -> (n,) int64, whether it wants each line's document: `WANTED`, `OTHER` or `UNWANTED`
    """

    lists: BaseLists
    wishes: Mapping[str, np.ndarray]
    names: tuple[str, ...] = (BLIND, *[RANDOM] * PERMUTATIONS, ORACLE, REVERSED)

    def ranks(self, mode: str, lines: np.ndarray) -> np.ndarray:
        """(references, lines) int64: the ranks of some of the lines in a mode, from 1, in each reference."""
        lists, step = self.lists, list(self.wishes).index(mode)
        starts, queries = np.cumsum(lists.lengths) - lists.lengths, lists.queries[lines]
        length, places = lists.lengths[queries], starts[queries] + lists.ranks[lines] - 1
        shuffled = _shuffled(tuple(lists.lengths.tolist()), len(self.wishes))[step][:, places].astype(np.int64)
        turned = [(each + length * turn // TURNS) % length + 1 for each in shuffled for turn in range(TURNS)]
        sorted_by = [_by_key(lists, key)[lines] for key in (self.wishes[mode], UNWANTED - self.wishes[mode])]
        return np.stack([lists.ranks[lines], *turned, *sorted_by])

    def runs(self) -> Iterator[Run]:
        """Each reference as a run."""
        ranks = {mode: self.ranks(mode, np.arange(len(self.lists.queries))) for mode in self.wishes}
        for number in range(len(self.names)):
            yield self.lists.in_modes({mode: of_references[number] for mode, of_references in ranks.items()})


def references(run: Run, qrels: Qrels, modes: Modes) -> Orders:
    """The references of a run.

    blind     the base list in every mode: what a system gives that does not read instructions
    random    every list shuffled anew in every mode, the base mode included
    oracle    the base list as it is; in another mode what that mode wants comes first, and last what the base mode
              wants and that mode does not; between equals, and for all other documents, the base list's order stays
    reversed  the same with first and last exchanged
    """
    lists = base_lists(run, modes)
    return Orders(lists, {mode: _wishes(lists, qrels, mode, modes) for mode in modes})


def blind(run: Run, modes: Modes) -> Run:
    """The reference `blind` alone."""
    lists = base_lists(run, modes)
    return lists.in_modes(dict.fromkeys(modes, lists.ranks))


@functools.lru_cache(maxsize=16)  # runs whose lists are of the same lengths are shuffled alike
def _shuffled(lengths: tuple[int, ...], modes: int) -> np.ndarray:
    """(modes, PERMUTATIONS / TURNS, n): new ranks of the lines of lists of these lengths."""
    queries = np.repeat(np.arange(len(lengths)), lengths)
    # the judged documents of all runs look into it: as small as ranks allow
    ranks = np.empty((modes, PERMUTATIONS // TURNS, len(queries)), np.min_scalar_type(max(lengths, default=0)))
    generator = np.random.default_rng(SEED)
    in_order = np.arange(len(queries)) - np.repeat(np.cumsum(lengths) - lengths, lengths).astype(np.int64) + 1
    for permutation in range(PERMUTATIONS // TURNS):
        for mode in range(modes):
            # one key sorts by query, then at random
            ranks[mode, permutation, np.argsort(queries + generator.random(len(queries)))] = in_order
    return ranks


def _by_key(lists: BaseLists, key: np.ndarray) -> np.ndarray:
    """(n,) int64: the ranks after a stable sort by key, counted: what has no wish moves by those that pass it."""
    before, total = zip(*(_counted(lists, key == wish) for wish in (WANTED, UNWANTED)), strict=True)
    length = lists.lengths[lists.queries]
    ranks = [before[0] + 1, lists.ranks + total[0] - before[0] - before[1], length - total[1] + before[1] + 1]
    return np.choose(key, ranks)


def _counted(lists: BaseLists, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) int64 each: how many of these lines (n,) bool stand before each line in its list, and how many are in it."""
    totals = np.bincount(lists.queries[rows], minlength=len(lists.bases))
    return np.cumsum(rows) - rows - (np.cumsum(totals) - totals)[lists.queries], totals[lists.queries]


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
