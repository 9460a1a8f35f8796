"""What can be wrong with a file: stable codes, and the one error that names all problems of a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.yaml_json import read_yaml


class Code(NamedTuple):
    """An entry of `problems.yaml`. severity: `error` (the file is refused) or `warning`; fixable: `verify --fix` cures it."""

    severity: str
    explanation: str
    hint: str = ""
    fixable: bool = False


class Problem(NamedTuple):
    """One finding. line: counted from 1; None where it is about the whole file."""

    code: str
    line: int | None
    message: str

    @property
    def is_error(self) -> bool:
        """Whether readers refuse the file for it."""
        return codes()[self.code].severity == "error"

    @property
    def place(self) -> str:
        """`, line 17`, to be put behind a file's name; empty for the whole file."""
        return "" if self.line is None else f", line {self.line}"

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@cache
def codes() -> dict[str, Code]:
    """All codes, in the order of the table."""
    return {name: Code(**entry) for name, entry in read_yaml(Path(__file__).with_name("problems.yaml")).items()}


def by_line(problems: Sequence[Problem]) -> list[Problem]:
    """The problems in the order of lines, those of the whole file first."""
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.code))


def refuse(source: str, problems: Sequence[Problem]) -> None:
    """Raise the ToolkitError for the errors among the problems of `source`; return where there are only warnings."""
    errors = [problem for problem in problems if problem.is_error]
    if not errors:
        return
    hints = {codes()[problem.code].hint for problem in errors}
    hint = hints.pop() if len(hints) == 1 else "tandem runs verify names the code of each; --codes explains them"
    if len(errors) == 1:
        raise ToolkitError(f"{source}{errors[0].place}: {errors[0].message}", hint)
    raise ToolkitError(f"{source}: {len(errors)} problems", hint, problems=errors)
