"""Which numbers a plot is of: groups and columns of a benchmark's table."""

import functools
from collections.abc import Mapping, Sequence

from toolkit import registry
from toolkit.core.modes import INSTRUCTED
from toolkit.core.scores import shown_measure
from toolkit.evaluation.scores.judgments import Part
from toolkit.evaluation.scores.scoring import AVERAGE, is_ranked, own_queries
from toolkit.metrics.evaluation import PAIRED
from toolkit.metrics.families.pairs import Pairs, pairs
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, known_values, leading

Column = tuple[str, str]  # measure, mode


def own_groups(model: ReportModel) -> list[str]:
    """Dimensions, languages or data sets, without their average."""
    return [group for group in model.groups if group != AVERAGE]


def over(measure: str) -> str:
    """What one value of a measure is over: `paired`, `mode`, `group`; empty where it is not ours."""
    return registry.measure(measure).over


def paired(model: ReportModel) -> list[Column]:
    """Measures over pairs of modes, whose values are means over queries: WISE, SICR, p-MRR."""
    return [column for column in model.columns() if over(column[0]) == "paired" and is_ranked(*column, model.judgments.modes)]


def by_query(model: ReportModel, column: Column) -> bool:
    """Whether some run has its values, query by query."""
    return any(key[1:] == column for facts in model.runs for key in facts.values)


def keys(model: ReportModel, group: str, column: Column) -> list[Key]:
    """The numbers that a group's number is the mean of: itself, or those of all groups."""
    return [Key(each, *column) for each in (own_groups(model) if group == AVERAGE else [group])]


def following(model: ReportModel) -> Column | None:
    """The leading number, where it is over pairs of modes and known query by query: how well instructions are followed."""
    column = leading(model)
    return column if over(column[0]) == "paired" and by_query(model, column) else None


def relevance(model: ReportModel) -> Column:
    """The benchmark's first measure: under the instructions where the table has it, or else in its first mode."""
    columns = model.columns(model.overall)
    instructed = model.judgments.modes.of(INSTRUCTED)
    return next((column for column in columns if column[0] == columns[0][0] and column[1] in instructed), columns[0])


def argued(model: ReportModel) -> list[Column]:
    """The two numbers that a report argues with: relevance and following; without modes, the first two of its table."""
    ranked = [column for column in model.columns(model.overall) if is_ranked(*column, model.judgments.modes)]
    wanted = [relevance(model), following(model) or next((column for column in ranked if column != relevance(model)), None)]
    return [column for column in wanted if column in ranked and by_query(model, column)]


def best_runs(model: ReportModel, column: Column, number: int) -> list[RunFacts]:
    """The runs with a value of a number, best first, and no more than so many of them."""
    sign = 1 if registry.measure(column[0]).direction == "lower" else -1
    values = known_values(model.runs, Key(model.overall, *column))
    return sorted((facts for facts in model.runs if facts.name in values), key=lambda facts: sign * values[facts.name])[:number]


def shown_column(column: Column) -> str:
    """A number in words, as a page writes it: measure, and its mode where it has one."""
    return " ".join(filter(None, (shown_measure(column[0]), column[1].removeprefix(PAIRED))))


@functools.lru_cache(maxsize=2)  # several figures and their numbers ask for it
def followed(model: ReportModel) -> Mapping[str, Sequence[tuple[Part, Pairs]]]:
    """Run -> group by group, its judged documents followed through the modes."""
    return {
        facts.name: [(part, pairs(own_queries(facts.run, part), part.qrels)) for part in model.judgments.parts]
        for facts in model.runs
    }
