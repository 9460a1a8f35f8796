"""Published layouts: a module of this folder for each, named in a registry entry's `layout`.

A module has

    NEEDED                          keys (texts) that a group's entry must have
    tables(group)                   the tables of a copy, as `data_files.read_table` names them; `read` says which of them
                                    may be missing
    find(root, group)               the folder of a group inside a local copy; None where it is not there
    read(folder, spec, group)       the `Part` that a folder with these tables holds, in whatever form they are;
                                    ToolkitError, with each problem's file and line, where something cannot be right

and, where the layout has something of the kind,

    read_copy(folder, spec, group)  the same from a stored copy, whose rows were checked before; `read` without it
    candidates(root, spec, group, part)  candidates that a local copy holds elsewhere, by mode
    patterns(group)                 which files of the hub's repository the group needs; all tables where it does not say
    expected(group)                 what a local copy should hold, in words; the repository's folder where it does not say
    checks(part, group)             what `benchmarks verify` checks: pairs of a check's name and the problem ("" for none)
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from toolkit.core.errors import ToolkitError
from toolkit.datasets.minis import MINIS

LAYOUTS = tuple(sorted(module.name for module in iter_modules(__path__)))


def layout_of(layout: str, name: str = "") -> ModuleType:
    """The module of a registry entry's `layout`; ToolkitError, which names the benchmark, for one that is not known."""
    if layout in MINIS:
        return import_module(f"toolkit.datasets.minis.{MINIS[layout]}")
    if layout not in LAYOUTS:
        raise ToolkitError(f"benchmark {name}: unknown layout {layout!r}", f"known: {', '.join([*LAYOUTS, *MINIS])}")
    return import_module(f"toolkit.datasets.layouts.{layout}")
