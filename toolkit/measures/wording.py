"""The findings of a review as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ir_measures.measures import Measure

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.measures.definitions import parse
from toolkit.measures.review import Findings, findings

COARSE = 3  # digits after the point: with so few, rounding alone flips comparisons between modes
SHOWN = 3
ABSENT = {"worst": "counted with the worst value", "skip": "left out", "error": "an error"}

ALONE = (
    "each core query has one judged query, so that Robustness is its nDCG: are core queries known? "
    "(from a benchmark, or from ids such as 25_5 and 25_6, or 25_5.1 and 25_5.2)"
)

OF_GOLD = ("WISE", "WISE_ideal", "SICR", "GoldRank")
OF_REVERSED = ("WISE", "WISE_ideal", "SICR")
OF_NEGATIVES = ("pMRR", "NegativeRank")


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


def describe(found: Findings, *, measures: Iterable[str | Measure] | None = None, missing: str = "worst") -> list[str]:
    """The same for findings at hand; nothing to say gives no line."""
    names = None if measures is None else {parse(measure).NAME for measure in measures}

    def about(*wanted: str) -> bool:
        return names is None or not names.isdisjoint(wanted)

    lines = _coverage(found, ABSENT[missing], gold=about(*OF_GOLD))
    if found.repeated:
        lines.append(f"{found.repeated} judgments are given more than once; each counts once")
    if found.tied_judged:
        lines.append(
            f"a judged document's score equals another's in {_count(found.tied_judged)} "
            f"(of {found.tied_queries} with equal scores): ordered by document id, descending"
        )
    if about("SICR"):
        lines += _on_scores(found)
    if found.unpaired and about(*OF_GOLD, *OF_NEGATIVES):
        lines.append(f"{_some(found.unpaired)} judged in one mode only: left out of paired measures")
    if found.without_gold and about(*OF_GOLD):
        lines.append(f"{_some(found.without_gold)} without a gold document: left out of WISE and SICR")
    if found.without_group and "Robustness" in (names or ()):  # of the ids of most collections it is true
        lines.append(ALONE)
    if found.without_reversed and about(*OF_REVERSED):
        lines.append(f"{_some(found.without_reversed)} without judgments in a reversed mode: left out of WISE and SICR")
    if found.without_negatives and about(*OF_NEGATIVES):
        lines.append(f"{_some(found.without_negatives)} without an instruction negative: left out of p-MRR")
    return lines


def _coverage(found: Findings, absent: str, *, gold: bool) -> list[str]:
    lines = []
    for mode, counts in found.modes.items():
        where = f" in mode {mode}" if mode else ""
        if counts.absent:
            lines.append(f"{_some(counts.absent)} of {counts.judged} absent from the run{where}: {absent}")
        if gold and counts.missing_gold:
            lines.append(f"{counts.missing_gold} of {counts.gold} gold documents missing{where}: ranked below the last")
    if found.unjudged:
        lines.append(f"{_count(found.unjudged)} of the run without judgments: they count nowhere")
    depths = {mode: counts.depth for mode, counts in found.modes.items() if counts.depth[1]}
    if len({depth for _, depth in depths.values()}) > 1:
        told = ", ".join(f"{mode} {low}-{high}" if low != high else f"{mode} {high}" for mode, (low, high) in depths.items())
        lines.append(f"the modes have different depths ({told}): the rank of a missing document depends on it")
    return lines


def _on_scores(found: Findings) -> list[str]:
    if found.rank_only:
        return ["every query has the same score at the same rank: SICR compares ranks, not scores"]
    if found.decimals is None or not (found.decimals <= COARSE or found.close):
        return []
    return [
        f"scores have {found.decimals} digits after the point: {found.close} of SICR's {found.comparisons} comparisons "
        "are within one step of the last"
    ]


def _some(query_ids: Sequence[str]) -> str:
    """`2 queries (a, b)`, with at most three names."""
    named = ", ".join(query_ids[:SHOWN]) + (", ..." if len(query_ids) > SHOWN else "")
    return f"{_count(len(query_ids))} ({named})"


def _count(queries: int) -> str:
    return f"{queries} {'query' if queries == 1 else 'queries'}"
