"""Without the instances whose gold document a lexical run finds: what is left of a score (InstructIR, table 5)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import join_qrels
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.evaluation.analyses.instances import FOUND, Instances, found_of
from toolkit.evaluation.analyses.words import gold_overlap
from toolkit.evaluation.comparison.notes import run_notes
from toolkit.evaluation.scores.judgments import Judgments, read_runs
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.metrics.evaluation import mean
from toolkit.metrics.inference import Cores, ratio_difference

REPEATS = 1000
MODES = ("before", "after", "gap", *FOUND, "random gap", "random 2.5%", "random 97.5%", "beyond random")
INTERVAL = (2.5, 97.5)  # percent of the random drops below each bound
ALL = "all runs"


def overlap(
    runs: Sequence[Run],
    lexical: Run,
    judgments: Judgments,
    *,
    depth: int = 10,
    cutoff: int = 10,
    seed: int = 0,
    words: Mapping[str, float] | None = None,
) -> Scores:
    """nDCG and Robustness before and after instances with a relevant document in the lexical run's top `depth` are dropped.

    words  instance -> its overlap of words with its gold document (see `analyses.words`), for a row that says what was dropped;
           None where the texts are not on this machine

    Groups are formed anew from what is left, and one with nothing left does not count. `gap` is after minus before.
    `random gap` is the mean of the same when as many instances of the same groups are dropped by chance (1,000 times;
    95 % of them lie between `random 2.5%` and `random 97.5%`): a smaller group has a higher minimum whatever is dropped.
    `beyond random` is the gap minus that. Interval and p are of the gap, over core queries.
    """
    if depth < 1:
        raise ToolkitError(f"the filter depth is {depth}", "--filter-depth is at least 1")
    instances = Instances.of(judgments)
    kept = _kept(instances, lexical.head(depth), judgments)
    every = np.ones(len(kept), bool)
    each_kept = (every, kept, *_random_kept(instances, kept, seed))
    rows = []
    for run in runs:
        values = instances.values(run, judgments, f"nDCG@{cutoff}")
        plain = lambda left, values=values: np.where(left, values, np.nan)  # noqa: E731
        rows += _of_measure(run.tag, f"nDCG@{cutoff}", plain, instances.groups, each_kept)
        worst = partial(instances.worst, values)
        rows += _of_measure(run.tag, f"Robustness@{cutoff}", worst, np.arange(len(instances.names)), each_kept)
    before, after = ({"instances": int(left.sum()), "groups": len(np.unique(instances.groups[left]))} for left in (every, kept))
    for measure in ("instances", "groups"):
        numbers = (before[measure], after[measure], after[measure] - before[measure])
        rows += [Score(ALL, "all", mode, measure, number, number) for mode, number in zip(MODES, numbers, strict=False)]
    if words is not None:
        rows += _words(instances, kept, words)
    notes = list(_notes(runs, lexical, judgments, depth, cutoff))
    if words is None:
        notes.append("no overlap of words: the texts of the documents are not on this machine")
    return Scores(tuple(rows), tuple(notes))


def tables(
    runs: Sequence[str], judged: Judgments, filter_run: str, filter_depth: int = 10, *, cutoff: int = 10, seed: int = 0
) -> Shown:
    """`overlap` of run files; where a benchmark judges them, its texts say how many words are shared."""
    (lexical,), read = read_runs([filter_run], judged), read_runs(runs, judged, apart=True)
    words = gold_overlap(judged.reference) if judged.reference else None
    return shown(overlap(read, lexical, judged, depth=filter_depth, cutoff=cutoff, seed=seed, words=words))


def _kept(instances: Instances, lexical: Run, judgments: Judgments) -> np.ndarray:
    """(n,) bool: the lexical run has no relevant document of the instance; also where it has no line for it."""
    qrels = join_qrels(part.qrels for part in judgments.parts)
    relevant: dict[str, set[str]] = {}
    for query_id, doc_id, label, _ in qrels:
        if label > 0:
            relevant.setdefault(query_id, set()).add(doc_id)
    ranked = {query_id: {doc.doc_id for doc in ranking} for query_id, ranking in lexical.rankings()}
    solved = {query_id for query_id, found in ranked.items() if not found.isdisjoint(relevant.get(query_id, ()))}
    return np.array([query_id not in solved for query_id in instances.query_ids])


def _random_kept(instances: Instances, kept: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """As many instances of each group as `kept` has, drawn by chance; (n,) bool each."""
    if seed < 0:
        raise ToolkitError(f"the seed is {seed}", "--seed is a whole number from 0 on")
    generator = np.random.default_rng(seed)
    sizes = np.bincount(instances.groups)
    starts = np.cumsum(sizes) - sizes
    left = np.bincount(instances.groups, kept).astype(int)
    for _ in range(REPEATS):
        order = np.argsort(instances.groups + generator.random(len(kept)))  # by group, within it at random
        place = np.arange(len(kept)) - np.repeat(starts, sizes)
        drawn = np.empty(len(kept), bool)
        drawn[order] = place < np.repeat(left, sizes)
        yield drawn


def _of_measure(
    name: str, measure: str, values_of: Callable[[np.ndarray], np.ndarray], cores: np.ndarray, kept: Sequence[np.ndarray]
) -> list[Score]:
    """The rows of one measure.

    values_of  which instances are left, (n,) bool -> the values that the measure is the mean of, NaN where nothing is left
    cores      the core query of each value
    kept       before, after, and after each random drop
    """
    before, after, *after_random = (mean(each[~np.isnan(each)]) for each in map(values_of, kept))
    sums = [Cores.of(values_of(rows), cores) for rows in kept[:2]]
    gap = after - before
    by_chance = np.array(after_random) - before
    low, high = np.percentile(by_chance, INTERVAL)
    random_gap = mean(by_chance)
    numbers = (before, after, gap, *found_of(ratio_difference(*sums)), random_gap, low, high, gap - random_gap)
    counts = [int(each.sizes.sum()) for each in sums]
    named = zip(MODES, numbers, strict=True)
    return [Score(name, "all", mode, measure, float(value), counts[mode != "before"]) for mode, value in named]


def _words(instances: Instances, kept: np.ndarray, words: Mapping[str, float]) -> list[Score]:
    """Mean overlap of words before and after, over the instances whose gold document's text is known."""
    known = np.array([query_id in words for query_id in instances.query_ids])
    values = np.array([words.get(query_id, 0.0) for query_id in instances.query_ids])
    before, after = mean(values[known]), mean(values[known & kept])
    counts = [int(known.sum()), int((known & kept).sum())]
    numbers = zip(MODES, (before, after, after - before), (counts[0], counts[1], counts[1]), strict=False)
    return [Score(ALL, "all", mode, "word overlap", value, count) for mode, value, count in numbers]


def _notes(runs: Sequence[Run], lexical: Run, judgments: Judgments, depth: int, cutoff: int) -> Iterator[str]:
    yield from judgments.notes
    judged = [query_id for part in judgments.parts for query_id in part.qrels.query_ids]
    absent = len(set(judged).difference(lexical.query_ids))
    solved = f"instances with a relevant document in the top {depth} of {lexical.tag or lexical.source}"
    yield f"dropped: {solved}, which lacks {absent:,} of {len(judged):,} instances (they stay)"
    shallow = int(lexical.lengths.max(initial=0))
    if shallow < depth:
        yield f"{lexical.tag or lexical.source} is at most {shallow} documents deep"
    yield from run_notes(runs, judgments, [f"nDCG@{cutoff}"], "worst")
