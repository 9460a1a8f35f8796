"""The command lines of an entry: they make its run and score it, and are what its page shows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def commands(name: str, benchmark: str, index: str, system: Mapping[str, Any], measures: Sequence[str]) -> tuple[str, str]:
    """The two command lines that make a run and score it, every parameter said."""
    output = f"{name}.trec"
    search = ["tandem", "search", "--topics", benchmark, *(["--index", index] if index else [])]
    for one in system.get("systems", [system["name"]]):
        search += ["--system", one]
    for parameter, value in system["parameters"].items():
        option = f"--{parameter.replace('_', '-')}"
        if value is True:
            search.append(option)
        elif value is not False:
            search += [option, str(value)]
    search += ["--output", output]
    return _join(search), _join(["tandem", "evaluate", output, "--benchmark", benchmark, "-m", *measures])


def _join(words: Iterable[str]) -> str:
    """As `shlex.join`, but `"WISE(variant='release')@20"` for what has single quotes and nothing that the shell reads."""
    return " ".join(f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word) for word in words)
