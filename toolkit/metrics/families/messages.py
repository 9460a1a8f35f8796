"""Findings of the diagnostics as lines of text."""

from collections.abc import Iterable, Mapping, Sequence

from ir_measures.measures import Measure

from toolkit import registry
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.metrics.definitions import parse
from toolkit.metrics.families.diagnostics import Findings, findings

COARSE = 3  # digits after the point: with so few, rounding alone flips comparisons between modes
SHOWN = 3
ABSENT = {"worst": "counted with the worst value", "skip": "left out", "error": "an error"}


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
        lines.append(
            f"a judged document's score equals another's in {_count(findings.tied_judged)} "
            f"(of {findings.tied_queries} with equal scores): ordered by document id, descending"
        )
    if comparing := needing("scores"):
        lines += _on_scores(findings, comparing)
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


def _on_scores(findings: Findings, names: str) -> list[str]:
    if findings.rank_only:
        return [f"every query has the same score at the same rank: {names} compares ranks, not scores"]
    if findings.decimals is None or not (findings.decimals <= COARSE or findings.close):
        return []
    return [
        f"scores have {findings.decimals} digits after the point: {findings.close} of {findings.comparisons} comparisons "
        f"of {names} are within one step of the last"
    ]


def _some(query_ids: Sequence[str]) -> str:
    """`2 queries (a, b)`, with at most three names."""
    named = ", ".join(query_ids[:SHOWN]) + (", ..." if len(query_ids) > SHOWN else "")
    return f"{_count(len(query_ids))} ({named})"


def _count(queries: int) -> str:
    return f"{queries} {'query' if queries == 1 else 'queries'}"
