"""The page of the docs for a benchmark: `scripts/render_docs` writes it from the registry."""

from __future__ import annotations

from collections.abc import Iterator

from toolkit import published
from toolkit.benchmarks.group_data import part_name
from toolkit.core.specs import BenchmarkSpec

NOT_SHOWN = ("name", "aliases", "counts", "revision", "repository", "former", "subset")
MINI = "Written for this project: **no score on it is comparable with a published one.**"


def page(spec: BenchmarkSpec) -> str:
    """A benchmark in Markdown: source, citation, licence, groups and counts, names, what its paper prints of its sizes, what
    does not agree, and the commands that make its table."""
    parts = (_head, _source, _groups, _names, _commands, _statistics, _inconsistencies)
    return "\n".join(line for part in parts for line in part(spec))


def overview(specs: list[BenchmarkSpec]) -> str:
    """The page that lists all of them."""
    lines = ["# Benchmarks", "", "One page each, rendered from `toolkit/registry/benchmarks/`;"]
    lines += ["[the guide](../guides/benchmarks.md) says how they are got and used.", ""]
    return "\n".join([*lines, *(f"- [{spec.name}]({spec.name}.md): {spec.description}" for spec in specs), ""])


def _head(spec: BenchmarkSpec) -> Iterator[str]:
    yield from (f"# {spec.name}", "", f"{spec.description}.", "")
    if spec.mini:
        yield from (MINI, "")


def _source(spec: BenchmarkSpec) -> Iterator[str]:
    yield from ("| | |", "| --- | --- |")
    rows = {key: value for key, value in spec.source.items() if key != "citation"}
    rows |= {"modes": ", ".join(spec.modes) or "none", "measures": ", ".join(f"`{name}`" for name in spec.measures)}
    yield from (f"| {key} | {value} |" for key, value in rows.items())
    yield ""
    if "citation" in spec.source:
        yield from ("```bibtex", spec.source["citation"].strip(), "```", "")


def _groups(spec: BenchmarkSpec) -> Iterator[str]:
    counted = list(dict.fromkeys(what for group in spec.groups for what in group.get("counts", {})))
    columns = ["group", *counted, "repository", "revision", "notes"]
    yield from ("## Groups", "", f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns))
    for group in spec.groups:
        counts = [str(group.get("counts", {}).get(what, "")) for what in counted]
        rest = {key: value for key, value in group.items() if key not in NOT_SHOWN and value}
        notes = "; ".join(f"{key}: {_joined(value)}" for key, value in rest.items())
        cells = [f"`{group['name']}`", *counts, group.get("repository", ""), group.get("revision", ""), notes]
        yield f"| {' | '.join(cells)} |"
    if spec.counts:
        yield from ("", "In all: " + ", ".join(f"{number} {what}" for what, number in spec.counts.items()) + ".")
    yield ""


def _joined(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(spec: BenchmarkSpec) -> Iterator[str]:
    """The ids of its selections and groups, each followed by a mode where there are modes."""
    yield from ("## Names", "", "| id | groups |", "| --- | --- |")
    selections = {"": [group["name"] for group in spec.groups]} | spec.selections
    for name, groups in selections.items():
        yield f"| `{part_name(spec.name, name)}` | {', '.join(groups)} |"
    for group in spec.groups:
        for alias in (group["name"], *group.get("aliases", ())):
            yield f"| `{part_name(spec.name, alias)}` | {group['name']} |"
    yield ""
    if spec.modes:
        modes = ", ".join(f"`{part_name(spec.name, mode)}`" for mode in spec.modes)
        yield from (f"A mode at the end takes that one alone ({modes}). `/` may stand for `-`, as in ir_datasets.", "")


def _commands(spec: BenchmarkSpec) -> Iterator[str]:
    if spec.commands:
        yield from ("## Its table", "", "```sh", *spec.commands, "```", "")


def _statistics(spec: BenchmarkSpec) -> Iterator[str]:
    cells = published.statistics(spec.name)
    if not cells:
        return
    head = (
        f"`tandem benchmarks show {spec.name} --stats` computes these from the data and prints them beside; `verify` fails on a"
    )
    yield from (f"## What table {cells[0].table} of the paper prints", "", head)
    yield from ("difference that the last column does not explain.", "", "| cell | printed | remark |", "| --- | --- | --- |")
    for cell in cells:
        remarks = (f"inconsistent: {cell.inconsistent}" * bool(cell.inconsistent), cell.approximate)
        yield f"| {cell.place} | {cell.value} | {'; '.join(filter(None, remarks))} |"
    yield ""


def _inconsistencies(spec: BenchmarkSpec) -> Iterator[str]:
    known = published.inconsistencies(spec.name)
    if known:
        yield from ("## Known inconsistencies", "", *(f"- {each.what}" for each in known), "")
