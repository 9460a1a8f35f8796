"""Which number a benchmark is about, and which run leads by it."""

import math

from toolkit import registry
from toolkit.evaluation.comparison.primary import leading_number
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.reporting.report.model import ReportModel


def leading(model: ReportModel) -> tuple[str, str]:
    """Measure and mode of the number that a comparison is decided by where nobody names another."""
    return leading_number(model.columns(model.overall), model.judgments.modes)


def leader(model: ReportModel) -> list[str]:
    """The runs with the best value of the leading number; several where they tie, none where nobody has one."""
    measure, mode = leading(model)
    values = {facts.name: facts.value(measure, mode, model.overall) for facts in model.runs}
    known = {name: value for name, value in values.items() if value is not None and not math.isnan(value)}
    if not known:
        return []
    top = (min if registry.measure(measure).direction == "lower" else max)(known.values())
    return [name for name, value in known.items() if value == top]


def leading_columns(model: ReportModel) -> list[tuple[str, str]]:
    """The columns that stand for a benchmark: its first measure, and those over pairs of modes or groups of queries."""
    columns = model.columns(model.overall)
    return [
        column
        for column in columns
        if is_ranked(*column, model.judgments.modes)
        and (column[0] == columns[0][0] or registry.measure(column[0]).over in ("paired", "group"))
    ]
