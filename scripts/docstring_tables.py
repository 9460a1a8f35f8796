"""For mkdocstrings: the aligned lists in our docstrings (`name   what it is`) become tables of the site."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ENTRY = re.compile(r"(\S.*?)\s{2,}(\S.*)")


class DocstringTables(Extension):
    """Rewrites the docstring of every object as it is loaded."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = "\n\n".join(map(as_table, obj.docstring.value.split("\n\n")))


def as_table(block: str) -> str:
    """A block whose every line is an entry or continues one, as a table in Markdown; any other block as it is."""
    rows: list[tuple[str, str]] = []
    for line in block.splitlines():
        if entry := ENTRY.fullmatch(line):
            rows.append((entry[1], entry[2]))
        elif rows and line.startswith("   "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            return block
    cells = [(f"`{name}`" if "`" not in name else name, text.replace("|", "\\|")) for name, text in rows]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in cells)])
