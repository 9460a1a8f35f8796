"""Whether the files of an index or of vectors are those of their record: compared where they changed, and once a day."""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.files import home, write_text
from toolkit.files.formats.indexes import read_index_record, verify_files
from toolkit.files.store import fetched_files
from toolkit.files.texts.per_query_corpus import has_questions, read_questions

DAY = 24 * 3600  # seconds


@contextmanager
def comparing(folders: Iterable[Path], *, again: bool = False) -> Iterator[set[Path]]:
    """Compare the files of folders with their records by a thread, while the block uses them; yields those that were compared,
    once the block has ended.

    again  also where no file has changed since they were last compared, within a day

    When that was is remembered in TANDEM_HOME; where that may not be written they are compared each time. Raises, at the end of
    the block and whatever that raised, ToolkitError for files that are not as they were.
    """
    states = {folder: _state(folder) for folder in folders}
    due = [folder for folder, state in states.items() if again or not _is_remembered(folder, state)]
    compared, failure, work = states.keys() - due, None, Future()
    Thread(target=_compare, args=(due, work), daemon=True).start()  # whoever interrupts the block does not wait for it
    try:
        yield compared
    except Exception as error:  # damaged files may be why
        failure = error
    for folder, problems in work.result().items():
        with suppress(OSError):  # a home that may only be read
            _place(folder).unlink(missing_ok=True)
            if problems == []:
                write_text(_place(folder), states[folder])
        if problems:
            message = f"the files in {folder} are not as they were: {three(problems)}"
            raise ToolkitError(message, "build, encode or fetch it again; remove what is no part of it")
        compared |= set() if problems is None else {folder}
    if failure:
        raise failure


def _compare(folders: Iterable[Path], work: Future) -> None:
    try:
        work.set_result({folder: _problems(folder) for folder in folders})
    except BaseException as error:  # raised where the result is asked for
        work.set_exception(error)


def _problems(folder: Path) -> list[str] | None:
    """A line for each file of a folder that is not as it was written or unpacked; None where nobody knows."""
    record = read_index_record(folder)
    if record and record.get("kind") == "vectors":
        from toolkit.files.formats.vectors import verify_vectors  # numpy

        return verify_vectors(folder)
    if not record or not isinstance(record.get("files"), dict):
        return fetched_files(folder)
    own = {each.folder: _problems(each.folder) for each in read_questions(folder)} if has_questions(folder) else {}
    if None in own.values():
        return None
    return verify_files(folder, record) + [f"{each.name}/{line}" for each, lines in own.items() for line in lines]


def _state(folder: Path) -> str:
    """A digest of what tells files that were written since: names, sizes, times of change, inodes."""
    found = [(path, path.stat()) for path in sorted(folder.resolve().rglob("*")) if path.is_file()]
    facts = [(os.fsencode(path), each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino) for path, each in found]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _place(folder: Path) -> Path:
    """Where the state is remembered in which a folder was last compared; when that was is the file's own time."""
    return home() / "compared" / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()


def _is_remembered(folder: Path, state: str) -> bool:
    with suppress(OSError):
        place = _place(folder)
        return 0 <= time.time() - place.stat().st_mtime < DAY and place.read_bytes() == state.encode()
    return False
