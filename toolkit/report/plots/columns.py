"""Which numbers a plot is of: groups and columns of a benchmark's table."""

from __future__ import annotations

from toolkit import registry
from toolkit.evaluate.scoring import AVERAGE, is_ranked
from toolkit.report.model import Key, ReportModel

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
