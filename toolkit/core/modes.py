"""Modes: the same information need in several wordings. A query id carries its mode last (`audience-012-1-ins`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import AS_FILES, as_one

BASE, INSTRUCTED, REVERSED = ROLES = ("base", "instructed", "reversed")
HINT = f"name: role, as in ori: base, ins: instructed, rev: reversed (roles: {', '.join(ROLES)})"

# without what divides an id from its mode, a mode from its file, and the parts of a path
_NAME = re.compile(r"[^\s=/\\\x00-\x1f\x7f-\x9f-]+")
_NUMBER = re.compile(r"^(.+)[-_.]\d+$")  # asked of every query


class Modes(Mapping[str, str]):
    """The modes of a benchmark or of query ids: name -> role, in the order in which they are shown; empty where there are none.

    Measures know roles alone: what is asked without instruction (`base`), with it, and with its opposite.
    """

    def __init__(self, roles: Mapping[str, str] | Iterable[tuple[str, str]] = ()):
        self._roles = dict(roles)

    @classmethod
    def declared(cls, given: Mapping[Any, Any], place: str) -> Modes:
        """Modes as a user or an entry of the registry writes them; ToolkitError, which names the place, where that is wrong.

        Several may be instructed (levels of an instruction, facets of a paper); base and reversed are one each.
        """
        wrong = [f"{name!r} is no name" for name in given if not isinstance(name, str) or not _NAME.fullmatch(name)]
        wrong += [f"{role!r} is no role" for role in given.values() if role not in ROLES]
        wrong += [f"several are {role}" for role in (BASE, REVERSED) if list(given.values()).count(role) > 1]
        wrong += [f"{twins[0]!r} and {twins[1]!r} {AS_FILES}"] if not wrong and (twins := as_one(given)) else []
        if wrong:
            raise ToolkitError(f"{place}: modes: {'; '.join(wrong)}", HINT)
        return cls(given)

    def __getitem__(self, name: str) -> str:
        return self._roles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    def __repr__(self) -> str:
        return f"Modes({self._roles})"

    def split(self, query_id: str) -> tuple[str, str]:
        """`audience-012-1-ins` -> (`audience-012-1`, `ins`); the mode is `""` where the id carries none of these."""
        base, dash, mode = query_id.rpartition("-")
        return (base, mode) if dash and base and mode in self._roles else (query_id, "")

    def of(self, *roles: str) -> tuple[str, ...]:
        """The modes of these roles."""
        return tuple(name for name, role in self._roles.items() if role in roles)

    def only(self, names: Iterable[str]) -> Modes:
        """Those of these names, in their order here."""
        wanted = set(names)
        return Modes((name, role) for name, role in self._roles.items() if name in wanted)

    def place(self, name: str) -> int:
        """Where a mode is shown: before all of these what has no mode, behind them what is none of them."""
        names = ["", *self._roles]
        return names.index(name) if name in names else len(names)


def join_mode(base: str, mode: str) -> str:
    """The id of query `base` in `mode`; without a mode the id itself."""
    return f"{base}-{mode}" if mode else base


def guess_group(base: str) -> str:
    """The core query of an id without mode, for files of unknown origin: the id without its last `-<n>`, `_<n>`
    or `.<n>` (`25_5.4`, a paraphrase, is of the core query `25_5`)."""
    match = _NUMBER.match(base)
    return match.group(1) if match else base
