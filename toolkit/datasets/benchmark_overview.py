"""What is known of benchmarks, for people: all of them as a table; of one what it has, and what was fetched, in lines."""

from collections.abc import Iterator
from pathlib import Path

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import in_mode
from toolkit.core.system.progress import say
from toolkit.core.tables.aligned_table import Column, Table
from toolkit.datasets.benchmark import load, present_groups, take
from toolkit.datasets.copies.verify import other_counts
from toolkit.datasets.group_data import counts, part_name
from toolkit.datasets.names import selected, selected_whole
from toolkit.registry import evidence

INDENT = 11  # of what follows a line with a label, beside the line's own blanks


def listing() -> Table:
    """A row a benchmark, and what of it is on this machine. Entries of the user's that cannot be read are left out and said."""
    rows = []
    registry.warn_unread("benchmarks")
    for spec in registry.benchmarks().values():
        try:
            here = present_groups(load(spec.name))
        except ToolkitError as error:  # an entry of the user's whose layout or groups no reader knows
            say(f"warning: left out: {error.message}")
            continue
        shown = "all" if len(here) == len(spec.groups) else ",".join(here) or "none"
        rows.append((spec.name, len(spec.groups), ",".join(spec.modes), shown, spec.description))
    facts = (Column("groups"), Column("modes", priority=1), Column("here"))
    return Table((Column("name", label=True), *facts, Column("description", prose=True)), rows)


def description(name: str) -> Iterator[tuple[str, int]]:
    """Lines about a benchmark or one of its groups, each with how far what is wrapped of it is set in."""
    selection = selected_whole(name)
    benchmark = load(selection.benchmark)
    spec, here = benchmark.spec, present_groups(benchmark)
    yield f"{spec.name}: {spec.description}", 2
    rows = {"modes": ", ".join(spec.modes), "measures": ", ".join(spec.measures), **spec.source, **spec.counts}
    for key, value in rows.items():
        first, *more = str(value).splitlines() or ["none"]
        yield from ((line, INDENT) for line in (f"  {key:<10} {first}", *(f"  {'':<10} {line}" for line in more)))
    for part, groups in spec.selections.items():
        yield f"  {part_name(spec.name, part)}: {', '.join(part_name(spec.name, group) for group in groups)}", 2
    for group in (group for group in spec.groups if group["name"] in selection.groups):
        own = {key: value for key, value in group.items() if key not in ("name", "counts") and value}
        text = "; ".join(f"{key} {_shown(value)}" for key, value in (own | group.get("counts", {})).items())
        state = "on this machine" if group["name"] in here else "not fetched"
        yield f"  {part_name(spec.name, group['name'])} ({state}){': ' if text else ''}{text}", 2
    if rows := evidence(spec.name).get("detectable", ()) if name == spec.name else ():
        found = ", ".join(f"{in_mode(row['measure'], row['mode'])} {row['detectable']:.4f}" for row in rows)
        said = "the smallest true difference that its core queries show in 80 % of samples: the median over pairs of"
        yield f"  detectable {found}", INDENT
        yield f"  {'':<10} {said} {rows[0]['runs']} registered runs", INDENT


def _shown(value: object) -> str:
    """A value of a group's entry: a list by its members, counts as `40 queries, 19899 documents`."""
    if isinstance(value, dict):
        return ", ".join(f"{number} {what}" for what, number in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def fetched(name: str, folder: Path | None = None) -> Iterator[str]:
    """Download a benchmark or one of its groups, or take it from a folder: a line for each group, and warnings."""
    selection = selected_whole(name) if folder else selected(name, at_hand=False)
    benchmark = load(selection.benchmark)
    if folder:
        parts = take(selection.benchmark, folder, selection.groups)
    else:
        parts = {group: benchmark.part(group) for group in selection.groups}
    for group, part in parts.items():
        sizes = [f"{number} {what}" for what, number in counts(part).items()]
        if part.scoreddocs:
            sizes.append(f"candidates in {', '.join(part.scoreddocs)}" if benchmark.spec.modes else "candidates")
        yield f"{part_name(benchmark.spec.name, group)}: {', '.join(sizes)}"
        for line in part.notes:
            say(f"note: {line}")
        if other := other_counts(part, benchmark.spec.group(group)):
            say(f"note: {group}: not the published counts: {other}")
