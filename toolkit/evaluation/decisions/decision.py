"""From two runs to a verdict for each number and for all of them.

A number is a group, a measure and a mode. Its verdict is read off one interval, that of the difference over core queries:
wholly below minus the smallest effect fails, wholly above it passes, all else is undecided. The intervals of what is decided
are simultaneous (Dunn 1961: each is Student's at a level of 1 - 0.05 / their number), so that all of them hold together in
95 % of all comparisons, however the measures depend on each other: the fewer numbers decide, the more each can show. So the
benchmark's leading number of the average decides, and the others are listed. Where two runs are not of one corpus under the
same ids, a difference says nothing of the change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolkit import metrics, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.tables.columns import lookup
from toolkit.datasets import Benchmark, find, load
from toolkit.datasets.accepted import Ids, Judging, Measures, Missing, Modes, RunForm, Unjudged
from toolkit.evaluation.comparison.notes import run_notes
from toolkit.evaluation.comparison.primary import primary_numbers
from toolkit.evaluation.decisions.gate_output import FAIL, PASS, POWER, UNDECIDED, Check, Gate
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.paired_values import Key, PairedValues, numbers_of, paired_values
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.files.provenance import Recorded, part
from toolkit.metrics.inference import FEW, LEVEL, SAME, TESTED, estimate

MIN_EFFECT = 0.02


def gate(
    baseline: RunForm,
    run: RunForm,
    *,
    benchmark: str | Benchmark | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    min_effect: float | Mapping[str, float] | None = None,
    primary: Sequence[str] = (),
    groups: bool = False,
    depth: int | None = None,
    ids: Ids = "tandem",
    unjudged: Unjudged = "refuse",
    missing: Missing = "worst",
) -> Gate:
    """Is a run worse than a baseline by more than the smallest difference that matters?

    baseline, run  as `toolkit.evaluation` takes runs, one each
    benchmark, qrels, modes, depth, ids, unjudged, missing   as in `toolkit.evaluation`
    measures       that are compared, as in `toolkit.evaluation`
    min_effect     the smallest difference that matters, of all measures or by measure; "" is for the measures not named. What
                   is not given is the benchmark's own (`BenchmarkSpec.smallest_effects`), or 0.02. Measures whose unit is a
                   rank are left out where none is known for them
    primary        the numbers that decide, as MEASURE or MEASURE-MODE: the fewer, the narrower the intervals. Where none are
                   named, those of the named measures, or else the benchmark's leading one
    groups         they decide in every group too, not on average alone

    `verdict` of what is returned is `pass`, `warn` (undecided) or `fail`, `passed(strict=True)` whether nothing is undecided,
    `to_frame()` has a row for each group, measure and mode, `notes` what must be known. Raises ToolkitError for what cannot be
    read or judged, where corpus or ids turned over, and where nothing is compared.
    """
    every_mode = missing != "skip"
    prepared = prepare([baseline, run], benchmark, qrels, depth, ids, unjudged, modes=modes, apart=True, every_mode=every_mode)
    a, b = prepared.runs
    judgments, chosen = prepared.judgments, prepared.measure_set(measures, missing)
    shares = check_turnover(a, b, judgments)
    effects = smallest_effects(min_effect, prepared.benchmark)
    kept, notes = _gated(chosen.every(judgments), effects, judgments)
    pairs = []
    for group in judgments.parts:
        columns = paired_values(a, b, group, chosen).items()
        pairs.append((group, {key: own for key, own in columns if key[0] in kept and is_ranked(*key, judgments.modes)}))
    checks = decide(numbers_of(pairs, per_group=chosen.per_group), effects, judgments, primary or measures or (), groups=groups)
    if a.tag == b.tag:
        a, b = (replace(run, tag=name) for run, name in ((a, f"{a.tag} (baseline)"), (b, f"{b.tag} (run)")))
    warnings = run_notes([a, b], judgments, chosen.every(judgments), missing)
    return Gate(a.tag, b.tag, tuple(checks), (*shares, *notes, *judgments.notes, *warnings))


def smallest_effects(given: float | Mapping[str, float] | None, benchmark: str | None = None) -> dict[str, float]:
    """Measure -> the smallest difference of it that matters; "" is any other. ToolkitError for one that is not above 0."""
    selection = find(benchmark) if benchmark else None
    own = load(selection.benchmark).spec.smallest_effects if selection else {}
    effects = {"": given} if isinstance(given, float | int) else {"": MIN_EFFECT, **own, **(given or {})}
    for measure, effect in effects.items():
        if not 0 < effect < float("inf"):
            raise ToolkitError(f"the smallest effect{f' of {measure}' if measure else ''} is {effect}", "a number above 0")
    return {str(metrics.parse(measure)) if measure else "": float(effect) for measure, effect in effects.items()}


def _gated(measures: Sequence[str], effects: Mapping[str, float], judgments: Judgments) -> tuple[set[str], list[str]]:
    """The measures that can be better or worse and have a smallest effect, and notes of the others."""
    if strange := effects.keys() - {"", *measures, *judgments.measures}:
        hint = f"compared are {', '.join(measures)}: name more with -m"
        raise ToolkitError(f"{', '.join(sorted(strange))} is not compared", hint)
    ranks = [each for each in measures if registry.measure(each).unit == "rank" and each not in effects]
    neither = [each for each in measures if registry.measure(each).direction == "none"]
    notes = [f"left out, as nobody said how many ranks matter (--min-effect {ranks[0]}=1): {', '.join(ranks)}"] if ranks else []
    notes += [f"left out, as neither more nor less of it is better: {', '.join(neither)}"] if neither else []
    return {*measures} - {*ranks, *neither}, notes


def decide(
    numbers: Mapping[tuple[str, Key], Sequence[PairedValues]],
    effects: Mapping[str, float],
    judgments: Judgments,
    primary: Sequence[str] = (),
    *,
    groups: bool = False,
) -> list[Check]:
    """The checks of `numbers_of`: those that decide, the average first, then the others."""
    if not numbers:
        raise ToolkitError("no measure has a value in both runs", "name measures with -m that these judgments allow")
    overall = next(reversed(numbers))[0]
    chosen = primary_numbers([key for group, key in numbers if group == overall], judgments.modes, primary)
    deciding = {place for place in numbers if place[1] in chosen and (groups or place[0] == overall)}
    level = 1 - (1 - LEVEL) / max(len(deciding), 1)
    checks = []
    for place in sorted(numbers, key=lambda place: (place not in deciding, place[0] != overall)):
        decides = place in deciding
        checks.append(_check(*place, numbers[place], effects, level if decides else LEVEL, decides=decides))
    return checks


def _check(
    group: str, key: Key, values: Sequence[PairedValues], effects: Mapping[str, float], level: float, *, decides: bool
) -> Check:
    found = estimate([each.sums for each in values])
    measure, mode = key
    low, high = found.interval(level)
    min_effect = effects.get(measure, effects[""])
    worse, better = (-high, -low) if registry.measure(measure).direction == "lower" else (low, high)
    verdict = FAIL if better < -min_effect else PASS if worse > -min_effect else UNDECIDED
    if found.state in (SAME, FEW):
        verdict = found.state
    needed = None
    if verdict == UNDECIDED and found.state == TESTED:
        margin = abs((worse + better) / 2 + min_effect)
        needed = found.needed(max(margin, min_effect), level=level, power=POWER)
        if needed is not None and needed <= found.core_queries:  # enough for none or twice the effect: it is between them
            needed = found.needed(margin, level=level, power=POWER)
    a, b = (sum(float(getattr(each, name).mean()) for each in values) / len(values) for name in ("a", "b"))
    effect = (float(found.mean), float(low), float(high), min_effect)
    counts = (sum(len(each.query_ids) for each in values), int(found.core_queries), int(found.differing))
    return Check(group, mode, measure, a, b, *effect, *counts, verdict, decides, needed)


QUERIES = 0.5  # the least share of the judged queries of either run that both have
DOCUMENTS = 0.1  # of the documents of the run with fewer; two systems of one corpus share far more, other ids hardly any


def check_turnover(a: Run, b: Run, judgments: Judgments) -> list[str]:
    """Notes of the shares in common.

    Raises ToolkitError, with the shares, where too few queries or documents are in both runs, or where the second has no
    judged document any more. Documents may differ as much as they like where the records of both runs name one corpus.
    """
    judged = set(judgments.query_ids)
    first, second = (judged.intersection(run.query_ids) for run in (a, b))
    queries = len(first & second) / max(len(first | second), 1)
    documents = int((lookup(b.doc_ids, a.doc_ids) >= 0).sum()) / max(min(len(a.doc_ids), len(b.doc_ids)), 1)
    found, corpora = [], []  # which share of what is judged is in a run anywhere; which corpora its record names, if any
    for run in (a, b):
        places = [lookup(each.qrels.doc_ids, run.doc_ids) for each in judgments.parts]
        found.append(sum(int((each >= 0).sum()) for each in places) / max(sum(map(len, places)), 1))
        recorded = Recorded(run.source, run).provenance.data.get("indexes", ()) if run.source else ()
        contents = (part(index, "corpus").get("content") for index in (recorded if isinstance(recorded, list) else ()))
        corpora.append(frozenset(map(str, filter(None, contents))))
    shares = (
        f"in common: {_share(queries)} of the queries, {_share(documents)} of the documents; judged documents found: "
        f"{_share(found[0])} in the baseline, {_share(found[1])} in the run"
    )
    known = all(corpora)
    if queries < QUERIES:
        raise ToolkitError(f"the queries are others: {shares}", "compare runs of the same topics")
    if documents < DOCUMENTS and not (known and corpora[0] == corpora[1]):
        raise ToolkitError(f"the corpus or its ids are others: {shares}", "make the baseline again on the corpus of the run")
    if found[0] and not found[1]:
        raise ToolkitError(f"the ids of documents are not those of the judgments: {shares}", "judge the corpus of the run")
    notes = [shares]
    if known and corpora[0] != corpora[1]:
        notes.append("warning: the runs' records name corpora of other contents: a difference may be the corpus's")
    return notes


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
