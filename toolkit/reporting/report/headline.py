"""What a report found, in sentences that the tests allow: who follows instructions best, whether that is more than ignoring
them and than chance, what it costs in relevance, what cannot be told apart, and what to distrust.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolkit import registry
from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.scores import SIGNIFICANT, Change, in_mode, shown_measure
from toolkit.evaluation.comparison.comparison import changes_of, overall_group
from toolkit.evaluation.comparison.references import BLIND, RANDOM, blind
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.paired_values import paired
from toolkit.evaluation.scores.scoring import INTERVAL, MeasureSet, own_queries
from toolkit.metrics.evaluation import PAIRED
from toolkit.metrics.inference import SAME, holm
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, leader, leading
from toolkit.reporting.tables.rank_table import ranked
from toolkit.reporting.tables.report_tables import warning

NAMED = 3  # runs that a sentence names
FEW = 20  # core queries of a group below which only large effects show
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class Statement(NamedTuple):
    """A sentence or two, under a word or two on what they are about."""

    about: str
    text: str


@dataclass(frozen=True)
class Headline:
    """What was found: one sentence, what supports it, and what a reader has to know before trusting it."""

    lead: str
    statements: tuple[Statement, ...]
    distrust: tuple[str, ...]


class Followed(NamedTuple):
    """A run beside its own lists with the instructions ignored. p  corrected over the runs (Holm)."""

    name: str
    value: float
    blind: float
    change: Change
    p: float

    @property
    def beats(self) -> bool:
        """Whether it is better than that, by more than chance."""
        return self.p < SIGNIFICANT and self.change.difference > 0

    @property
    def worse(self) -> bool:
        """Whether it is worse, by more than chance."""
        return self.p < SIGNIFICANT and self.change.difference < 0


def headline(model: ReportModel) -> Headline:
    """What the runs of one benchmark show."""
    measure, mode = leading(model)
    name = in_mode(shown_measure(measure), mode)
    first = leader(model)
    if not first:
        return Headline(f"No run has a value of {name}.", (), tuple(_distrust(model)))
    beside_blind = followed(model) if mode == PAIRED else []
    best = next(facts for facts in model.runs if facts.name == first[0])
    statements = [
        *([_ignoring(name, beside_blind)] if beside_blind else []),
        *([chance] if (chance := _chance(model, best)) else []),
        *([relevance] if (relevance := _relevance(model, best)) else []),
        *([alike] if (alike := _told_apart(model, name)) else []),
    ]
    lead = _lead(model, name, first, number(best.value(measure, mode, model.overall)), beside_blind)
    return Headline(lead, tuple(statements), tuple(_distrust(model)))


def followed(model: ReportModel) -> list[Followed]:
    """Each run's leading number beside that of its own lists of the base mode, which ignore instructions, tested over core
    queries; best first. Empty where there are no such lists.
    """
    measure, mode = leading(model)
    found = []
    for facts in model.runs:
        pairs = []
        for part in model.judgments.parts:
            own = facts.values.get(Key(part.group, measure, mode))
            if own is None or not facts.references:
                continue
            lists = blind(own_queries(facts.run, part), model.judgments.modes)
            ignoring = {(each.measure, each.mode): each for each in MeasureSet((measure,)).values(lists, part)}
            pairs.append((part, paired(ignoring, {(measure, mode): own}, part)))
        changes = changes_of(pairs, MeasureSet((measure,)))
        found += [(facts.name, change) for change in changes if change.group == overall_group(changes)]
    adjusted = holm([change.p for _, change in found])
    rows = [Followed(name, change.b, change.a, change, p) for (name, change), p in zip(found, adjusted, strict=True)]
    return sorted(rows, key=lambda row: -row.value)


def _lead(model: ReportModel, name: str, first: Sequence[str], value: str, beside_blind: Sequence[Followed]) -> str:
    rows = {row.name: row for row in beside_blind}
    if len(model.runs) == 1:
        (run,) = first
        if not rows:
            return f"{run} has {name} {value}."
        follows = "does worse than ignoring the instructions" if rows[run].worse else "is not shown to follow its instructions"
        follows = "follows its instructions: it beats ignoring them" if rows[run].beats else follows
        return f"{run} {follows} ({_tested(rows[run].change, rows[run].p)}) ({name} {value})."
    found = ranked(model).get(Key(model.overall, *leading(model)))
    ahead = [each.name for each in found.systems if each.last == 1] if found else []  # told apart from every other, and better
    alone = len(first) == 1 and first[0] in ahead
    best = f"{_names(first)} {'has' if len(first) == 1 else 'have'} the highest {name} ({value})"
    unclear = "" if alone or len(first) > 1 else ", though the tests do not tell it apart from every other"
    if not rows:
        return f"{best}{unclear}."
    beating = [row.name for row in beside_blind if row.beats]
    leading_row = rows[first[0]]
    tested = _tested(leading_row.change, leading_row.p)
    if leading_row.worse:
        return f"{best}{unclear}; even so worse than ignoring the instructions ({tested})."
    if not beating:
        shown = "its instructions" if len(first) == 1 else "their instructions"
        follows = f"{best}{unclear}; not shown to follow {shown} ({tested})"
        others = [row.name for row in beside_blind if row.name not in first]
        return f"{follows}, nor is any other of {len(rows)} systems." if others else f"{follows}."
    if beating == list(first) and len(beating) == 1:
        return f"{best}{unclear} and is the only one of {len(rows)} systems that is shown to follow its instructions."
    every = "both" if len(rows) == 2 else f"all {len(rows)}"
    count = COUNTS[len(beating)] if len(beating) < len(COUNTS) else f"{len(beating):,}"
    how_many = every if len(beating) == len(rows) else f"{count} of {len(rows)}"
    own = "is shown to follow its" if len(beating) == 1 else "are shown to follow their"
    return f"{best}{unclear}; {how_many} systems {own} instructions."


def _tested(change: Change, p: float) -> str:
    """`p = 0.36`; of what is not tested why."""
    if not math.isnan(p):
        return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.3f}"
    return "no core query differs" if change.state == SAME else f"{change.untested}: not tested"


def _ignoring(name: str, rows: Sequence[Followed]) -> Statement:
    """The leading run beside its blind lists, then how the others fare."""
    row, others = rows[0], rows[1:]
    change = row.change
    text = (
        f"{row.name} has {name} {number(row.value)}; its own ranking with instructions ignored has {number(row.blind)} "
        f"(difference {number(change.difference, '+')}; {_tested(change, row.p)}, over core queries"
        f"{', after Holm' * (len(rows) > 1)})."
    )
    for verdict, fits in (
        ("Also significantly better", [each for each in others if each.beats]),
        ("Significantly worse than ignoring", [each for each in others if each.worse]),
        ("No difference shown", [each for each in others if not (each.beats or each.worse)]),
    ):
        if fits:
            text += f" {verdict}: {_names([each.name for each in fits])}."
    return Statement("Beside ignoring instructions", text)


def _chance(model: ReportModel, facts: RunFacts) -> Statement | None:
    """The leading run beside random orders of its lists, and which runs stand above theirs by each measure over modes."""
    measure, mode = leading(model)
    bounds = _band(facts, measure, mode, model.overall)
    if mode != PAIRED or bounds is None:
        return None
    value = facts.value(measure, mode, model.overall)
    place = "above" if value > bounds[1] else "below" if value < bounds[0] else "inside"
    text = f"{facts.name} is {place} the range of random orders of its lists ({number(bounds[0])} to {number(bounds[1])})."
    others = []
    for other in ("WISE", "pMRR", "SICR"):
        columns = [column for column in model.columns(model.overall) if registry.measure(column[0]).name == other]
        for column in columns[:1]:
            bands = [(each.value(*column, model.overall), _band(each, *column, model.overall)) for each in model.runs]
            known = [(own, band) for own, band in bands if own is not None and band is not None]
            above = sum(own > band[1] for own, band in known)
            if known and len(model.runs) > 1:
                others.append(f"{shown_measure(column[0])} {above} of {len(known)}")
    return Statement("Beside chance", text + (f" Systems above theirs: {', '.join(others)}." if others else ""))


def _band(facts: RunFacts, measure: str, mode: str, group: str) -> tuple[float, float] | None:
    low, high = (facts.reference(f"{RANDOM} {bound:g}%", Key(group, measure, mode)) for bound in INTERVAL)
    return None if low is None or high is None else (low, high)


def _relevance(model: ReportModel, facts: RunFacts) -> Statement | None:
    """From base to instructed: the first measure of one mode of the leading run, and who has most when instructed."""
    base, instructed = (next(iter(model.judgments.modes.of(role)), "") for role in (BASE, INSTRUCTED))
    columns = model.columns(model.overall)
    measure = next((measure for measure, mode in columns if mode == base), "")
    if not base or not {(measure, base), (measure, instructed)} <= set(columns):
        return None
    pairs = []  # the run's own number in both modes, whose change is over core queries
    for part in model.judgments.parts:
        values = [facts.values.get(Key(part.group, measure, mode)) for mode in (base, instructed)]
        if None not in values:
            key = (measure, instructed)
            pairs.append((part, paired({key: values[0]}, {key: values[1]}, part)))
    changes = changes_of(pairs, MeasureSet((measure,)))
    change = next((change for change in changes if change.group == model.overall), None)
    if change is None:
        return None
    apart = change.low > 0 or change.high < 0
    verb = ("rises" if change.difference > 0 else "falls") if apart else "goes"
    interval = f"95\u00a0% interval {number(change.low, '+')} to {number(change.high, '+')}"
    shown = _tested(change, change.p) if change.untested else interval if apart else f"{interval}, no change shown"
    ends = f"from {number(change.a)} ({base}) to {number(change.b)} ({instructed})"
    text = f"{shown_measure(measure)} of {facts.name} {verb} {ends}: {number(change.difference, '+')}, {shown}."
    ignoring = facts.reference(BLIND, Key(model.overall, measure, instructed))
    if ignoring is not None:
        text += f" With instructions ignored it is {number(ignoring)} ({instructed})."
    values = {each.name: each.value(measure, instructed, model.overall) for each in model.runs}
    most = max((value for value in values.values() if value is not None), default=math.nan)
    top = [each for each, value in values.items() if value == most]
    if len(model.runs) > 1 and facts.name not in top:
        text += f" Highest with instructions: {_names(top)} ({number(most)})."
    return Statement("In relevance", text)


def _told_apart(model: ReportModel, name: str) -> Statement | None:
    """Which pairs of systems the tests tell apart by the leading number."""
    found = ranked(model).get(Key(model.overall, *leading(model)))
    if not found or len(found.systems) < 2:
        return None
    pairs = list(itertools.combinations(range(len(found.systems)), 2))
    alike, told = ([pair for pair in pairs if of(*pair)] for of in (found.alike, found.told_apart))
    if not alike:
        share = f"all {len(pairs)}" if len(told) == len(pairs) else f"{len(told)} of {len(pairs)}"
        return Statement("Told apart", f"The tests tell {share} pairs of systems apart by {name}.")
    if len(alike) == len(pairs):
        return Statement("Not told apart", f"The tests tell no two of the {len(found.systems)} systems apart by {name}.")
    # pairs of neighbours say most
    shown = sorted(alike, key=lambda pair: pair[1] - pair[0])[:NAMED]
    named = "; ".join(" and ".join(found.systems[place].name for place in pair) for pair in sorted(shown))
    more = f"; and {len(alike) - len(shown)} more pairs" if len(alike) > len(shown) else ""
    return Statement("Not told apart", f"By {name}, {len(alike)} of {len(pairs)} pairs: {named}{more}.")


def _distrust(model: ReportModel) -> Iterator[str]:
    """What makes the numbers weaker than they look."""
    if text := warning(model):
        yield text
    cores = {}
    for part in model.judgments.parts:
        base_ids = dict.fromkeys(part.qrels.modes.split(query_id)[0] for query_id in part.qrels.query_ids)
        cores[part.group] = len(core_queries(tuple(base_ids), part)[0])
    few = [number for number in cores.values() if number < FEW]
    if few:
        spread = f"{min(few)}" if min(few) == max(few) else f"{min(few)} to {max(few)}"
        groups = "each group" if len(few) == len(cores) else f"{len(few)} of {len(cores)} groups"
        where = f" in {groups}" if len(cores) > 1 else ""
        total = f", {sum(cores.values())} in all" if len(cores) > 1 else ""
        yield f"Few core queries ({spread}{where}{total}): only large effects show."
    if missing := _missing_gold(model):
        yield f"Gold documents that are not in the rankings: {missing}."
    judged = set(model.judgments.query_ids)
    absent = {facts.name: len(judged.difference(facts.run.query_ids)) for facts in model.runs}
    if absent := {name: count for name, count in absent.items() if count}:
        shown = [f"{name} {count:,} of {len(judged):,}" for name, count in sorted(absent.items(), key=lambda row: -row[1])]
        yield f"Queries that a run lacks: {_names(shown)}."
    depths = [int(facts.run.lengths.max(initial=0)) for facts in model.runs]
    if min(depths) != max(depths):
        yield f"The runs differ in depth ({min(depths)} to {max(depths)}), on which the rank of a missing document depends."


def _missing_gold(model: ReportModel) -> str:
    """The runs that lack most, each in the mode in which it lacks most."""
    if not any("gold" in registry.measure(measure).needs for measure in model.measures):
        return ""
    worst = {}
    for facts in model.runs:
        modes = facts.findings.modes.items() if facts.findings else ()
        lacking = [(counts.missing_gold, counts.gold, mode) for mode, counts in modes if mode and counts.missing_gold]
        if lacking:
            worst[facts.name] = max(lacking)
    rows = sorted(worst.items(), key=lambda row: -row[1][0] / row[1][1])
    return _names([f"{count} of {total} of {name} ({mode})" for name, (count, total, mode) in rows])


def _names(names: Sequence[str]) -> str:
    """`a, b and c`; of many the first three, and how many more; empty of none."""
    shown = [*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED + 1 else list(names)
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def number(value: float, sign: str = "") -> str:
    """Three decimals, a true minus, and no -0.000; where `sign` is `+`, with it."""
    return f"{value:{sign}z.3f}".replace("-", "\u2212")
