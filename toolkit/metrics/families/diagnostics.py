"""What a reader must know before trusting a number: absent queries, missing documents, ties, coarse scores, depths."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ir_measures.measures import Measure

from toolkit import registry
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.metrics.compute import Joined
from toolkit.metrics.definitions import parse
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, ROLES, Pairs

FINE = 6  # digits after the point from which on scores are taken as exact
COARSE = 3  # digits after the point: with so few, rounding alone flips comparisons between modes
SHOWN = 3
ABSENT = {"worst": "counted with the worst value", "skip": "left out", "error": "an error"}


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
    judged = set(joined.documents("trec").query_ids)
    ids = np.array(pairs.query_ids, object)
    return Findings(
        _modes(joined),
        sum(query_id not in judged for query_id in joined.run.query_ids),
        *_ties(joined),
        *_coarseness(pairs),
        _rank_only(joined.run),
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
        absent = tuple(split[row][0] for row in queries[lengths == 0])
        depth = (int(present.min()), int(present.max())) if len(present) else (0, 0)
        gold = missing = 0  # gold documents of the queries that are present, and how many of them are missing
        for role in ROLES:
            here = np.array([modes[role] == mode for modes in pairs.modes], bool) & ~pairs.absent(role)
            rows = pairs.gold & here[pairs.queries]
            gold += int(rows.sum())
            missing += int((rows & pairs.missing[:, role]).sum())
        by_mode[mode] = ModeFindings(len(queries), absent, gold, missing, depth)
    return by_mode


def _ties(joined: Joined) -> tuple[int, int]:
    """Queries with documents of equal score, and those where a judged document is among them."""
    run, in_tie = joined.run, joined.run.tied
    documents = joined.documents("trec")
    code = {query_id: code for code, query_id in enumerate(run.query_ids)}
    starts = np.append(np.cumsum(run.lengths) - run.lengths, 0)
    present = ~documents.missing
    query_of = np.array([code.get(query_id, -1) for query_id in documents.query_ids], np.int64)[documents.queries[present]]
    of_tie = in_tie[starts[query_of] + documents.ranks[present] - 1]
    queries = np.repeat(np.arange(len(run.lengths)), run.lengths)
    return len(np.unique(queries[in_tie])), len(np.unique(query_of[of_tie]))


def _coarseness(pairs: Pairs) -> tuple[int | None, int, int]:
    """Digits of the gold documents' scores, and how many of SICR's comparisons are within one step of them."""
    scores = pairs.scores[pairs.gold & ~pairs.missing.any(axis=1)]
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
    scores = run.scores_by_rank()
    starts = np.cumsum(run.lengths) - run.lengths
    rankings = [scores[start : start + length] for start, length in zip(starts, run.lengths, strict=True)]
    pattern = max(rankings, key=len)
    from_top = (np.array_equal(ranking, pattern[: len(ranking)]) for ranking in rankings)
    from_bottom = (np.array_equal(ranking, pattern[len(pattern) - len(ranking) :]) for ranking in rankings)
    return all(from_top) or all(from_bottom)  # lazily: of most runs the first query tells


def notes(
    run: Run,
    qrels: Qrels,
    *,
    measures: Iterable[str | Measure] | None = None,
    groups: Mapping[str, str] | None = None,
    missing: str = "worst",
) -> list[str]:
    """The findings as lines of text, those that bear on these measures (on any, where none are named).

    groups, missing  as `evaluate` takes them
    """
    return describe(findings(run, qrels, groups), measures=measures, missing=missing)


def describe(findings: Findings, *, measures: Iterable[str | Measure] | None = None, missing: str = "worst") -> list[str]:
    """The same for findings at hand; nothing to say gives no line."""
    named = None if measures is None else [registry.measure(parse(measure).NAME) for measure in measures]
    specs = registry.measures().values() if named is None else named

    def needing(*needs: str) -> str:
        return ", ".join(dict.fromkeys(spec.name for spec in specs if not set(needs).isdisjoint(spec.needs)))

    lines = _coverage(findings, ABSENT[missing], gold=bool(needing("gold")))
    if findings.repeated:
        lines.append(f"{findings.repeated} judgments are given more than once; each counts once")
    if findings.tied_judged:
        tied = f"{_count(findings.tied_judged)} (of {findings.tied_queries} with equal scores)"
        lines.append(f"a judged document's score equals another's in {tied}: ordered by document id, descending")
    comparing = needing("scores")
    if comparing and findings.rank_only:
        lines.append(f"every query has the same score at the same rank: {comparing} compares ranks, not scores")
    elif comparing and findings.decimals is not None and (findings.decimals <= COARSE or findings.close):
        close = f"{findings.close} of {findings.comparisons} comparisons of {comparing} are within one step of the last"
        lines.append(f"scores have {findings.decimals} digits after the point: {close}")
    for query_ids, what, names in (
        (findings.unpaired, "judged in one mode only", needing("gold", "negatives")),
        (findings.without_gold, "without a gold document", needing("gold")),
        (findings.without_reversed, "without judgments in a reversed mode", needing("reversed")),
        (findings.without_negatives, "without an instruction negative", needing("negatives")),
    ):
        if query_ids and names:
            lines.append(f"{_some(query_ids)} {what}: left out of {names}")
    if findings.without_group and named:  # true of the ids of most collections: said to those who ask alone
        lines += without_group(needing("groups"))
    return lines


def without_group(names: str) -> list[str]:
    """What is to be said of measures over core queries where each has one judged query; nothing where there are none."""
    known = "from a benchmark, or from ids such as 25_5 and 25_6, or 25_5.1 and 25_5.2"
    what = f"each core query has one judged query, whose value is that of {names}: are core queries known? ({known})"
    return [what] if names else []


def _coverage(findings: Findings, absent: str, *, gold: bool) -> list[str]:
    lines, missing = [], {}
    for mode, counts in findings.modes.items():
        where = f" in mode {mode}" if mode else ""
        if counts.absent:
            lines.append(f"{_some(counts.absent)} of {counts.judged} absent from the run{where}: {absent}")
        if gold and counts.missing_gold:
            missing[mode] = counts
    if missing:
        where = ", ".join(f"{counts.missing_gold}{f' ({mode})' if mode else ''}" for mode, counts in missing.items())
        lines.append(f"gold documents missing, ranked below the last: {where} of {next(iter(missing.values())).gold}")
    if findings.unjudged:
        lines.append(f"{_count(findings.unjudged)} of the run without judgments: they count nowhere")
    depths = {mode: counts.depth for mode, counts in findings.modes.items() if counts.depth[1]}
    if len({depth for _, depth in depths.values()}) > 1:
        shown = ", ".join(f"{mode} {low}-{high}" if low != high else f"{mode} {high}" for mode, (low, high) in depths.items())
        lines.append(f"the modes have different depths ({shown}): the rank of a missing document depends on it")
    return lines


def _some(query_ids: Sequence[str]) -> str:
    """`2 queries (a, b)`, with at most three names."""
    named = ", ".join(query_ids[:SHOWN]) + (", ..." if len(query_ids) > SHOWN else "")
    return f"{_count(len(query_ids))} ({named})"


def _count(queries: int) -> str:
    return f"{queries} {'query' if queries == 1 else 'queries'}"
