"""What the files of rows say of themselves, by their records: digests, versions, and what they took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.files.provenance import part, read_record
from toolkit.studies.planned_rows import tandem_version
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.table_rows import Row

KINDS = {".trec": "run", ".qrels": "qrels", ".tsv": "qrels", ".jsonl": "expanded"}


@dataclass(frozen=True)
class Made:
    """A file with its record.

    name      below the folder of the reproduction
    seconds   that making it took; None where its record does not say
    requests  that were sent to a server or a language model, and `tokens` as the server counted them
    """

    name: str
    sha256: str
    lines: int
    version: str
    seconds: float | None
    requests: int
    tokens: int


def files_of(files: RowFiles, row: Row) -> list[Path]:
    """The files of a row that are there, its run last but one and its labels last."""
    paths = [run.path for run in files.runs(row) if run.path.suffix in KINDS]
    paths += [files.qrels_path(row)]
    return [path for path in dict.fromkeys(paths) if path.is_file()]


def made(files: RowFiles, rows: Sequence[Row]) -> list[tuple[Row, Made]]:
    """Every file of the rows with what its record says, each once."""
    found: dict[Path, tuple[Row, Made]] = {}
    for row in rows:
        for path in files_of(files, row):
            record = read_record(path)
            if path not in found and record is not None:
                found[path] = (row, _made(path, record, files.output))
    return list(found.values())


def _made(path: Path, record: Mapping[str, Any], output: Path) -> Made:
    about, executable = part(record, "data", KINDS[path.suffix]), part(record, "implementation", "executable")
    usages = list(_usages(part(record, "method")))
    seconds = executable.get("wall time")
    return Made(
        str(path.relative_to(output)),
        str(about.get("sha256", "")),
        int(about.get("lines", about.get("queries", 0))),
        str(tandem_version(record)),
        float(seconds) if isinstance(seconds, int | float) else None,
        sum(_count(usage, "asked") for usage in usages),
        sum(_count(usage, "prompt_tokens") + _count(usage, "completion_tokens") for usage in usages),
    )


def _usages(method: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What the last step of a record asked: those before it have files of their own."""
    steps = [step for value in method.values() if isinstance(value, list) for step in value if isinstance(step, Mapping)]
    if steps:
        yield part(steps[-1], "usage")


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name, usage.get(name.replace("_", " "), 0))
    return value if isinstance(value, int) else 0
