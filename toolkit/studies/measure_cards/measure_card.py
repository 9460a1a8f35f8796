"""What is known of a measure without computing anything: its row of `registry/measures.yaml` in words."""

import re
from typing import NamedTuple

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import MeasureSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.aligned_table import Column, Table
from toolkit.registry.loader import did_you_mean

OVER, DIRECTION, NEEDS = (read_yaml(registry.FOLDER / "meanings.yaml")[field] for field in ("over", "direction", "needs"))


class Card(NamedTuple):
    """What is known of one measure, in words.

    name        as it is asked for; most take a cutoff (`WISE@20`)
    definition  in a sentence; `docs/measures.md` has the formula
    status      `published`, or `experimental`: ours, and not shown to be better than the published ones
    range       smallest and largest value
    over        what one value is about
    modes       roles in which the run must have a query
    absent      what a query counts that the run lacks
    parameters  each with its default or choices; `variants` are those of the published definition
    """

    name: str
    title: str
    definition: str
    source: str
    status: str
    variants: tuple[str, ...]
    direction: str
    range: str
    over: str
    needs: tuple[str, ...]
    modes: tuple[str, ...]
    absent: str
    parameters: tuple[str, ...]
    related: tuple[str, ...]


def cards() -> list[Card]:
    """A card for every measure of the registry, in its order."""
    return [_of(spec) for spec in registry.measures().values()]


def measure_card(name: str) -> Card:
    """The card of one measure; `p-MRR` and `wise@10` are found too. ToolkitError for what is none of ours."""
    names = {registry.letters(each): each for each in registry.measures()}
    wanted = re.split(r"[@(]", name)[0]
    if registry.letters(wanted) not in names:
        known = ", ".join(names.values())
        near = did_you_mean(wanted, names.values())
        raise ToolkitError(f"no card of a measure {name!r}", f"{near}cards are of Tandem's own measures: {known}")
    return _of(registry.measures()[names[registry.letters(wanted)]])


def _of(spec: MeasureSpec) -> Card:
    parameters = []  # `variant (paper, release or source; paper): which definition`; without a default it has to be given
    for name, options in spec.parameters.items():
        given = f"{options['default']}" if "default" in options else "has to be given"
        among = f"{', '.join(options['choices'])}; " if options.get("choices") else ""
        parameters.append(f"{name} ({among}{given}): {options['text']}")
    return Card(
        spec.name,
        spec.title,
        spec.text,
        spec.source,
        "experimental" if spec.experimental else "published",
        tuple(spec.parameters.get("variant", {}).get("choices", ())),
        DIRECTION[spec.direction],
        range_of(spec),
        OVER[spec.over],
        tuple(NEEDS[need] for need in spec.needs),
        spec.modes,
        "left out" if spec.worst is None else f"{spec.worst:g}",
        tuple(parameters),
        spec.related,
    )


def range_of(spec: MeasureSpec) -> str:
    """Smallest and largest value; a measure made of the means of others has no bounds."""
    if spec.unit == "rank":
        return "1 and above"
    return f"{spec.lowest:g} to 1" if spec.unit == "fraction" and spec.over != "aggregate" else "unbounded"


def listing() -> Table:
    """All measures, one a row."""
    columns = (
        Column("name", label=True),
        *map(Column, ("range", "better", "status")),
        Column("needs", priority=1),
        Column("title", prose=True),
        Column("source", prose=True, priority=2),
    )
    rows = [
        (spec.name, each.range, spec.direction, each.status, ", ".join(spec.needs), each.title, each.source)
        for spec, each in zip(registry.measures().values(), cards(), strict=True)
    ]
    return Table(columns, rows)


def facts(of: Card) -> list[tuple[str, str]]:
    """The card's lines: what it is, and what stands there; what it has nothing of is left out."""
    several = {"variants": ", ", "needs": "; ", "modes": ", ", "parameters": "; ", "related": ", "}
    named = {name: several[name].join(value) if name in several else value for name, value in of._asdict().items()}
    named["absent"] = f"a query that the run lacks counts {of.absent}" if of.absent != "left out" else "is left out"
    return [(name, value) for name, value in named.items() if value and name != "name"]


def as_table(of: Card) -> Table:
    """One card."""
    return Table((Column("fact", label=True), Column("value", prose=True)), facts(of), title=of.name)
