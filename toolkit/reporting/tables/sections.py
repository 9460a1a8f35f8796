"""The tables of a report: all of a benchmark's, those by kind of system, and one over all benchmarks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score
from toolkit.core.tables.aligned_table import PLAIN, TableStyle
from toolkit.evaluation.comparison.paper_comparison import as_printed, check_made_for, p_values, paper_of
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.metrics.evaluation import PAIRED
from toolkit.registry.published.comparison import Beside, beside, claims_over, tested, tests_of
from toolkit.registry.published.kind_means import part_of
from toolkit.registry.published.paper_tables import row_of
from toolkit.reporting.report.differences import by_heading
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, known_values
from toolkit.reporting.report.run_facts import headings
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
)
from toolkit.reporting.tables.text_table import Block, Cell, Head, Table, score, styled


def has_kinds(model: ReportModel) -> bool:
    """Whether a kind has several runs: the mean of one is in the main table."""
    return len({facts.heading for facts in model.systems}) < len(model.systems)


def kind_table(model: ReportModel) -> Table:
    """A row a kind, and one for each part that the benchmark's paper divides it into (InfoSearch: fine-tuned and zero-shot
    list-wise rerankers), the mean over its runs in the overall group; a number that a run lacks is left out.
    """
    columns = [column for column in main_columns(model, model.overall) if column[1] != CHANGE]
    paper = model.benchmark.name.removesuffix("-mini") if model.benchmark else ""
    kinds: dict[str, list[RunFacts]] = {}  # each followed by its parts
    for kind, runs in by_heading(model).items():
        kinds[kind] = runs
        for facts in runs:
            printed = row_of(paper, facts.system)
            name = printed.get("name", "")
            if part := part_of(paper, printed.get("kind", ""), name) if isinstance(name, str) else "":
                kinds.setdefault(f"{kind}, {part}", []).append(facts)
    rows = []
    for kind, runs in kinds.items():
        known = {each: known_values(runs, Key(model.overall, *each)).values() for each in columns}
        means = (number_of(fmean(values) if values else None, each[0]) for each, values in known.items())
        rows.append((Cell(kind), Cell(str(len(runs))), *means))
    made = (Head("", "kind of system", False), Head("", "runs", False), *heads(columns, model))
    title = f"{model.name}: means of kinds"
    caption = "The mean over the runs of each kind."
    return Table(f"{model.name}.kinds", title, caption, made, (Block("", tuple(rows)),), kind="kinds")


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


def section(
    model: ReportModel, *, missing: str = "worst", published: bool = False, claims: bool = False, style: TableStyle = PLAIN
) -> Section:
    """All tables of a benchmark's runs; published, claims  also `published_table` and `claims_table`."""
    more = [published_table(model, missing=missing)] if published else []
    more += [claims_table(model, missing=missing)] if claims else []
    more += [ranks(model), *pair_tables(model)] if len(model.systems) > 1 else []
    more += [kind_table(model)] if has_kinds(model) else []
    more += [cost(model), coverage(model)]
    others = [references(model)] if any(facts.references for facts in model.runs) else []
    main, measures = (styled(made(model), style) for made in (main_table, measures_table))
    groups, more, others = (tuple(styled(each, style) for each in tables) for tables in (group_tables(model), more, others))
    return Section(model, main, groups, measures, more, others)


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
        rows = []
        for name, of_benchmark in runs[heading].items():
            found = ((of_benchmark.get(model.name), (*column, model.overall)) for model, column in columns)
            rows.append((Cell(name), *(score(facts.value(*place) if facts else None) for facts, place in found)))
        blocks.append(Block(heading, tuple(rows)))
    above = [
        Head(model.name, " ".join(filter(None, (measure, mode.removeprefix(PAIRED)))), note=registry.measure(measure).title)
        for model, (measure, mode) in columns
    ]
    caption = "The average over groups, or the only one. Scores are fractions; those of two benchmarks have nothing in common."
    warnings = " ".join(filter(None, map(warning, benchmarks)))
    head_row = (Head("", "system", False), *above)
    return Table("benchmarks", "Every system over all benchmarks", caption, head_row, tuple(blocks), warnings, "overview")


ANSWERS = {True: "holds", False: "does not hold", None: "-"}
PRINTED = 4  # decimals: papers print two, in per cent


def published_table(model: ReportModel, *, missing: str = "worst") -> Table:
    """Every number of the runs that the paper prints of their systems, beside the printed one.

    Raises ToolkitError for a mini, whose scores are never set beside published ones, and where the paper reports none of the
    systems.
    """
    paper, groups = _paper(model)
    printed = {facts.name: row for facts in model.runs if (row := row_of(paper, facts.system))}
    if not printed:
        hint = "runs are known by the system that their record names, or by their tags"
        raise ToolkitError(f"the {paper} paper reports none of these systems", hint)
    rows = beside(_scores(model, paper, missing), groups, paper, printed)
    said = _tested(model, paper, rows)
    blocks = []
    for name in printed:
        own = {place: row for place, row in enumerate(rows) if row.run == name}
        theirs = dict.fromkeys(each.cell.system + (f" ({each.cell.kind})" if each.cell.kind else "") for each in own.values())
        lines = tuple(_row(row, said.get(place, "") if said else None) for place, row in own.items())
        blocks.append(Block(f"{name} beside {', '.join(theirs)}" if own else name, lines))
    heads = (
        *(Head("", name, False) for name in ("number", "the paper's row")),
        *(Head("", name) for name in ("this run", "published", "difference")),
        *([Head("", "by the paper's test", False)] if said else []),
        *(Head("", name, False) for name in ("table", "known inconsistencies")),
    )
    without = [facts.name for facts in model.runs if facts.name not in printed]
    caption = f"Published numbers of the {paper} paper, brought to fractions; differences are this run minus the paper."
    caption += f" The paper does not report {', '.join(without)}." if without else ""
    return Table(f"{model.name}.published", f"{model.name}: beside the paper", caption, heads, tuple(blocks), kind="published")


def _tested(model: ReportModel, paper: str, rows: Sequence[Beside]) -> dict[int, str]:
    """The place of a row -> what the paper's own test says of the run beside the best of its kind, where it has one."""
    tests = tests_of(paper)
    places = [place for place, row in enumerate(rows) if row.cell.measure in tests]
    found = [rows[place] for place in places]
    runs = {facts.name: facts.run for facts in model.runs}
    p = p_values(model.judgments, runs.__getitem__, tests)

    def p_of(best: int, other: int) -> float:
        row = found[other]
        return p(found[best].run, row.run, row.measure, row.group, row.mode)

    numbers = [((row.tables, row.cell.kind, row.cell.group, row.cell.mode, row.measure), row.run, row.value) for row in found]
    return {place: outcome.said(rows[place].cell.kind) for place, outcome in zip(places, tested(numbers, p_of), strict=True)}


def _row(row: Beside, said: str | None = None) -> tuple[Cell, ...]:
    return (
        Cell(" ".join(filter(None, (row.group, row.measure, row.mode)))),
        Cell(" ".join(filter(None, (row.cell.group, row.cell.mode)))),
        score(row.value, decimals=PRINTED),
        score(row.cell.value, decimals=PRINTED),
        score(row.difference, signed=True, decimals=PRINTED),
        *([] if said is None else [Cell(said)]),
        Cell(", ".join(row.tables)),
        Cell(" ".join(row.cell.inconsistent)),
    )


def claims_table(model: ReportModel, *, missing: str = "worst") -> Table:
    """What the paper claims in general, and whether it holds over the runs.

    Raises ToolkitError for a mini, and for a benchmark whose paper is not known.
    """
    paper, groups = _paper(model)
    systems = {facts.name: facts.system for facts in model.runs}
    rows = [
        (Cell(claim.claim), Cell(claim.section), Cell(ANSWERS[holds]), Cell(ANSWERS[claim.holds]), Cell(claim.note))
        for claim, holds in claims_over(_scores(model, paper, missing), groups, paper, systems)
    ]
    heads = tuple(Head("", name, False) for name in ("claim", "section", "over these runs", "over the paper's tables", "note"))
    caption = f"Claims of the {paper} paper in our words; - where the runs or scores that they are about are not here."
    block = Block("", tuple(rows))
    return Table(f"{model.name}.claims", f"{model.name}: the paper's claims", caption, heads, (block,), kind="claims")


def _paper(model: ReportModel) -> tuple[str, tuple[str, ...]]:
    """The paper and its groups; ToolkitError for a mini, and for a run whose record says that it is of one."""
    for facts in model.runs:
        for record in facts.records:
            check_made_for(record)
    return paper_of(model.judgments.reference or model.name if model.benchmark else None)


def _scores(model: ReportModel, paper: str, missing: str) -> tuple[Score, ...]:
    """Of all measures that the paper prints, in all modes; what needs modes that are not judged here is left out."""
    return as_printed(Evaluation(tuple(facts.run for facts in model.runs), model.judgments), paper, None, missing).rows
