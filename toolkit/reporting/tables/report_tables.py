"""The tables of a report: systems, groups, all measures, references, cost, coverage, and a system over all benchmarks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from toolkit import registry
from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.scores import SIGNIFICANT, in_mode, shown_measure
from toolkit.evaluation.comparison.references import BLIND, RANDOM
from toolkit.evaluation.scores.scoring import INTERVAL, is_ranked
from toolkit.metrics.evaluation import PAIRED
from toolkit.reporting.report.differences import against, by_heading, marks
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, known_values, leading, leading_columns
from toolkit.reporting.tables.rank_table import Ranking, ranked
from toolkit.reporting.tables.text_table import (
    BEST,
    DAGGER,
    DECIMALS,
    KIND,
    OF_KIND,
    SIGNS,
    WORSE,
    Block,
    Cell,
    Head,
    Table,
    figure,
    score,
)

RANK = "rank"  # the unit of a measure that is a mean of ranks
CHANGE = "change"  # instructed minus base

TESTED = (
    "Significant: p below {significant}, Student's t over core queries, after Holm's correction over {runs} compared; tested "
    "is {number} on average alone, the number that decides here."
)
RANKED = (
    "one below the systems that are significantly better, one above those that are significantly worse, of all pairs after "
    "Holm's correction; which are told apart says the table of pairs"
)
RANKS = f"Rank: {RANKED}. Behind: the best score minus its own."
MATRIX = 20  # systems whose pairs are shown


def warning(model: ReportModel) -> str:
    """That a mini is one; empty for others."""
    mini = model.benchmark is not None and model.benchmark.mini
    return f"{model.name} was written for this project: no score on it is comparable with a published one." if mini else ""


def main_table(model: ReportModel) -> Table:
    """The benchmark's table over systems, the best first: the average over groups, or the only one, in the columns that say
    most, with the ranks that tests leave each system.
    """
    title = f"{model.name}: average over {len(model.groups) - 1} groups" if len(model.groups) > 1 else model.name
    by = Key(model.overall, *leading(model))
    found = ranked(model).get(by) if len(model.systems) > 1 else None
    possible = {each.name: Cell(each.ranks, float(each.first)) for each in found.systems} if found else {}
    table = _scores(model, model.overall, "main", title, main_columns(model, model.overall))
    if not possible:
        return table
    head = Head("", "rank", note=f"by {shown_measure(by.measure)}; {RANKED}", better="lower")
    rows = tuple((*row[:2], possible.get(row[0].text, Cell("control")), *row[2:]) for row in table.rows)
    heads = (*table.heads[:2], head, *table.heads[2:])
    return replace(table, heads=heads, blocks=(Block("", rows),))


def group_tables(model: ReportModel) -> list[Table]:
    """The same for each group (dimension, language, data set), where there are several."""
    return [
        _scores(model, group, "groups", f"{model.name}: {group}", main_columns(model, group))
        for group in model.groups
        if group != model.overall
    ]


def measures_table(model: ReportModel) -> Table:
    """Every number of the average over groups, or of the only one."""
    return _scores(model, model.overall, "measures", f"{model.name}: all measures", model.columns(model.overall))


def main_columns(model: ReportModel, group: str) -> list[tuple[str, str]]:
    """The columns of a group that say most: where there are modes, the first measure in the base and the instructed mode and
    their difference, WISE or else p-MRR, SICR, and Robustness where it is not the first measure once more.
    """
    columns = list(model.columns(group))
    modes = model.judgments.modes
    if not modes.of(BASE):
        return columns
    measure = next((measure for measure, mode in columns if mode != PAIRED), "")
    pair = [(measure, mode) for mode in modes.of(BASE, INSTRUCTED) if (measure, mode) in columns]
    chosen = [*pair, (measure, CHANGE)] if len(pair) == 2 else pair
    paired = {registry.measure(column[0]).name: column for column in columns if column[1] == PAIRED}
    chosen += [paired[name] for name in ("WISE", "pMRR") if name in paired][:1]
    chosen += [paired[name] for name in ("SICR",) if name in paired]
    # of the base mode, in which the instructions of a core query are one query, it is the first measure
    own = modes.of(INSTRUCTED)
    chosen += [column for column in columns if registry.measure(column[0]).name == "Robustness" and column[1] in own]
    return chosen or columns


def _scores(model: ReportModel, group: str, kind: str, title: str, columns: Sequence[tuple[str, str]]) -> Table:
    # the runs by the leading number, those without one last, equals in the report's order; each followed by its controls
    key = Key(group, *leading(model))
    down = 1 if registry.measure(key.measure).direction == "lower" else -1
    known = known_values(model.systems, key)
    ordered = sorted(model.systems, key=lambda facts: down * known.get(facts.name, down * math.inf))
    places = {facts.name: place for place, facts in enumerate(ordered)}
    places |= {name: places[beside] for name, (_, beside) in model.controls.items()}
    marked = marks(model, group)
    rows = [
        (Cell(facts.name), Cell(facts.heading), *(_cell(model, facts, Key(group, *column), marked) for column in columns))
        for facts in sorted(model.runs, key=lambda facts: (places[facts.name], facts.name in model.controls))
    ]
    others = len(model.runs) - 1
    runs = f"{others} run{'s' * (others != 1)}"
    tested = TESTED.format(significant=SIGNIFICANT, runs=runs, number=_title(*leading(model)))
    meanings = {
        BEST: "the best",
        OF_KIND: "the best of its kind",
        DAGGER: f"significantly better than {model.baseline}",
        WORSE: f"significantly worse than {model.baseline}",
    }
    return Table(
        f"{model.name}.{'measures' if kind == 'measures' else group}",
        title,
        tested if kind == "main" and others else "",
        (Head("", "system", False), Head("", KIND, False), *heads(columns, model)),
        (Block("", tuple(rows)),),
        warning(model),
        kind,
        meanings,
        group,
    )


def _title(measure: str, mode: str) -> str:
    return in_mode(shown_measure(measure), mode)


def _cell(model: ReportModel, facts: RunFacts, key: Key, marked: Mapping[tuple[str, Key], str]) -> Cell:
    if key.mode == CHANGE:
        pair = [Key(key.group, key.measure, mode) for mode in model.judgments.modes.of(BASE, INSTRUCTED)]
        values = [facts.value(each.measure, each.mode, each.group) for each in pair]
        blind = [facts.reference(BLIND, each) for each in pair]
        cell = score(None if None in values else values[1] - values[0], signed=True)
        return cell if None in blind else replace(cell, blind=blind[1] - blind[0])
    number = number_of(facts.value(key.measure, key.mode, key.group), key.measure, marked.get((facts.name, key), ""))
    bounds = [facts.reference(f"{RANDOM} {bound:g}%", key) for bound in INTERVAL]
    return replace(
        number,
        mark=" ".join(filter(None, (number.mark, against(model, model.baseline, facts.name, key)))),
        blind=facts.reference(BLIND, key),
        band=None if None in bounds else (bounds[0], bounds[1]),
    )


def number_of(value: float | None, measure: str, mark: str = "") -> Cell:
    """A number of a measure: scores to three decimals, ranks to one."""
    of_ranks = registry.measure(measure).unit == RANK
    return score(value, mark, share=not of_ranks, decimals=1 if of_ranks else DECIMALS)


def heads(columns: Iterable[tuple[str, str]], model: ReportModel) -> list[Head]:
    """The columns of measures; modes stand below their measure."""
    made = []
    for measure, mode in columns:
        spec = registry.measure(measure)
        ranked_here = mode != CHANGE and is_ranked(measure, mode, model.judgments.modes)
        pair = " \u2212 ".join(reversed(model.judgments.modes.of(BASE, INSTRUCTED)))
        name = {PAIRED: "", CHANGE: pair}.get(mode, mode)
        better = spec.direction if ranked_here else ""
        made.append(Head(measure, name, True, spec.title or measure, (measure, mode), better))
    return made


def references(model: ReportModel) -> Table:
    """What other orders of each run's own lists would score: the scale on which its numbers are to be read."""
    group = model.overall
    columns = model.columns(group)
    blocks = []
    for facts in model.runs:
        orders = {"its own": facts.scores, **facts.references} if facts.references else {}
        rows = tuple(_row(name, scores, group, columns) for name, scores in orders.items())
        blocks += [Block(facts.name, rows)] if rows else []
    low, high = INTERVAL
    caption = (
        "Each run's own lists of the original mode in other orders: blind to instructions, at random (with the bounds between "
        f"which {high - low:g} % of the permutations lie), as the instructions want (oracle), and the opposite (reversed)."
    )
    title = f"{model.name}: references"
    head_row = (Head("", "order", False), *heads(columns, model))
    return Table(f"{model.name}.references", title, caption, head_row, tuple(blocks), warning(model), "references")


def _row(name: str, rows: Iterable, group: str, columns: Sequence[tuple[str, str]]) -> tuple[Cell, ...]:
    values = {(row.measure, row.mode): row.value for row in rows if row.group == group}
    return (Cell(name), *(number_of(values.get(column), column[0]) for column in columns))


def ranks(model: ReportModel) -> Table:
    """The systems in the order of their scores, with the ranks that each may have, measure by measure."""
    columns = [Head("", "rank", False), Head("", "score"), Head("", "behind")]
    blocks = []
    for key, found in ranked(model).items():
        rows = ((Cell(each.name), Cell(each.ranks), score(each.score), score(each.behind)) for each in found.systems)
        blocks.append(Block(" ".join(filter(None, (key.measure, key.mode.replace(PAIRED, "")))), tuple(rows)))
    head_row = (Head("", "system", False), *columns)
    return Table(f"{model.name}.ranks", f"{model.name}: ranks", RANKS, head_row, tuple(blocks), warning(model), "ranks")


def pair_tables(model: ReportModel) -> list[Table]:
    """Of the leading number every pair of systems, best first: how far the row is ahead of the column, and if that is more than
    chance. None where the number cannot be tested.
    """
    found = ranked(model).get(Key(model.overall, *leading(model)))
    if not found:
        return []
    systems = found.systems[:MATRIX]
    sign = 1 if found.pairs.higher else -1
    rows = []
    for row, each in enumerate(systems):
        cells = [_pair(found, row, column, sign) if row != column else Cell("\u00b7") for column in range(len(systems))]
        rows.append((Cell(f"{row + 1} {each.name}"), *cells))
    tested = int((~np.isnan(found.pairs.p)).sum()) // 2
    caption = (
        f"By {_title(*leading(model))}, on average: how far the system of the row is better than that of the column. "
        f"{SIGNS[DAGGER]} told apart: p below {SIGNIFICANT} over core queries, after Holm's correction over {tested:,} pairs."
    )
    caption += f" The {MATRIX} best of {len(found.systems)} are shown." if len(found.systems) > MATRIX else ""
    head_row = (Head("", "system", False), *(Head("", str(place + 1)) for place in range(len(systems))))
    title = f"{model.name}: which systems are told apart"
    return [Table(f"{model.name}.pairs", title, caption, head_row, (Block("", tuple(rows)),), warning(model), "pairs")]


def _pair(found: Ranking, row: int, column: int, sign: int) -> Cell:
    mark = f" {SIGNS[DAGGER]}" if found.told_apart(row, column) else ""
    return score(sign * found.pairs.difference[row, column], signed=True, suffix=mark)


def cost(model: ReportModel) -> Table:
    """Quality beside what it took, as far as record and registry say."""
    columns = leading_columns(model)
    quality = {facts.name: _row(facts.name, facts.scores, model.overall, columns) for facts in model.runs}
    cost_heads = (
        Head("", "seconds", note="wall time of the command that made the run, loading included"),
        Head("", "ms a query", note="the same over the queries of the run"),
        Head("", "tokens", note="of prompts and answers, as the server counts them"),
        Head("", "memory, GB", note="the most that the process held; not what a GPU held"),
        Head("", "parameters, M", note="of the checkpoint, in millions"),
    )
    blocks = [
        Block(heading, tuple((*quality[facts.name], *_cost(facts)) for facts in runs))
        for heading, runs in by_heading(model).items()
    ]
    caption = (
        "From the record beside each run and the registry; - where nothing is recorded. Times are of the last command alone: "
        "nothing of candidates or runs that went into it, and of the machine that the record names: others take other times."
    )
    title = f"{model.name}: cost beside quality"
    head_row = (Head("", "system", False), *heads(columns, model), *cost_heads)
    return Table(f"{model.name}.cost", title, caption, head_row, tuple(blocks), warning(model), "cost")


def _cost(facts: RunFacts) -> tuple[Cell, ...]:
    cost, queries = facts.cost, len(facts.run.query_ids)
    return (
        figure(cost.seconds, "{:,.1f}"),
        figure(None if cost.seconds is None else 1000 * cost.seconds / queries, "{:,.1f}"),
        figure(cost.tokens, "{:,}"),
        figure(None if cost.memory is None else cost.memory / 1e9, "{:.2f}"),
        figure(None if cost.parameters is None else cost.parameters / 1e6, "{:,.1f}"),
    )


def coverage(model: ReportModel) -> Table:
    """How much of each run is judged, and how deep it is."""
    judged = set(model.judgments.query_ids)
    modes = list(dict.fromkeys(row.mode for facts in model.runs for row in facts.judged))
    rows = []
    for facts in model.runs:
        present = len(judged.intersection(facts.run.query_ids))
        depth = facts.run.lengths
        values = {row.mode: row.value for row in facts.judged if row.group == model.overall}
        counts = (len(judged), present, len(judged) - present, int(depth.min()), int(depth.max()))
        cells = [*(figure(count, "{:,}") for count in counts), *(score(values.get(mode)) for mode in modes)]
        rows.append((Cell(facts.name), *cells))
    named = ("queries judged", "in the run", "absent", "fewest documents", "most documents")
    columns = [Head("", name) for name in named] + [Head("Judged@10", mode) for mode in modes]
    caption = (
        "Judged@10: the share of the ten best documents that somebody judged; the others count as not relevant. "
        "Absent queries count as 0 unless they are skipped."
    )
    title = f"{model.name}: how much is judged"
    head_row = (Head("", "system", False), *columns)
    return Table(f"{model.name}.coverage", title, caption, head_row, (Block("", tuple(rows)),), kind="coverage")
