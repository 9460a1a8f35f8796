"""The modes that benchmarks declare, found again in query ids of which nothing else is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.specs import BenchmarkSpec
from toolkit.registry.loader import entries

if TYPE_CHECKING:  # it loads numpy, which completing a line does without
    from toolkit.core.qrels import Qrels

MOST = 6  # more endings than these are numbers or names, not modes


def known_modes() -> Modes:
    """Every name of a mode that a benchmark declares; where two give it different roles, with that of the first."""
    roles: dict[str, str] = {}
    for name, role in (item for modes in _declared() for item in modes.items()):
        roles.setdefault(name, role)
    return Modes(roles)


def modes_of(qrels: Qrels) -> Modes:
    """`qrels.modes`, or without, those of the benchmark whose modes all ids carry, else those of any that some ids carry.

    Raises ToolkitError where benchmarks give a name that the ids carry different roles.
    """
    if qrels.modes is not None:
        return qrels.modes
    split = [query_id.rpartition("-") for query_id in qrels.query_ids]
    endings = {ending for base, _, ending in split if base}
    touched = [modes for modes in _declared() if not endings.isdisjoint(modes)] if endings else []
    whole = [modes for modes in touched if endings <= modes.keys()] if all(base for base, _, _ in split) else []
    roles = defaultdict(set)
    for name, role in (item for modes in whole or touched for item in modes.items()):
        roles[name].add(role)
    if unclear := sorted(name for name in endings & roles.keys() if len(roles[name]) > 1):
        raise ToolkitError(f"the role of mode {unclear[0]} differs between benchmarks", "say which: --modes NAME=ROLE")
    return whole[0] if whole else Modes((name, min(role_names)) for name, role_names in roles.items() if name in endings)


def unnamed_modes(query_ids: Iterable[str], modes: Modes) -> tuple[str, ...]:
    """Endings of query ids that look like modes and are none of these: every id has one of a few, each query several."""
    endings = defaultdict(set)
    for base, _, ending in (query_id.rpartition("-") for query_id in query_ids):
        endings[base].add(ending)
    names = set().union(*endings.values())
    if "" in endings or len(endings) < 2 or len(names) > MOST or any(ending.isdigit() for ending in names):
        return ()
    return tuple(sorted(names - modes.keys())) if all(len(each) > 1 for each in endings.values()) else ()


def _declared() -> list[Modes]:
    """The different modes of all benchmarks, ours before the user's."""
    declared: list[Modes] = []
    for spec in entries("benchmarks", BenchmarkSpec)[0].values():
        if spec.modes and spec.modes not in declared:
            declared.append(spec.modes)
    return declared
