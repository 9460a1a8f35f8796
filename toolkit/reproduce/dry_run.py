"""What reproducing takes, from the registry alone: nothing is fetched, loaded or asked."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from toolkit import registry
from toolkit.benchmarks import find, load
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.models.checkpoints import check_usable, free_memory
from toolkit.provenance import is_recorded, read_record
from toolkit.reproduce.table_rows import Row
from toolkit.rerank.listwise import Sliding, spans
from toolkit.store import shown
from toolkit.systems.system_facts import parameters, weights

if TYPE_CHECKING:
    from toolkit.reproduce import Reproduction

TOKENS = 200  # of a text, on average: what an estimate assumes
COLUMNS = (
    Column("part", label=True),
    Column("system", label=True),
    Column("state"),
    Column("inputs", priority=1),
    Column("weights", priority=2),
    Column("memory", priority=1),
    Column("time", priority=1),
    Column("recipe", priority=3),
    Column("remark", prose=True, priority=4),
)


def plan_table(reproduction: Reproduction) -> Table:
    """A row a run, and what is to be fetched and what cannot be made below."""
    rows = [_line(reproduction, row) for row in reproduction.tables.rows]
    return Table(COLUMNS, rows, notes=tuple(_notes(reproduction)))


def _line(reproduction: Reproduction, row: Row) -> tuple[Cell, ...]:
    system, path = row.system, reproduction.planned(row).path
    record = read_record(path) if path.exists() else None
    done = is_recorded(record, path, "run")
    wrong = "" if done else _cannot(reproduction, row)
    inputs, what = _inputs(row)
    precision = system.parameters.get("precision", "fp32")
    size, needed = weights(system, precision), weights(system, "fp32")
    texts = inputs * (Sliding().window if what == "windows" else 1)
    flops = 2 * (parameters(system) or math.nan) * texts * TOKENS
    seconds = flops / speed() if system.loader != "endpoint" and not done and system.checkpoint else math.nan
    return (
        row.part.name,
        system.name,
        "made" if done else "cannot be made" if wrong else "to be made",
        Number(inputs, text=f"{inputs:,} {what}"),
        Number(size or math.nan, text=shown(size) if size else "-"),
        Number(needed or math.nan, text=shown(needed) if needed else "-"),
        Number(seconds, text=_duration(seconds)),
        row.recipe or "model card's",
        wrong or row.remark,
    )


def _cannot(reproduction: Reproduction, row: Row) -> str:
    """Why a system cannot be run here, as far as that is known without a download."""
    try:
        trust = bool(reproduction.models.get("trust_remote_code"))
        check_usable(row.system, device=reproduction.models.get("device"), trust_remote_code=trust)
    except ToolkitError as error:
        return f"{error.message} ({error.hint})"
    index = row.part.search.get("index")
    if index and not row.reranks and row.system.checkpoint and registry.index(index).kind == "lucene":
        return f"no prebuilt vectors of {index}: tandem encode {index} --system {row.system.name}, then tandem index"
    needed = weights(row.system, reproduction.models.get("precision") or "fp32")
    if needed and row.system.loader != "endpoint" and not reproduction.models.get("device") and needed > free_memory("cpu"):
        return f"needs {shown(needed)} of memory, {shown(free_memory('cpu'))} are free (--device, --precision bf16)"
    return ""


def _inputs(row: Row) -> tuple[int, str]:
    """How much a model reads: texts that are encoded, pairs that are scored, or windows that are asked."""
    selection = find(row.part.topics, at_hand=False)
    spec = load(selection.benchmark).spec
    counts = [spec.group(group)["counts"] for group in selection.groups]
    queries = sum(count["queries"] for count in counts) * max(1, len(spec.modes))
    settings = {**row.system.parameters, **row.system.recipes.get(row.recipe, {}).get("parameters", {})}
    sliding = Sliding(**{name: settings[name] for name in Sliding._fields if name in settings})
    if row.system.kind == "listwise":
        return queries * len(spans(sliding.depth, sliding.window, sliding.step)) * sliding.passes, "windows"
    if row.reranks:
        return queries * sliding.depth, "pairs"
    documents = 0 if "index" in row.part.search else sum(count.get("documents", 0) for count in counts)
    return queries + documents, "texts"


@cache
def speed() -> float:
    """What this machine's processors compute, in floating point operations a second: a product of matrices, timed."""
    matrix = np.ones((1024, 1024), np.float32)
    matrix @ matrix
    started = time.perf_counter()
    for _ in range(3):
        matrix @ matrix
    return 3 * 2 * 1024**3 / (time.perf_counter() - started)


def _duration(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _notes(reproduction: Reproduction) -> Iterator[str]:
    tables = reproduction.tables
    for name in dict.fromkeys(row.part.topics for row in tables.rows):
        selection = find(name, at_hand=False)
        spec = load(selection.benchmark).spec
        present = sum(map(load(selection.benchmark).is_present, selection.groups))
        where = spec.source.get("data", spec.source["url"])
        yield f"data: {name}, {where}: {present} of {len(selection.groups)} groups are on this machine"
    for name in dict.fromkeys(row.part.search["index"] for row in tables.rows if "index" in row.part.search):
        index = registry.index(name)
        yield f"index: {index.name}, {shown(index.size)} to download where it is not here"
    yield (
        f"time: 2 operations a parameter and token, {TOKENS} tokens a text, on this machine's processors "
        f"({speed() / 1e9:,.0f} GFLOP/s measured); a GPU is some hundred times faster"
    )
    for table, why in tables.unmade.items():
        yield f"not made: table {table}: {why}"
