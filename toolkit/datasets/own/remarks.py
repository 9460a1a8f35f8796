"""Problems and warnings of a folder: each a line with file, line and what to do."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.files.runs.problems import Problem, codes

CHECK = "tandem benchmarks check"


class Remark(NamedTuple):
    """One finding.

    path   the file, or the folder itself
    line   from 1; 0 where it is about the whole file
    what   was found
    todo   what to do about it
    is_warning  whether the benchmark can be used with it
    """

    path: Path
    line: int
    what: str
    todo: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.what}; {self.todo}"

    @property
    def place(self) -> str:
        """File and line; what lies in the working folder without the folders above."""
        path = os.path.relpath(self.path)
        shown = str(self.path) if path.startswith(os.pardir) else path
        return f"{shown}, line {self.line}" if self.line else shown


class Remarks(list[Remark]):
    """Findings as they are made."""

    def problem(self, path: Path, line: int, what: str, todo: str) -> None:
        """A problem: nothing can be made of the folder until it is mended."""
        self.append(Remark(path, line, what, todo))

    def warning(self, path: Path, line: int, what: str, todo: str) -> None:
        """What may be meant so, and often is not."""
        self.append(Remark(path, line, what, todo, is_warning=True))

    def of_error(self, path: Path, error: ToolkitError) -> None:
        """What a reader refuses a file for: each of its problems, with the lines that they name."""
        problems: Sequence[object] = error.problems or [error.message.removeprefix(str(path)).lstrip(",: ")]
        for problem in problems:
            if isinstance(problem, Problem):
                self.problem(path, problem.line or 0, problem.message, codes()[problem.code].hint or error.hint)
            else:
                self.problem(path, *_split(str(problem)), error.hint or "mend the file")

    @property
    def problems(self) -> list[Remark]:
        """What is wrong, file by file and line by line."""
        return in_order(remark for remark in self if not remark.is_warning)


def in_order(remarks: Iterable[Remark]) -> list[Remark]:
    """Each once, by file and line, those of a whole file first."""
    return sorted(dict.fromkeys(remarks), key=lambda remark: (str(remark.path), remark.line))


def refuse(folder: Path, problems: Sequence[Remark]) -> None:
    """One ToolkitError for all that is wrong in a folder; nothing where nothing is."""
    if len(problems) == 1:
        only = problems[0]
        raise ToolkitError(f"{only.place}: {only.what}", only.todo)
    if problems:
        hint = f"`{CHECK} {folder}` prints all problems and warnings"
        raise ToolkitError(f"the benchmark in {folder} has {len(problems)} problems", hint, problems=problems)


def _split(text: str) -> tuple[int, str]:
    """`line 3: no id` -> (3, `no id`)."""
    head, colon, rest = text.partition(": ")
    number = head.removeprefix("line ")
    return (int(number), rest) if colon and head.startswith("line ") and number.isdigit() else (0, text)
