"""Names and what is known of them: benchmarks, systems, prebuilt indexes, registered runs. All of it is data beside this file.

A user's own entries in `TANDEM_HOME/registry/{benchmarks,systems,indexes,regressions}/*.yaml` are read beside ours, in the
same form. An unknown name is a ToolkitError with the nearest right one.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.specs import BenchmarkSpec, IndexSpec, MeasureSpec, RegressionSpec, SystemSpec
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import read_json, read_yaml
from toolkit.registry.loader import FOLDER, Unread, entries, look_up, refuse_taken, to_spec
from toolkit.registry.loader import known_modes as known_modes
from toolkit.registry.loader import modes_of as modes_of
from toolkit.registry.loader import unnamed_modes as unnamed_modes

SPECS = {"benchmarks": BenchmarkSpec, "systems": SystemSpec, "indexes": IndexSpec, "regressions": RegressionSpec}


def unread(kind: str) -> tuple[Unread, ...]:
    """The files in TANDEM_HOME/registry/<kind> that are no entries. What does not need them goes without."""
    return _entries(kind)[1]


def warn_unread(kind: str) -> None:
    """Say which files are left out of a list of entries."""
    for one in unread(kind):
        say(f"warning: left out: {one}")


def _entries(kind: str) -> tuple[dict, tuple[Unread, ...]]:
    return entries(kind, SPECS[kind], _pyserinis() if kind == "indexes" else frozenset())


@functools.cache
def _pyserinis() -> frozenset[str]:
    """The names of indexes that a user's has only where it says `override`."""
    return frozenset((*prebuilt(), *index_aliases()))


def benchmark(name: str) -> BenchmarkSpec:
    """The benchmark of this name (`infosearch`)."""
    return look_up("benchmark", name, *_entries("benchmarks"))


def benchmarks() -> dict[str, BenchmarkSpec]:
    """All benchmarks by name: ours in alphabetical order, then the user's."""
    return _entries("benchmarks")[0]


def system(name: str) -> SystemSpec:
    """The system of this name (`bm25`)."""
    return look_up("system", name, *_entries("systems"))


def systems() -> dict[str, SystemSpec]:
    """All systems by name: ours, file by file in alphabetical order and each in its own, then the user's."""
    return _entries("systems")[0]


def index(name: str) -> IndexSpec:
    """The prebuilt index of this name; short names (`msmarco`) and those that Pyserini keeps for old papers work too."""
    refuse_taken(name, unread("indexes"))
    return look_up("prebuilt index", index_aliases().get(name, name), indexes(), unread("indexes"))


def indexes() -> dict[str, IndexSpec]:
    """All prebuilt indexes by name: Pyserini's, then the user's. Aliases are not among them."""
    return {**prebuilt(), **_entries("indexes")[0]}


@functools.cache
def prebuilt() -> dict[str, IndexSpec]:
    """Pyserini's prebuilt indexes by name, in its order, from the snapshot of `scripts/snapshot_indexes`."""
    columns = _snapshot()["columns"]
    rows = (dict(zip(columns, row, strict=True)) for row in _snapshot()["indexes"])
    return {row["name"]: IndexSpec(**{**row, "urls": tuple(row["urls"])}) for row in rows}


@functools.cache
def index_aliases() -> dict[str, str]:
    """Other names of indexes: Pyserini's own, then ours."""
    return {**_snapshot()["aliases"], **read_yaml(FOLDER / "index-aliases.yaml")}


@functools.cache
def _snapshot() -> dict:
    return read_json(FOLDER / "indexes" / "pyserini.json")


def regression(name: str) -> RegressionSpec:
    """The registered run of this id (`infosearch-mini.ins.bm25.v2`); without a version the latest, which a note says."""
    known, unread_files = _entries("regressions")
    own = (re.fullmatch(rf"{re.escape(name)}\.v(\d+)", known_name) for known_name in known)
    versions = {int(match[1]): match[0] for match in own if match}
    if name in known or not versions:
        return look_up("regression", name, known, unread_files)
    warn_unread("regressions")
    latest = versions[max(versions)]
    say(f"note: {latest} is the latest version of {name}")
    return known[latest]


def regressions() -> dict[str, RegressionSpec]:
    """All registered runs by id: ours in alphabetical order, then the user's."""
    return _entries("regressions")[0]


def pyserini_topics() -> dict[str, str]:
    """Pyserini's names of topics -> the ids under which ir_datasets has the same sets."""
    return read_yaml(FOLDER / "pyserini-topics.yaml")


@functools.cache
def measures() -> dict[str, MeasureSpec]:
    """The measures that Tandem adds to ir_measures, by name: the rows of `measures.yaml`."""
    path = FOLDER / "measures.yaml"
    return {name: to_spec(MeasureSpec, {"name": name, **row}, f"{path}, {name}") for name, row in read_yaml(path).items()}


def measure(text: str) -> MeasureSpec:
    """The row of a measure, as ir_measures writes it (`WISE(variant='release')@20`); an empty one where it is not ours."""
    name = text.partition("@")[0].partition("(")[0]
    return measures().get(name) or MeasureSpec(name, title="", text="", function="", over="", source="")


def letters(name: str) -> str:
    """What tells a measure's name from others: case and punctuation do not (`p-MRR` is `pMRR`)."""
    return re.sub(r"[\W_]", "", name).casefold()


def with_evidence() -> list[str]:
    """The benchmarks, and groups of some, of whose runs `scripts/measure_evidence` computed something."""
    return sorted(path.stem for path in (FOLDER / "evidence").glob("*.yaml"))


@functools.cache
def evidence(benchmark: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """What was computed -> its rows, each with `measure`, `mode` and numbers; nothing for a benchmark without a record.

    baselines       the value of each run, with its interval: the registered ones, of a group those that were searched for it
    references      what BM25, its placebo and other orders of its lists score
    detectable      the smallest difference that the core queries show
    discrimination  how many core queries the measure needs to decide between two runs
    agreement       how alike it and another measure order the runs
    sensitivity     what fewer digits, other ties and shorter lists change
    """
    return read_yaml(FOLDER / "evidence" / f"{benchmark}.yaml") if benchmark in with_evidence() else {}
