"""A report's tables of what the benchmark's paper prints: its numbers beside those of the runs, and its claims over them."""

from collections.abc import Sequence
from dataclasses import replace

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score
from toolkit.evaluation.comparison.paper_comparison import check_made_for, p_values, paper_of
from toolkit.evaluation.scores.core_queries import BOTH
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.registry.published.comparison import Beside, beside, claims_over, measures_of
from toolkit.registry.published.paper_tests import tested, tests_of
from toolkit.reporting.report.model import ReportModel
from toolkit.reporting.tables.text_table import Block, Cell, Head, Table, score, words

ANSWERS = {True: "holds", False: "does not hold", None: "-"}
PRINTED = 4  # decimals: papers print two, in per cent


def published_table(model: ReportModel, *, missing: str = "worst") -> Table:
    """Every number of the runs that the paper prints of their systems, beside the printed one.

    Raises ToolkitError for a mini, whose scores are never set beside published ones, and where the paper reports none of the
    systems.
    """
    paper, groups = _paper(model)
    printed = {
        facts.name: facts.system.printed[paper] for facts in model.runs if facts.system and paper in facts.system.printed
    }
    if not printed:
        hint = "runs are known by the system that their record names, or by their tags"
        raise ToolkitError(f"the {paper} paper reports none of these systems", hint)
    rows = beside(_scores(model, paper, missing), groups, paper, printed)
    said = _tested(model, paper, rows)
    of_runs = {name: [(row, said.get(place)) for place, row in enumerate(rows) if row.run == name] for name in printed}
    blocks = [_block(name, of_run, bool(said)) for name, of_run in of_runs.items()]
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
    outcomes = zip(places, tested(numbers, p_of), strict=True)
    return {place: outcome.said(rows[place].cell.kind) for place, outcome in outcomes}


def _block(name: str, rows: Sequence[tuple[Beside, str | None]], with_tests: bool) -> Block:
    theirs = dict.fromkeys(f"{row.cell.system} ({row.cell.kind})" if row.cell.kind else row.cell.system for row, _ in rows)
    lines = tuple(_row(row, said or "" if with_tests else None) for row, said in rows)
    return Block(f"{name} beside {', '.join(theirs)}" if rows else name, lines)


def _row(row: Beside, said: str | None = None) -> tuple[Cell, ...]:
    number = " ".join(filter(None, (row.group, row.measure, row.mode)))
    return (
        words(number),
        words(" ".join(filter(None, (row.cell.group, row.cell.mode)))),
        score(row.value, decimals=PRINTED),
        score(row.cell.value, decimals=PRINTED),
        score(row.difference, signed=True, decimals=PRINTED),
        *([] if said is None else [words(said)]),
        words(", ".join(row.tables)),
        words(" ".join(row.cell.inconsistent)),
    )


def claims_table(model: ReportModel, *, missing: str = "worst") -> Table:
    """What the paper claims in general, and whether it holds over the runs.

    Raises ToolkitError for a mini, and for a benchmark whose paper is not known.
    """
    paper, groups = _paper(model)
    systems = {facts.name: facts.system for facts in model.runs}
    outcomes = claims_over(_scores(model, paper, missing), groups, paper, systems)
    rows = [
        (words(claim.claim), words(claim.section), words(ANSWERS[holds]), words(ANSWERS[claim.holds]), words(claim.note))
        for claim, holds in outcomes
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
    return paper_of(_benchmark(model))


def _benchmark(model: ReportModel) -> str | None:
    return model.judgments.reference or model.name if model.benchmark else None


def _scores(model: ReportModel, paper: str, missing: str) -> tuple[Score, ...]:
    """Of all measures that the paper prints, in all modes; what needs modes that are not judged here is left out."""
    judgments = replace(model.judgments, measures=measures_of(paper), shown=())
    return Evaluation(tuple(facts.run for facts in model.runs), judgments).scores(None, missing=missing, ori_unit=BOTH).rows
