"""The safe repairs of `runs verify --fix`: nothing after which a reader of the file would score it differently."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from toolkit.core.system.files import is_stream, open_output
from toolkit.evaluation.run_checks.convert import converted_record, write_converted_record
from toolkit.files.formats import read_run
from toolkit.files.provenance import Recorded
from toolkit.files.runs.lint import Lines, examine_qrels, examine_run, judgment
from toolkit.files.runs.problems import Problem, codes
from toolkit.files.texts.lines import comments, read_bytes


def repair_file(path: str | Path, output: str | Path, *, is_qrels: bool = False) -> list[Problem]:
    """Write a repaired copy of a run, with its record, or of qrels where that is safe; the problems that the file has."""
    if is_qrels:
        return repair_qrels(path, output)
    record = converted_record(Recorded(path, None))  # it may be no run yet
    problems = repair_run(path, output)
    if is_repaired(problems) and not is_stream(output):
        write_converted_record(record, read_run(output), output)
    return problems


def repair_run(path: str | Path, output: str | Path) -> list[Problem]:
    """Write a run with ranks numbered, lines best first, one blank between columns, and equal lines once.

    Scores, the second column and tags stay as they are written, equal scores in the order of the file (`ties='file'` goes
    by it); comments go to the top. Returns all problems that the file has; where an error is among them that no repair
    cures, nothing is written (`is_repaired`).
    """
    data = read_bytes(path)
    lines, problems = examine_run(data)
    if is_repaired(problems):
        _write(output, comments(data), _ranked(lines))
    return problems


def repair_qrels(path: str | Path, output: str | Path) -> list[Problem]:
    """The same for qrels: four columns, one blank between them, equal judgments once, in the order of the file."""
    data = read_bytes(path)
    lines, problems = examine_qrels(data)
    if is_repaired(problems):
        _write(output, comments(data), map(judgment, lines.rows()))
    return problems


def is_repaired(problems: Iterable[Problem]) -> bool:
    """Whether the safe repairs leave no error."""
    return all(codes()[problem.code].fixable for problem in problems if problem.is_error)


def _ranked(lines: Lines) -> Iterator[list[bytes]]:
    rank, query_id = 0, None
    for row in lines.rows(lines.best_first()):
        rank = rank + 1 if row[0] == query_id else 1
        query_id = row[0]
        yield [*row[:3], b"%d" % rank, *row[4:]]


def _write(output: str | Path, top: Iterable[bytes], rows: Iterable[list[bytes]]) -> None:
    with open_output(output) as out:
        for line in top:
            out.write(line + b"\n")
        for row in rows:
            out.write(b" ".join(row) + b"\n")
