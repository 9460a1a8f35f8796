"""A system of the registry as it is to be used for searching: its parameters, and the name that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import is_dry
from toolkit.core.templates import template_digest
from toolkit.files.provenance import model_identity
from toolkit.models import choose_system
from toolkit.registry.loader import did_you_mean
from toolkit.registry.system_kinds import TEXT, check_system, instruction_facts, instruction_field, kinds, loaded_by

RULES = "+rules"


@dataclass(frozen=True)
class Chosen:
    """A system with the parameters that it is used with.

    parameters  complete: its own with those that the user gave
    changed     those that differ from its own, which enter the run's name
    templated   whether queries are put into the user's template; the digest of what is sent enters the name
    rules       whether InfoSearch's restrictions are filtered by rules behind it (`NAME+rules`)
    """

    spec: SystemSpec
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    rules: bool = False
    templated: bool = False

    @property
    def tag(self) -> str:
        """The system's name alone."""
        return f"{self.spec.name}{RULES if self.rules else ''}"

    @property
    def name(self) -> str:
        """Name, recipe and what differs from its own parameters, as a run's file name has them: `bm25.k1-1.2`."""
        changed = [name if value is True else f"{name}-{value}" for name, value in self.changed.items()]
        changed += [f"template-{template_digest(self.spec)[:8]}"] if self.templated else []
        return ".".join([self.tag, *filter(None, [self.spec.recipe]), *changed])

    def in_precision(self, precision: str) -> Chosen:
        """The same, computed in another precision: no part of what is sent, it says nothing of the index."""
        exact = {"precision": precision}
        return replace(self, parameters={**self.parameters, **exact}, changed={**self.changed, **exact})

    def facts(self) -> dict[str, Any]:
        """What a run's record says of it before it has searched."""
        spec, facts = self.spec, {"name": self.tag, **self.spec.entry_facts, "method": self.spec.kind}
        facts |= model_identity(spec)
        facts |= {"templates": dict(spec.templates)} if spec.checkpoint or spec.templates else {}
        facts |= instruction_facts(spec) | ({"recipe": spec.recipe} if spec.recipe else {})
        return {**facts, **self.parameters}


def choose(
    system: Any,
    given: Mapping[str, Any],
    precision: str | None,
    *,
    loader: str | None = None,
    instruction_as: str | None = None,
    **how: Any,
) -> Chosen:
    """The system of a name, as it is to be used: with the parameters that are `given` (those that are None are not).

    Loader and place of instructions as of `registry.system_kinds.loaded_by`; `how` is what `models.choose_system` takes. Raises
    ToolkitError for an unknown one, and for parameters without meaning.
    """
    plain = _plain(system)
    if plain == "":
        raise ToolkitError(f"{system!r} names no system", "`tandem systems list` has the names")
    spec = choose_system(plain, **how)
    if spec.kind == "dense" and spec.is_python and not is_dry():
        from toolkit.models.checkpoints.own_systems import make_own, searching_kind

        kind = searching_kind(make_own(spec))  # which only the object tells
        spec = spec if kind == spec.kind else replace(spec, kind=kind, parameters={})
    spec = loaded_by(spec, loader, instruction_as)
    given = {name: value for name, value in given.items() if value is not None}
    _check_names(spec.name, given, kinds()[spec.kind]["parameters"])
    if precision and not spec.checkpoint:
        raise ToolkitError(f"{plain} has no precision", "models have; leave --precision out")
    changed = {name: value for name, value in given.items() if value != spec.parameters.get(name)}
    complete = {**spec.parameters, **given}
    used = replace(spec, parameters=complete)
    check_system(used)
    in_text = instruction_as == TEXT and instruction_field(spec)
    templated = bool(how.get("query_template") or how.get("plain_template") or in_text)
    chosen = Chosen(used, complete, changed, rules=isinstance(plain, str) and str(system) != plain, templated=templated)
    return chosen.in_precision(precision) if precision else chosen


def shared_parameters(systems: Sequence[Any], given: Mapping[str, Any], **how: Any) -> list[dict[str, Any]]:
    """Of parameters that are given for several systems, those that each of them has; ToolkitError for one that none has."""
    known = [kinds()[choose_system(_plain(system), **how).kind]["parameters"] for system in systems]
    given = {name: value for name, value in given.items() if value is not None}
    _check_names(" and ".join(map(str, systems)), given, {name for names in known for name in names})
    return [{name: value for name, value in given.items() if name in names} for names in known]


def on_servers(systems: Sequence[str], loader: str | None, **how: Any) -> list[bool]:
    """Which of some systems are asked: a server, or an object; `loader` in place of their own, `how` as of `choose`."""
    found = [loaded_by(choose_system(_plain(system), **how), loader) for system in systems]
    return [spec.loader == "endpoint" or spec.is_python for spec in found]


def _check_names(system: str, given: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        hint = f"{did_you_mean(unknown[0], known)}known: {', '.join(sorted(known))}"
        raise ToolkitError(f"{system} has no parameter {unknown[0]!r}", hint)


def _plain(system: Any) -> Any:
    """The name without `+rules`; an object as it is."""
    if not isinstance(system, str | Path):
        return system
    return str(system).removesuffix(RULES) if str(system) not in registry.systems() else str(system)
