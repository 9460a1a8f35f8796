"""Published layouts: a module of this folder for each, named in a registry entry's `layout`.

A module has

    NEEDED                          keys (texts) that a group's entry must have
    TABLES                          the tables of a copy, as `data_files.read_table` names them; `read` says which of them
                                    may be missing
    read(folder, spec, group)       the `Part` that a folder with these tables holds, in whatever form they are;
                                    ToolkitError, with each problem's file and line, where something cannot be right

and, where the layout has something of the kind,

    read_copy(folder, spec, group)  the same from a stored copy, whose rows were checked before; `read` without it
    candidates(root, spec, group, part)  candidates that a local copy holds elsewhere, by mode
    FOLDERS                         of a local copy that may hold the first of the tables; the copy itself where it does not say
    PATTERNS                        which files of the hub's repository the group needs; all tables where it does not say
    EXPECTED                        what a local copy should hold, in words; the repository's folder where it does not say
    checks(part, group)             what `benchmarks verify` checks: pairs of a check's name and the problem ("" for none)

In these texts `{key}` is the value of a key of the group's entry. Where its entry decides more than that, there are functions
in place of them, `tables(group)`, `patterns(group)` and `expected(group)`; so is `find(root, group)` for a group that the first
of its tables does not tell.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from toolkit.core.errors import ToolkitError
from toolkit.datasets.copies.data_files import TABLES, folder_with
from toolkit.datasets.group_data import Group
from toolkit.datasets.minis import MINIS

LAYOUTS = tuple(sorted(module.name for module in iter_modules(__path__)))


def layout_of(layout: str, name: str = "") -> ModuleType:
    """The module of a registry entry's `layout`; ToolkitError, which names the benchmark, for one that is not known."""
    if layout in MINIS:
        return import_module(f"toolkit.datasets.minis.{MINIS[layout]}")
    if layout not in LAYOUTS:
        raise ToolkitError(f"benchmark {name}: unknown layout {layout!r}", f"known: {', '.join([*LAYOUTS, *MINIS])}")
    return import_module(f"toolkit.datasets.layouts.{layout}")


def tables(layout: ModuleType, group: Group) -> tuple[str, ...]:
    """The tables of a copy of a group."""
    return layout.tables(group) if hasattr(layout, "tables") else _filled(layout.TABLES, group)


def find(layout: ModuleType, root: Path, group: Group) -> Path | None:
    """The folder of a group inside a local copy; None where it is not there."""
    if hasattr(layout, "find"):
        return layout.find(root, group)
    return folder_with(root, group, tables(layout, group)[:1], getattr(layout, "FOLDERS", (".",)))


def patterns(layout: ModuleType, group: Group) -> tuple[str, ...]:
    """Which files of the hub's repository a group needs."""
    return layout.patterns(group) if hasattr(layout, "patterns") else _filled(getattr(layout, "PATTERNS", TABLES), group)


def expected(layout: ModuleType, group: Group) -> str:
    """What a local copy should hold of a group, for a message."""
    if hasattr(layout, "expected"):
        return layout.expected(group)
    if hasattr(layout, "EXPECTED"):
        return layout.EXPECTED.format_map(group)
    return f"{group['repository'].rpartition('/')[2]}/"


def _filled(texts: tuple[str, ...], group: Group) -> tuple[str, ...]:
    return tuple(text.format_map(group) for text in texts)
