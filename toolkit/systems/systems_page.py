"""The page of the docs that lists all systems: `scripts/render_docs` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import DEFAULTS
from toolkit.registry.system_kinds import kinds, values
from toolkit.systems.system_facts import VERIFIED, quoted

HEAD = """\
# Systems

Rendered from `toolkit/registry/systems/`; [the guide](guides/systems.md) says how they are used and how one of your own is
added. `tandem systems show NAME` has all that is known of one: notes, sources, what each recipe sends.
`?` stands for what was not verified. How far each was checked:
"""
SENT = ("pooling", "similarity", "query_length", "passage_length", "length", "tokens", "window", "k1", "b", "quantization")


def page(systems: Iterable[SystemSpec]) -> str:
    """The page, in Markdown: a table a kind, each with the parameters that the kind takes."""
    systems = list(systems)
    lines = [HEAD, *(f"- **{text.replace(':', '**:', 1)}" for text in VERIFIED.values())]
    for kind, about in kinds().items():
        listed = [spec for spec in systems if spec.kind == kind]
        lines += ["", f"## {kind}", "", f"{about['is'][0].upper()}{about['is'][1:]}."]
        if listed:
            lines += ["", *_table(listed)]
        lines += ["", "| parameter | values | what it is |", "| --- | --- | --- |"]
        lines += [
            f"| `{name}` | {values(description['of'])} | {description['is']} |"
            for name, description in about["parameters"].items()
        ]
    return "\n".join(lines) + "\n"


def _table(systems: Iterable[SystemSpec]) -> Iterator[str]:
    yield "| name | checkpoint | size | licence | query is sent as | parameters | recipes | papers | verified |"
    yield "|" + " --- |" * 9
    for spec in systems:
        unknown = "?" if spec.checkpoint else ""
        cells = [
            f"**{spec.name}**",
            _checkpoint(spec),
            spec.size or unknown,
            spec.licence or unknown,
            f"`{quoted({**DEFAULTS, **spec.templates}['query'])}`",
            ", ".join(f"{name} {_value(spec.parameters[name])}" for name in SENT if name in spec.parameters),
            ", ".join(f"{name} (unknown)" if "unknown" in recipe else name for name, recipe in spec.recipes.items()),
            ", ".join(spec.papers),
            spec.verified,
        ]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _checkpoint(spec: SystemSpec) -> str:
    places = [(spec.checkpoint, spec.revision), (spec.base, spec.base_revision)]
    named = " on ".join(f"{place} @ {revision[:8] or '?'}" for place, revision in places if place)
    flags = [word for word, said in (("gated", spec.gated), ("remote code", spec.remote_code)) if said]
    return f"{named} ({', '.join(flags)})" if flags else named


def _value(value: object) -> str:
    return " / ".join(f"`{each}`" for each in value) if isinstance(value, list) else str(value)
