"""The mean of each kind of systems, as papers speak of kinds."""

import math
from collections.abc import Iterator, Sequence

from toolkit.registry.published.kind_means import part_of
from toolkit.reporting.report.model import ReportModel, RunFacts
from toolkit.reporting.report.significance import by_heading
from toolkit.reporting.tables.report_tables import CHANGE, heads, main_columns, number_of, words
from toolkit.reporting.tables.text_table import Block, Head, Table


def has_kinds(model: ReportModel) -> bool:
    """Whether a kind has several runs: the mean of one is in the main table."""
    return len({facts.heading for facts in model.runs}) < len(model.runs)


def kind_table(model: ReportModel) -> Table:
    """A row a kind, and one for each part that the benchmark's paper divides it into (InfoSearch: fine-tuned and zero-shot
    list-wise rerankers), the mean over its runs in the overall group; a number that a run lacks is left out.
    """
    columns = [column for column in main_columns(model, model.overall) if column[1] != CHANGE]
    rows = [
        (words(kind), words(str(len(runs))), *(number_of(_mean(model, runs, each), each[0]) for each in columns))
        for kind, runs in _kinds(model)
    ]
    made = (Head("", "kind of system", False), Head("", "runs", False), *heads(columns, model))
    title = f"{model.name}: means of kinds"
    return Table(
        f"{model.name}.kinds", title, "The mean over the runs of each kind.", made, (Block("", tuple(rows)),), kind="kinds"
    )


def _kinds(model: ReportModel) -> Iterator[tuple[str, list[RunFacts]]]:
    """Each kind with its runs, followed by its parts."""
    for kind, runs in by_heading(model).items():
        yield kind, runs
        parts: dict[str, list[RunFacts]] = {}
        for facts in runs:
            parts.setdefault(_part(model, facts), []).append(facts)
        yield from ((f"{kind}, {part}", own) for part, own in parts.items() if part)


def _part(model: ReportModel, facts: RunFacts) -> str:
    paper = model.benchmark.name.removesuffix("-mini") if model.benchmark else ""
    printed = facts.system.printed.get(paper, {}) if facts.system else {}
    name = printed.get("name", "")
    return part_of(paper, printed.get("kind", ""), name) if isinstance(name, str) else ""


def _mean(model: ReportModel, runs: Sequence[RunFacts], column: tuple[str, str]) -> float | None:
    found = [facts.value(*column, model.overall) for facts in runs]
    values = [value for value in found if value is not None and not math.isnan(value)]
    return math.fsum(values) / len(values) if values else None
