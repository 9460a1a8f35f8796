"""What can be wrong with a file: stable codes, and the one error that names all problems of a file; what every run must be."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.yaml_json import read_yaml

MOST = 100_000  # problems of a code
FLOAT32_MAX = 3.4028234663852886e38


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


class Problems:
    """Problems as they are found, at most MOST of a code: of a file that is wrong in every line the others are counted."""

    def __init__(self):
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()
        self._beyond: dict[str, int] = {}  # code -> the first line that has no problem of its own

    def __bool__(self) -> bool:
        return bool(self._problems)

    def add(self, code: str, line: int | None, message: str) -> None:
        """Append one."""
        self._counts[code] += 1
        if self._counts[code] <= MOST:
            self._problems.append(Problem(code, line, message))
        else:
            self._beyond.setdefault(code, line)

    def all(self) -> list[Problem]:
        """Those that were found, in their order; behind them, a code, how many more lines are like the one that is named."""
        more = "the same is wrong in {:,} lines from here on"
        beyond = (Problem(code, line, more.format(self._counts[code] - MOST)) for code, line in self._beyond.items())
        return [*self._problems, *beyond]


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


def found(problems: int, warnings: int) -> str:
    """`2 problems, no warnings`"""
    numbers = ((problems, "problem"), (warnings, "warning"))
    return ", ".join(f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}" for number, noun in numbers)


def checked(run: Run) -> Run:
    """The run. Raises ToolkitError for a score that is not finite and for a document twice in a query."""
    check_scores(run)
    if run.documents.comes_twice(run.queries):
        raise ToolkitError(f"{_place(run)}a query has the same document twice", codes()["R004"].hint)
    return run


def check_scores(run: Run) -> None:
    """Raise ToolkitError for the first score that is not finite."""
    fine = np.abs(run.scores) <= FLOAT32_MAX  # NaN is never below
    if not fine.all():
        line = int(np.argmin(fine))
        query_id, doc_id = run.query_ids[run.queries[line]], run.documents[line]
        message = f"{_place(run)}score {run.scores[line]} of document {doc_id} in query {query_id} is not a finite number"
        raise ToolkitError(message, codes()["R003"].hint)


def _place(run: Run) -> str:
    return f"{run.source}: " if run.source else ""
