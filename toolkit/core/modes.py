"""Modes: the same information need, searched several times. A query id carries its mode last."""

from __future__ import annotations

import re

INFOSEARCH = ("ori", "ins", "rev")
FOLLOWIR = ("og", "changed")
KNOWN = INFOSEARCH + FOLLOWIR
BASE, CHANGED = {"ori", "og"}, {"ins", "changed"}

_NUMBER = re.compile(r"^(.+)[-_.]\d+$")


def split_mode(query_id: str) -> tuple[str, str]:
    """`audience-012-1-ins` -> (`audience-012-1`, `ins`); the mode is `""` where the id carries none."""
    base, dash, mode = query_id.rpartition("-")
    return (base, mode) if dash and base and mode in KNOWN else (query_id, "")


def join_mode(base: str, mode: str) -> str:
    """The id of query `base` in `mode`; without a mode the id itself."""
    return f"{base}-{mode}" if mode else base


def guess_group(base: str) -> str:
    """The core query of an id without mode, for files of unknown origin: the id without its last `-<n>`, `_<n>`
    or `.<n>` (`25_5.4`, a paraphrase, is of the core query `25_5`)."""
    match = _NUMBER.match(base)
    return match.group(1) if match else base
