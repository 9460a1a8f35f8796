"""What a reader must know before trusting a number: absent queries, missing documents, ties, coarse scores, depths."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.compute import Joined
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, ROLES, Pairs

FINE = 6  # digits after the point from which on scores are taken as exact


@dataclass(frozen=True)
class ModeFindings:
    """Counts in one mode.

    judged    queries in the qrels
    absent    those without a line in the run (ids without mode)
    gold      gold documents of the queries that are present, and how many of them the run lacks
    depth     smallest and largest number of documents of the queries that are present; (0, 0) where none is
    """

    judged: int
    absent: tuple[str, ...]
    gold: int
    missing_gold: int
    depth: tuple[int, int]


@dataclass(frozen=True)
class Findings:
    """What `findings` looks for; ids are without mode, and counts are of this run and these qrels.

    modes              by mode, `""` where ids carry none
    unjudged           queries of the run that the qrels lack: they count nowhere
    tied_queries       queries with documents of equal (32-bit) score
    tied_judged        those where a judged document is among the equals
    decimals           digits after the point that the gold documents' scores have, at most; None from 6 on
    close              comparisons of a gold document's scores between two modes that differ by one step of these or less
    comparisons        how many such comparisons SICR makes
    rank_only          scores say no more than ranks: they are the same at the same rank in every query
    unpaired           queries judged in the base or the changed mode only
    without_gold       queries without a gold document: WISE and SICR leave them out
    without_negatives  queries without an instruction negative: p-MRR leaves them out
    without_reversed   queries of which no reversed mode is judged: WISE and SICR leave them out
    without_group      no core query has two judged queries in a mode: Robustness is the plain measure
    repeated           judgments given more than once
    """

    modes: dict[str, ModeFindings]
    unjudged: int
    tied_queries: int
    tied_judged: int
    decimals: int | None
    close: int
    comparisons: int
    rank_only: bool
    unpaired: tuple[str, ...]
    without_gold: tuple[str, ...]
    without_negatives: tuple[str, ...]
    without_reversed: tuple[str, ...]
    without_group: bool
    repeated: int


def findings(run: Run, qrels: Qrels, groups: Mapping[str, str] | None = None) -> Findings:
    """Look a run and its judgments over; run and qrels in any form that ir_measures takes, groups as in `evaluate`."""
    joined = Joined(as_run(run), as_qrels(qrels), groups)
    pairs = joined.pairs("trec")
    documents = joined.documents("trec")
    judged = set(documents.query_ids)
    tied_queries, tied_judged = _ties(joined)
    decimals, close, comparisons = _coarseness(pairs)
    ids = np.array(pairs.query_ids, object)
    return Findings(
        modes=_modes(joined),
        unjudged=sum(query_id not in judged for query_id in joined.run.query_ids),
        tied_queries=tied_queries,
        tied_judged=tied_judged,
        decimals=decimals,
        close=close,
        comparisons=comparisons,
        rank_only=_rank_only(joined.run),
        unpaired=pairs.unpaired,
        without_gold=tuple(ids[~pairs.has(pairs.gold)]),
        without_negatives=tuple(ids[~pairs.has(~pairs.gold)]),
        without_reversed=tuple(ids[~pairs.judged_in(REVERSED)]),
        without_group=joined.without_group,
        repeated=len(joined.qrels) - len(joined.positions("trec").queries),
    )


def _modes(joined: Joined) -> dict[str, ModeFindings]:
    documents, pairs = joined.documents("trec"), joined.pairs("trec")
    split = [joined.modes.split(query_id) for query_id in documents.query_ids]
    by_mode = {}
    for mode in sorted({mode for _, mode in split}, key=joined.modes.place):
        queries = np.array([row for row, (_, split_off) in enumerate(split) if split_off == mode])
        lengths = documents.lengths[queries]
        present = lengths[lengths > 0]
        gold, missing = _gold_in_mode(pairs, mode)
        by_mode[mode] = ModeFindings(
            judged=len(queries),
            absent=tuple(split[row][0] for row in queries[lengths == 0]),
            gold=gold,
            missing_gold=missing,
            depth=(int(present.min()), int(present.max())) if len(present) else (0, 0),
        )
    return by_mode


def _gold_in_mode(pairs: Pairs, mode: str) -> tuple[int, int]:
    """Gold documents of the queries present in a mode, and how many of them are missing there."""
    gold = missing = 0
    for role in ROLES:
        here = np.array([modes[role] == mode for modes in pairs.modes], bool) & ~pairs.absent(role)
        rows = pairs.gold & here[pairs.queries]
        gold += int(rows.sum())
        missing += int((rows & pairs.missing[:, role]).sum())
    return gold, missing


def _ties(joined: Joined) -> tuple[int, int]:
    run, in_tie = joined.run, joined.run.tied
    documents = joined.documents("trec")
    code = {query_id: code for code, query_id in enumerate(run.query_ids)}
    starts = np.append(np.cumsum(run.lengths) - run.lengths, 0)
    present = ~documents.missing
    query_of = np.array([code.get(query_id, -1) for query_id in documents.query_ids], np.int64)[documents.queries[present]]
    of_tie = in_tie[starts[query_of] + documents.ranks[present] - 1]
    return len(np.unique(run.queries[run.order("trec")][in_tie])), len(np.unique(query_of[of_tie]))


def _coarseness(pairs: Pairs) -> tuple[int | None, int, int]:
    """Digits of the gold documents' scores, and how many of SICR's comparisons are within one step of them."""
    rows = pairs.gold & ~pairs.missing.any(axis=1)
    scores = pairs.scores[rows]
    decimals = next((d for d in range(FINE) if np.array_equal(np.round(scores, d), scores)), None)
    comparisons = 2 * len(scores)
    if decimals is None or not comparisons:
        return None, 0, comparisons
    step = 10.0**-decimals * (1 + 1e-6)
    gaps = np.abs(scores[:, [CHANGED, REVERSED]] - scores[:, [BASE]])
    return decimals, int((gaps <= step).sum()), comparisons


def _rank_only(run: Run) -> bool:
    """Whether every query has the same score at the same rank, counted from the top or from the bottom."""
    if len(run.query_ids) < 2 or run.lengths.max() < 2:
        return False
    scores = run.scores[run.order("trec")]
    starts = np.cumsum(run.lengths) - run.lengths
    rankings = [scores[start : start + length] for start, length in zip(starts, run.lengths, strict=True)]
    pattern = max(rankings, key=len)
    # lazily: of most runs the first query tells
    return all(np.array_equal(ranking, pattern[: len(ranking)]) for ranking in rankings) or all(
        np.array_equal(ranking, pattern[len(pattern) - len(ranking) :]) for ranking in rankings
    )
