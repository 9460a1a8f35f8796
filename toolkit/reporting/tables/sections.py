"""The tables of a report: all of a benchmark's, those by kind of system, and one over all benchmarks."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolkit import registry
from toolkit.metrics.evaluation import PAIRED
from toolkit.registry.published.kind_means import part_of
from toolkit.reporting.report.model import ReportModel, RunFacts
from toolkit.reporting.report.run_facts import headings
from toolkit.reporting.report.significance import by_heading
from toolkit.reporting.tables.paper_section import claims_table, published_table
from toolkit.reporting.tables.report_tables import (
    CHANGE,
    cost,
    coverage,
    group_tables,
    heads,
    main_columns,
    main_table,
    measures_table,
    number_of,
    pair_tables,
    ranks,
    references,
    warning,
    words,
)
from toolkit.reporting.tables.text_table import Block, Cell, Head, Table, score


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


@dataclass(frozen=True, eq=False)
class Section:
    """The tables of one benchmark: the main one, one a group, one of all measures, what stands behind them, and the references,
    if it has modes.
    """

    model: ReportModel
    main: Table
    groups: tuple[Table, ...]
    measures: Table
    more: tuple[Table, ...]
    references: tuple[Table, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All of them, in the order of a report."""
        return (self.main, *self.groups, self.measures, *self.more, *self.references)


def section(model: ReportModel, *, missing: str = "worst", published: bool = False, claims: bool = False) -> Section:
    """All tables of a benchmark's runs; published, claims  also those of `toolkit.reporting.tables.paper_section`."""
    more = [published_table(model, missing=missing)] if published else []
    more += [claims_table(model, missing=missing)] if claims else []
    more += [ranks(model), *pair_tables(model)] if len(model.runs) > 1 else []
    more += [kind_table(model)] if has_kinds(model) else []
    more += [cost(model), coverage(model)]
    others = [references(model)] if any(facts.references for facts in model.runs) else []
    return Section(model, main_table(model), tuple(group_tables(model)), measures_table(model), tuple(more), tuple(others))


def overview(benchmarks: Sequence[ReportModel]) -> Table:
    """Each system over all benchmarks; runs of one system that stand beside each other in a benchmark keep their own rows."""
    columns = [(model, column) for model in benchmarks for column in main_columns(model, model.overall) if column[1] != CHANGE]
    runs: dict[str, dict[str, dict[str, RunFacts]]] = {}  # heading -> row -> benchmark -> run
    for model in benchmarks:
        times = Counter(facts.called for facts in model.runs)
        for facts in model.runs:
            row = facts.called if times[facts.called] == 1 else facts.name
            runs.setdefault(facts.heading, {}).setdefault(row, {})[model.name] = facts
    blocks = []
    for heading in sorted(runs, key=list(headings()).index):
        rows = [
            (words(name), *(_overall(of_benchmark.get(model.name), model, column) for model, column in columns))
            for name, of_benchmark in runs[heading].items()
        ]
        blocks.append(Block(heading, tuple(rows)))
    above = [
        Head(model.name, " ".join(filter(None, (measure, mode.removeprefix(PAIRED)))), note=registry.measure(measure).title)
        for model, (measure, mode) in columns
    ]
    caption = "The average over groups, or the only one. Scores are fractions; those of two benchmarks have nothing in common."
    warnings = " ".join(filter(None, map(warning, benchmarks)))
    head_row = (Head("", "system", False), *above)
    return Table("benchmarks", "Every system over all benchmarks", caption, head_row, tuple(blocks), warnings, "overview")


def _overall(facts: RunFacts | None, model: ReportModel, column: tuple[str, str]) -> Cell:
    return score(facts.value(*column, model.overall) if facts else None)
