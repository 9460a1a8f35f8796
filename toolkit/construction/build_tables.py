"""What `build status` and `build show` print."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolkit.construction.build_config import BuildConfig
from toolkit.construction.step_files import Found, StepState
from toolkit.core.system.yaml_json import plain
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table, labels, value_of

COLUMNS = (
    *labels("step"),
    *map(Column, ("entered", "left", "rejected", "waiting")),
    Column("requests", priority=1),
    Column("cached", priority=2),
    Column("tokens", priority=1),
    Column("cost", priority=1),
    Column("state", prose=True),
)
PAPER = "paper"


def status_rows(config: BuildConfig, states: Sequence[StepState]) -> list[dict[str, Any]]:
    """The steps as data: the columns of the table, with `rejected` as why -> how many."""
    rows = []
    for state in states:
        names, cells = (column.name for column in COLUMNS), map(value_of, _row(config, state))
        row = dict(zip(names, cells, strict=True))
        rows.append({**row, "rejected": dict(state.record.rejected) if state.record else None})
    return rows


def status_tables(config: BuildConfig, states: Sequence[StepState]) -> list[Table]:
    """The steps with what came in, what went out and why, what was asked; the funnel; further counts of the steps."""
    steps = ((_row(config, state), state.record.rejected if state.record else {}) for state in states)
    was_asked = any(state.record and state.record.asked for state in states)
    notes = ["tokens and cost are those of all answers, cached ones too"] * was_asked
    tables = [with_reasons(COLUMNS, steps, notes), *_funnel(config, states)]
    for state in states:
        for name, counts in (state.record.figures if state.record else {}).items():
            total = sum(counts.values())
            rows = [(value, count, Number(count / total if total else 0.0, share=True)) for value, count in counts.items()]
            tables.append(Table([Column(f"{state.step.name}: {name}", label=True), Column("items"), Column("share")], rows))
    return tables


def with_reasons(
    columns: Sequence[Column], steps: Iterable[tuple[Sequence[Cell], Mapping[str, int]]], notes: Sequence[str] = ()
) -> Table:
    """A table of steps, below each why how many items were rejected; their number is in the fourth column.

    steps  the row of each, and why -> how many
    """
    rows: list[Sequence[Cell]] = []
    reasons: set[int] = set()
    for row, rejected in steps:
        rows.append(row)
        for why, count in sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0])):
            reasons.add(len(rows))
            rows.append((why, None, None, count, *[None] * (len(columns) - 4)))
    return Table(columns, rows, notes, below=frozenset(reasons))


def _row(config: BuildConfig, state: StepState) -> Sequence[Cell]:
    record = state.record
    if record is None:
        return (state.step.name, *[None] * (len(COLUMNS) - 2), state.state)
    asked = record.asked.values()
    requests, cached = sum(each.requests for each in asked), sum(each.cached for each in asked)
    counts = (record.entered, record.left, sum(record.rejected.values()), record.waiting)
    priced = [(config.models[name], each) for name, each in record.asked.items() if name in config.models]
    costs = [model.cost(each.prompt_tokens, each.completion_tokens) for model, each in priced]
    known = [cost for cost in costs if cost is not None]  # no price in build.yaml, no cost
    cost = Number(sum(known), decimals=2) if known and len(known) == len(costs) else None
    spent = (requests, cached, record.tokens, cost) if record.asked else (None,) * 4
    return (state.step.name, *counts, *spent, state.state)


def _funnel(config: BuildConfig, states: Sequence[StepState]) -> Iterator[Table]:
    """What is left after the steps that the paper counts, beside its numbers."""
    printed: Mapping[str, int] = getattr(config.module, "FUNNEL", {})
    left = {state.step.name: state.record.left for state in states if state.record and state.step.name in printed}
    if not left:
        return
    parts = (Column(name, above=above) for above in ("here", PAPER) for name in ("items", "share"))
    rows: list[Sequence[Cell]] = []
    first = next((left[name], printed[name]) for name in printed if name in left)
    for name in (name for name in printed if name in left):
        counts = left[name], printed[name]
        shares = [Number(count / of, share=True) if rows and of else None for count, of in zip(counts, first, strict=True)]
        rows.append((name, counts[0], shares[0], counts[1], shares[1]))
    yield Table([*labels("left after"), *parts], rows, ["share: of what the first row has"])


def history_lines(found: Sequence[Found]) -> Iterator[str]:
    """An item's history, step after step: what it holds that its sources do not, who made it, and why it was rejected."""
    known: dict[str, Mapping[str, Any]] = {}
    for step, relation, item in found:
        mark = "" if relation == "itself" else f" ({relation})"
        state = f", rejected: {item.rejected}" if item.rejected else ", waiting for people" if item.waiting else ""
        yield f"{step}: {item.id}{mark}{state}"
        before = {name: value for source in item.sources for name, value in known.get(source, {}).items()}
        for name, value in item.fields.items():
            if name not in before or before[name] != value:
                yield f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for row in item.made:
            prompt = f", prompt {row['prompt']} ({row.get('sha256', '')[:12]})" if row.get("prompt") else ""
            yield f"  {row['role']} by {row['by']}{prompt}"
        known[item.id] = item.fields


def history_rows(found: Sequence[Found]) -> list[dict[str, Any]]:
    """The same as data."""
    return [plain({"step": step, "relation": relation, **vars(item)}) for step, relation, item in found]
