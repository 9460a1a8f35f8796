"""What was built, as a benchmark: a folder that `benchmarks check` accepts, with who made each query and document.

`provenance.jsonl` has a line for each query and document: `{"id": ..., "made": [{"role", "by", "family", "prompt", "sha256",
"step"}]}`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.construction.records.item_history import BuiltSteps
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.system.files import open_output
from toolkit.datasets.own import PROVENANCE, is_benchmark_folder
from toolkit.datasets.own.own_new import Content, new_folder
from toolkit.files.store import sharing


def written(to: Path, write: Callable[[Path], None]) -> Path:
    """A folder as `write` fills it, whole or not at all. One that was built before is replaced; ToolkitError for any other."""
    is_ours = is_benchmark_folder(to) and (to / PROVENANCE).is_file()
    is_empty = not to.exists() or (to.is_dir() and not any(to.iterdir()))
    if not is_ours and not is_empty:
        raise ToolkitError(f"{to} is there and was not built", "name a folder that is not there yet")
    with sharing.new_folder(to) as part:
        write(part)
    return to


def write_benchmark(
    build: BuiltSteps,
    folder: Path,
    content: Content,
    modes: Modes,
    *,
    made: Mapping[str, Iterable[Mapping[str, str]]],
    measures: Sequence[str] = (),
    more: Mapping[str, Any] = {},
) -> None:
    """Write what a kind made of its steps into the empty folder that it was given.

    made      id of each query and document -> who made it: what `BuiltSteps.made` has of the items that it is made of
    measures  that the table shows
    more      further keys of benchmark.yaml: `description`, `groups`, `language`

    Raises ToolkitError where there is no query.
    """
    if not content.rows and not any(content.topics.values()):
        raise ToolkitError("the steps left no query", "`tandem build status` says which step rejected them, and why")
    source = {"source": dict(build.config.seeds.source())} if build.config.seeds.source() else {}
    description = {"description": f"built by tandem build, kind {build.config.kind}"}
    named = {"name": build.to.resolve().name, "place": build.to}
    new_folder(folder, content, modes, measures=measures, more={**description, **source, **more}, **named)
    write_provenance(folder, made)


def write_provenance(folder: Path, made: Mapping[str, Iterable[Mapping[str, str]]]) -> None:
    """Write who made each query and document. made: id -> what `BuiltSteps.made` has of the items that it is made of."""
    with open_output(folder / PROVENANCE) as out:
        for name, rows in made.items():
            out.write((json.dumps({"id": name, "made": list(rows)}, ensure_ascii=False) + "\n").encode())
