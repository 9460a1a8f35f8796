"""How runs differ from each other: value, interval and p, as `evaluate --baseline` has them; who is best, what is marked."""

import functools
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.scores import Change
from toolkit.core.system.progress import progress
from toolkit.evaluation.comparison.comparison import changes_of, corrected
from toolkit.evaluation.scores.paired_values import paired
from toolkit.evaluation.scores.scoring import MeasureSet, is_ranked
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, best_of, known_values, leader
from toolkit.reporting.tables.text_table import BEST, DAGGER, OF_KIND, WORSE

EVERY = 20  # runs up to which each may be the baseline


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences from each possible baseline.

    baselines  names of runs, the one that the report was asked for first
    changes    (baseline, run) -> group, measure and mode -> the change from the baseline to the run
    """

    baselines: tuple[str, ...]
    changes: Mapping[tuple[str, str], Mapping[Key, Change]]

    def change(self, baseline: str, run: str, key: Key) -> Change | None:
        """None of the baseline itself, and of what is no mean over queries and has no test."""
        return self.changes.get((baseline, run), {}).get(key)


@functools.lru_cache(maxsize=16)  # tables and figures of one report ask for the same
def differences(model: ReportModel) -> Differences:
    """Of up to 20 runs each is a baseline, of more the chosen one and the best; what is significant is so after Holm's
    correction over the leading number of all runs that are compared with the baseline, as `evaluate --baseline` has it.
    """
    names = [facts.name for facts in model.runs]
    first = [model.baseline] if model.baseline else []
    others = names if len(names) <= EVERY else leader(model)
    baselines = tuple(dict.fromkeys([*first, *others]))
    pairs = [pair for pair in itertools.combinations(model.runs, 2) if not {each.name for each in pair}.isdisjoint(baselines)]
    found: dict[tuple[str, str], list[Change]] = {}
    with progress("differences", len(pairs), "pairs of runs") as advance:
        for a, b in pairs:
            found[a.name, b.name] = compared(model, a, b)
            found[b.name, a.name] = [_turned(change) for change in found[a.name, b.name]]
            advance()
    changes: dict[tuple[str, str], dict[Key, Change]] = {}
    for baseline in baselines:
        runs = [name for name in names if found.get((baseline, name))]
        of_runs, _ = corrected([found[baseline, name] for name in runs], model.judgments) if runs else ([], None)
        for name, own in zip(runs, of_runs, strict=True):
            changes[baseline, name] = {Key(change.group, change.measure, change.mode): change for change in own}
    return Differences(baselines, changes)


def compared(model: ReportModel, a: RunFacts, b: RunFacts) -> list[Change]:
    """What changed from one run to another, in all that is a mean over queries."""
    pairs = []
    for part in model.judgments.parts:
        keys = [Key(part.group, *column) for column in model.columns(part.group)]
        own, other = ({(key.measure, key.mode): facts.values[key] for key in keys if key in facts.values} for facts in (a, b))
        pairs.append((part, paired(own, other, part)))
    return changes_of(pairs, MeasureSet((), any(part.measures for part in model.judgments.parts)))


def _turned(change: Change) -> Change:
    """The change from the second to the first."""
    difference = change.a - change.b
    return replace(
        change,
        a=change.b,
        b=change.a,
        difference=difference,
        relative=difference / abs(change.b) if change.b else float("nan"),
        low=-change.high,
        high=-change.low,
        effect=-change.effect,
        up=change.down,
        down=change.up,
    )


def with_baseline(models: Sequence[ReportModel], given: str | None = None) -> list[ReportModel]:
    """The models with the run that theirs are compared with: the one given by name, tag or file, or else the run of BM25, or
    else the first.

    Raises ToolkitError where no model has the run that is given.
    """
    fitting = [next((facts.name for facts in model.runs if given and facts.is_called(given)), "") for model in models]
    if given and not any(fitting):
        names = three(facts.name for model in models for facts in model.runs)
        raise ToolkitError(f"no run is called {given}", f"the runs are {names}")
    return [replace(model, baseline=name or _default(model)) for model, name in zip(models, fitting, strict=True)]


def _default(model: ReportModel) -> str:
    names = [facts.name for facts in model.runs]
    of_bm25 = [facts.name for facts in model.runs if facts.called == "bm25"]
    return "bm25" if "bm25" in of_bm25 else next(iter(of_bm25), names[0])


def by_heading(model: ReportModel) -> dict[str, list[RunFacts]]:
    """Kind of system -> its runs, in the report's order, without controls."""
    kinds = defaultdict(list)
    for facts in model.systems:
        kinds[facts.heading].append(facts)
    return dict(kinds)


def best(model: ReportModel, runs: Sequence[RunFacts], key: Key) -> list[str]:
    """The names of those with the best value; several where they are equal, none where all are or where nobody can be best."""
    known = known_values(runs, key)
    can_be_best = len(set(known.values())) > 1 and is_ranked(key.measure, key.mode, model.judgments.modes)
    return best_of(known, key.measure) if can_be_best else []


def marks(model: ReportModel, group: str) -> dict[tuple[str, Key], str]:
    """(run, number) -> `best` of all, or `of-kind`: the best of its kind, where that has several runs."""
    marked: dict[tuple[str, Key], str] = {}
    for column in model.columns(group):
        key = Key(group, *column)
        for runs in by_heading(model).values():
            marked |= {(name, key): OF_KIND for name in best(model, runs, key)}
        marked |= {(name, key): BEST for name in best(model, model.systems, key)}
    return marked


def against(model: ReportModel, baseline: str, run: str, key: Key) -> str:
    """`dagger` where a run's number is significantly better than the baseline's, `worse` where it is worse; else empty."""
    change = differences(model).change(baseline, run, key)
    if change is None or not change.mark:
        return ""
    better = (change.difference > 0) != (registry.measure(key.measure).direction == "lower")
    return DAGGER if better else WORSE
