"""One run against its judgments: the values of every measure, group by group, and their macro average."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, PAIRED, Score
from toolkit.core.system.progress import progress
from toolkit.core.system.weak_cache import once_per_object
from toolkit.evaluation.comparison.reference_values import evaluate_references
from toolkit.evaluation.comparison.references import RANDOM, SEED
from toolkit.evaluation.scores.core_queries import INSTRUCTION, by_unit, core_queries
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.metrics.compute import function_of
from toolkit.metrics.evaluation import aggregate, mean

SCORE = "Score"  # each group's own first measure, where groups have measures of their own
TOGETHER = "all"  # the mode of a mean over the queries of several modes
DRAWN = 1000  # random orders
INTERVAL = (2.5, 97.5)  # percent of them below each bound


@dataclass(frozen=True)
class MeasureSet:
    """What is computed of every part.

    measures   of every group
    per_group  also those of each group alone, and their average, `Score`
    shown      the modes of measures of one mode; all where it is empty
    missing    what a query counts that the run lacks
    ori_unit   what counts once in a mean over the base mode, see `core_queries.by_unit`
    together   modes whose queries have a mean over all of them, beside each mode's own; none where it is empty
    """

    measures: tuple[str, ...]
    per_group: bool = False
    shown: tuple[str, ...] = ()
    missing: str = "worst"
    together: tuple[str, ...] = ()
    ori_unit: str = INSTRUCTION

    def every(self, judgments: Judgments) -> list[str]:
        """All measures that some part is asked for."""
        return list(dict.fromkeys(measure for part in judgments.parts for measure in self.of(part)))

    def of(self, part: Part) -> tuple[str, ...]:
        """The measures of one part."""
        return tuple(dict.fromkeys((*self.measures, *(part.measures if self.per_group else ()))))

    def values(self, run: Run, part: Part) -> list[tandem.MeasureValues]:
        """One run against one part."""
        known = _known_values(run).setdefault(part.qrels, {})
        keys = {measure: (measure, self.missing) for measure in self.of(part)}
        # of other core queries, the minimum over them is another
        wanted = [m for m, key in keys.items() if key not in known or known[key][0] is not part.cores]
        if wanted:
            computed = tandem.evaluate(wanted, run, part.qrels, groups=part.cores, missing=self.missing)
            known |= {keys[m]: (part.cores, [values for values in computed if values.measure == m]) for m in wanted}
        return self.only_shown([values for key in keys.values() for values in known[key][1]])

    def only_shown(self, computed: Sequence[tandem.MeasureValues]) -> list[tandem.MeasureValues]:
        """Those of the modes that are shown."""
        return [values for values in computed if not self.shown or values.mode in (*self.shown, PAIRED)]

    def rows(self, name: str, part: Part, values_of_measures: Sequence[tandem.MeasureValues]) -> Iterator[Score]:
        """The aggregate rows, the group's score before the measures that it has alone."""
        for measure, of_modes in itertools.groupby(values_of_measures, lambda values: values.measure):
            pooled = []
            for values in of_modes:
                for mode, value, count in by_unit(values, part, self.ori_unit):
                    row = Score(name, part.group, mode, measure, value, count)
                    if self.per_group and measure in part.measures[:1]:
                        yield row._replace(measure=SCORE)
                    yield row
                pooled += [values.values] if values.mode in self.together else []
            if pooled:
                together = np.concatenate(pooled)
                yield Score(name, part.group, TOGETHER, measure, mean(together), len(together))


@once_per_object
def _known_values(run: Run) -> WeakKeyDictionary[Qrels, dict]:
    """qrels -> (measure, missing) -> core queries and values: tables, tests and pages ask for the same numbers."""
    return WeakKeyDictionary()


def is_ranked(measure: str, mode: str, modes: Modes) -> bool:
    """Whether somebody can be best: an ideal is no achievement, and reversed instructions want gold documents to fall."""
    spec = registry.measure(measure)
    return spec.direction != "none" and (not spec.ranked_in or mode in modes.of(*spec.ranked_in))


def score(
    run: Run, judgments: Judgments, chosen: MeasureSet, *, types: Sequence[Part] = (), by_query: bool = False
) -> list[Score]:
    """The aggregate rows of a run, in the order of groups, measures and modes; then those of each query, if asked for.

    After several groups comes `average`, then the types of questions. A measure that needs modes which are not judged has
    no rows.
    """
    aggregates, queries = [], []
    for part in judgments.parts:
        values_of_measures = chosen.values(run, part)
        aggregates += chosen.rows(run.tag, part, values_of_measures)
        if by_query:
            rows = []
            for values in values_of_measures:
                of_queries = zip(values.query_ids, values.values.tolist(), strict=True)
                rows += [Score(run.tag, part.group, values.mode, values.measure, value, 1, name) for name, value in of_queries]
            queries += sorted(rows, key=lambda row: row.query_id)  # stable: measures and modes keep their order
    of_types = [row for part in types for row in chosen.rows(run.tag, part, chosen.values(run, part))]
    return _complete(aggregates) + list(_with_aggregates(of_types)) + queries


def score_references(run: Run, judgments: Judgments, chosen: MeasureSet, suffix: str = "") -> list[Score]:
    """The aggregate rows of the run's references; suffix  stands behind the references' own names (` of bm25`).

    `random` is the mean of `DRAWN` random orders; `random 2.5%` and `random 97.5%` hold 95 % of them between each other,
    measure by measure.
    """
    tables: dict[str, list[Score]] = {}
    with progress("references", len(judgments.parts), "groups") as advance:
        for part in judgments.parts:
            evaluated = evaluate_references(own_queries(run, part), part, judgments.modes, chosen.of(part), chosen.missing)
            for reference, values in evaluated.items():
                shown = chosen.only_shown(values)
                drawn = [put_together(part, each) for each in shown] if reference == RANDOM else shown
                tables.setdefault(reference, []).extend(chosen.rows(f"{reference}{suffix}", part, drawn))
            advance()
    found = []
    for reference, aggregates in tables.items():
        rows = _complete(aggregates)
        if reference != RANDOM:
            found += rows
            continue
        values = np.array([row.value for row in rows])  # (rows, DRAWN)
        low, high = np.percentile(values, INTERVAL, axis=1)
        lines = {RANDOM: values.mean(axis=1), f"{RANDOM} {INTERVAL[0]}%": low, f"{RANDOM} {INTERVAL[1]}%": high}
        for line, column in lines.items():
            found += [row._replace(run=f"{line}{suffix}", value=float(one)) for row, one in zip(rows, column, strict=True)]
    return found


def put_together(part: Part, permutations: tandem.MeasureValues) -> tandem.MeasureValues:
    """A measure of `DRAWN` random orders: each core query has the lists of one of the permutations, of each as often."""
    core_ids, cores = core_queries(permutations.query_ids, part)
    values = permutations.values.take(_chosen(part.group, core_ids, cores.tobytes(), permutations.values.shape[1]))
    return replace(permutations, values=values, aggregate=aggregate(tandem.parse(permutations.measure), values))


@functools.lru_cache(maxsize=32)
def _chosen(group: str, core_ids: tuple[str, ...], cores: bytes, permutations: int) -> np.ndarray:
    """(queries, `DRAWN`) int64: where the drawn values stand in those of all queries and permutations, row by row.

    Which permutation the lists of a core query are of is the same in every measure and another in every group: lists of one
    length are shuffled alike in all of them.  cores  (queries,) int64, the core query of each
    """
    equally = np.resize(np.arange(permutations), DRAWN)
    seeds = ([SEED, *f"{group}\t{core_id}".encode()] for core_id in core_ids)
    drawn = [np.random.default_rng(seed).permutation(equally) for seed in seeds]
    core_of = np.frombuffer(cores, np.int64)
    return np.array(drawn, np.int64).reshape(-1, DRAWN)[core_of] + permutations * np.arange(len(core_of))[:, None]


def own_queries(run: Run, part: Part) -> Run:
    """The run's lines for what the part judges."""
    judged = set(part.qrels.query_ids)
    return run if judged.issuperset(run.query_ids) else run.select(judged)


def _complete(aggregates: Sequence[Score]) -> list[Score]:
    """With the average after several groups (over those with a value; `queries` is a sum), and the measures of whole runs."""
    rows = list(aggregates)
    columns = {}
    for row in aggregates:
        columns.setdefault((row.measure, row.mode), []).append(row)
    for (measure, mode), column in columns.items() if len({row.group for row in aggregates}) > 1 else ():
        values = [row.value for row in column if not np.isnan(row.value).any()] or [column[0].value]
        rows.append(Score(column[0].run, AVERAGE, mode, measure, mean(np.array(values)), sum(row.queries for row in column)))
    return list(_with_aggregates(rows))


def _with_aggregates(rows: Sequence[Score]) -> Iterator[Score]:
    """With the measures of whole runs, each behind the first of those that it is computed from, where all are there."""
    values = {(row.group, row.measure): row.value for row in rows}
    aggregates = [spec for spec in registry.measures().values() if spec.over == "aggregate"]
    for row in rows:
        yield row
        name = registry.measure(row.measure).name
        for spec in aggregates:
            parts = [(row.group, row.measure.replace(name, related, 1)) for related in spec.related]
            if name == spec.related[0] and values.keys() >= set(parts):
                value = function_of(spec)(*(values[part] for part in parts))
                yield row._replace(measure=row.measure.replace(name, spec.name, 1), value=value)
