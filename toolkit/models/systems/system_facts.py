"""What is known of systems, as rows and lines."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from textwrap import wrap
from typing import Any

from toolkit.core.specs import SystemSpec
from toolkit.core.system.terminal import wrapped
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.aligned_table import Cell, Column, Number
from toolkit.core.templates import DEFAULTS, template_digest
from toolkit.models.checkpoints.local_checkpoints import places_of
from toolkit.models.computing import BYTES
from toolkit.registry import FOLDER
from toolkit.registry.families import lineage
from toolkit.registry.system_kinds import parameter_count

GIB = 2**30
COLUMNS = (
    Column("name", label=True),
    *map(Column, ("kind", "size")),
    Column("licence", priority=1),
    Column("verified"),
    Column("papers", priority=2),
)
VERIFIED = read_yaml(FOLDER / "meanings.yaml")["verified"]  # how far a system was -> in words


def listing(systems: Iterable[SystemSpec], kind: str | None = None, paper: str | None = None) -> Iterator[tuple[Cell, ...]]:
    """A row of `COLUMNS` for each system of a kind and a paper (any where None); `?` for what was not verified."""
    for spec in systems:
        if kind in (None, spec.kind) and (paper is None or paper in spec.papers):
            unknown = "?" if spec.checkpoint else "-"
            papers = ",".join(spec.papers) or "-"
            size = Number(parameter_count(spec) or math.nan, text=spec.size or unknown)
            yield spec.name, spec.kind, size, spec.licence or unknown, spec.verified, papers


def weights(spec: SystemSpec, precision: str) -> int | None:
    """The memory that its weights take, in bytes; None where its size is not known."""
    return None if (number := parameter_count(spec)) is None else number * BYTES[precision]


def overview(spec: SystemSpec, width: int = 123) -> Iterator[str]:
    """Everything that is known of a system, as lines for people, of at most `width` characters but for what is sent."""
    rows = partial(_rows, width=width)
    yield from wrapped(f"{spec.name}: {spec.description}", width)
    yield from rows(_facts(spec))
    yield "sent, where its model card's way is taken:" if spec.recipes and not spec.recipe else "sent:"
    yield from rows(_sent(spec.parameters, {**DEFAULTS, **spec.templates}))
    yield from rows({"digest": template_digest(spec)})
    for name, recipe in spec.recipes.items():
        if not spec.recipe:
            yield f"recipe {name}:"
            if "unknown" in recipe:
                yield from rows({"unknown": recipe["unknown"]})
                continue
            facts = {key: recipe.get(key, "") for key in ("source", "kind", "loader")}
            facts |= _sent(recipe.get("parameters", {}), recipe.get("templates", {}))
            facts |= {"notes": recipe.get("notes", ""), "digest": template_digest(spec.with_recipe(name))}
            yield from rows(facts)
    yield from rows({"source": spec.source, "notes": spec.notes}, indent="")


def _facts(spec: SystemSpec) -> dict[str, str]:
    precisions = dict.fromkeys([spec.parameters.get("precision", "fp32"), "fp32"])
    needed = [(weights(spec, precision), precision) for precision in precisions]
    memory = ", ".join(f"{size / GIB:.1f} GiB in {precision}" for size, precision in needed if size)
    memory += " (weights alone; fp32 is what a CPU computes in)" if needed[0][0] else ""
    places = [f"{place} @ {revision or 'no revision verified'}" for place, revision in places_of(spec)]
    return {
        "kind": spec.kind,
        "checkpoint": places[0] if places else "",
        "passages": places[1] if spec.passage_checkpoint else "",
        "merged into": places[-1] if spec.base else "",
        "made from": ", and that from ".join(lineage(spec).bases),
        "family": lineage(spec).family,
        "licence": spec.licence or ("not verified" if spec.checkpoint else ""),
        "size": spec.size or ("not verified" if spec.checkpoint else ""),
        "memory": memory,
        "access": "gated: wants HF_TOKEN, and its terms accepted on the hub" if spec.gated else "",
        "code": "wrong without the repository's own code: loaded with --trust-remote-code alone" if spec.remote_code else "",
        "loader": spec.loader,
        "server": ", ".join(f"{name} {value}" for name, value in spec.server.items()),
        "papers": ", ".join(spec.papers),
        "printed": "; ".join(f"{paper}: {_printed(row)}" for paper, row in spec.printed.items()),
        "verified": VERIFIED[spec.verified],
    }


def _printed(row: Mapping[str, Any]) -> str:
    """What its row in a paper's tables is called."""
    names = row["name"] if isinstance(row["name"], str) else ", ".join(row["name"])
    apart = ", ".join(row[key] for key in ("kind", "mode") if key in row)
    return f"{names} ({apart})" if apart else names


def _sent(parameters: Mapping[str, Any], templates: Mapping[str, str]) -> dict[str, str]:
    values = ", ".join(f"{name} {_value(value)}" for name, value in parameters.items())
    return {**{name: quoted(template) for name, template in templates.items()}, "parameters": values}


def quoted(text: str) -> str:
    """A text as it is, each blank of it to be seen and line feeds as `\\n`."""
    return json.dumps(text, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rows(values: Mapping[str, str], indent: str = "  ", *, width: int) -> Iterator[str]:
    """`name value`, long values on several lines but quoted ones; what is empty is left out."""
    for name, value in values.items():
        lines = [value] if value.startswith('"') else wrap(value, width - 15, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            yield f"{indent}{'' if number else name:<12} {line}"
