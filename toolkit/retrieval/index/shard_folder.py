"""Where the shards of an index wait until it is put together of them: an interrupted build finds those that are complete."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.system.yaml_json import decode_json
from toolkit.engine import Executor, LocalExecutor, Work
from toolkit.engine.places import Place
from toolkit.engine.unit_files import UnitFiles, digest_of, packed_text
from toolkit.engine.units import identity_of
from toolkit.files.store import lock_folder


def shards_beside(output: Path) -> Path:
    """The folder of an index's shards while it is built."""
    return output.absolute().with_name(f".{output.name}.shards")


@contextmanager
def shard_folder(output: Path) -> Iterator[Path]:
    """That folder, which is this process's alone; removed when the block ends well, so that an interrupted build resumes."""
    folder = shards_beside(output)
    with lock_folder("shards", folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield folder
        except BaseException:
            if not any(path.is_file() for path in folder.rglob("*")):  # where nothing is complete, nothing is left
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder)


def compute(executor: Executor, work: Work, units: Iterable[Any], folder: Path) -> Iterator[Any]:
    """The results of units, in their order; those that are in the folder from an interrupted build are not computed again.

    Engines of workers leave results in a place of their own; here they are left where one process computes.
    """
    if not isinstance(executor, LocalExecutor):
        return executor.map(work, units)
    files, target = UnitFiles(Place(folder), identity_of(work, work.facts())), work.folder

    def computed(unit: Any) -> Any:
        text = packed_text(work.pack(unit))
        digest = digest_of(text)
        try:
            files.collect(digest, target)
        except (FileNotFoundError, ValueError):  # not there, or damaged
            try:
                with files.place.scratch() as work.folder:
                    files.write_result(digest, work.compute(decode_json(text, halves=True)), work.folder)
            finally:
                work.folder = target
            files.collect(digest, target)
        else:
            work.moved(work.size(unit))  # `compute` says itself how far it is
        return work.result(files.result(digest))

    return executor.map(computed, units)
