"""What reproducing takes, from the registry alone: nothing is fetched, loaded or asked."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home, write_text
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table, labels
from toolkit.datasets import find, load
from toolkit.files.store import index_folder, shown
from toolkit.models.checkpoints.local_checkpoints import check_usable, is_here
from toolkit.models.computing import free_memory, pick_device, pick_precision
from toolkit.models.llm.client import load_llm
from toolkit.models.systems.system_facts import weights
from toolkit.registry.system_kinds import parameter_count
from toolkit.retrieval.rerank.listwise import Sliding, spans
from toolkit.studies.planned_rows import is_sound
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.table_rows import AGREEMENT, DIVERSIFY, EXPAND, STANCE, UNION, Row, Tables, needed

if TYPE_CHECKING:
    from toolkit.studies.reproduce import Reproduction

# what an estimate assumes: tokens of a text, of a question, of an answer in words, of one that lists perspectives or documents
TOKENS, QUESTION, WORD, ANSWER = 200, 20, 4, 200
PERSPECTIVES = 2.3  # of a question of BERDS (section 1 of its paper); GPT-4 writes WRITTEN (section 5)
WRITTEN = 6.1
GPU_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # of NVIDIA, of Windows, of AMD
MEASURED = 0.5  # seconds that the machine's speed is measured for
KEPT = 7 * 86400  # seconds that it is kept for
WIKIPEDIA = 21_015_324  # passages of dpr-w100
MMR_SYSTEM = "uae-large-v1"
COLUMNS = (
    *labels("part", "system"),
    Column("state"),
    Column("inputs", priority=1),
    Column("download", priority=2),
    Column("memory", priority=1),
    Column("time", priority=1),
    Column("requests", priority=2),
    Column("tokens", priority=2),
    Column("recipe", priority=3),
    Column("remark", prose=True, priority=4),
)


@dataclass(frozen=True)
class Step:
    """One thing that a row takes.

    inputs  how much a model reads, in `what`: texts, pairs, windows, questions
    texts   of TOKENS tokens in one of them
    prompt  tokens of what a server is asked for one, and of its `answer`; 0 where no server is asked, wherever the model is
    """

    inputs: int
    what: str
    model: SystemSpec
    texts: int = 1
    prompt: int = 0
    answer: int = 0

    @property
    def operations(self) -> float:
        """Of the processor; NaN where nobody knows the model's size."""
        if self.model.loader == "endpoint" or not self.model.checkpoint:
            return 0.0
        return 2 * (parameter_count(self.model) or math.nan) * (self.inputs * self.texts) * TOKENS

    @property
    def requests(self) -> int:
        """To a server; 0 where the model is on this machine."""
        return self.inputs if self.prompt and self.model.loader == "endpoint" else 0


def plan_table(reproduction: Reproduction, *, here: bool = True) -> Table:
    """A row a run, and what is to be fetched and what cannot be made below.

    here  this machine computes: what has no room in its memory cannot be made
    """
    tables = reproduction.tables
    why: dict[str, str] = {}  # row -> why it cannot be made
    rows = []
    for row in tables.rows:  # each behind those that it needs
        done = _is_made(reproduction.files, row)
        missing = next((name for name in needed(row, tables.rows) if name in why), "")
        if not done and (wrong := f"needs {missing}: {why[missing]}" if missing else _cannot(reproduction, row, here)):
            why[row.name] = wrong
        rows.append(_line(reproduction, row, done, why.get(row.name, "")))
    return Table(COLUMNS, rows, notes=tuple(_notes(reproduction)))


def _line(reproduction: Reproduction, row: Row, done: bool, wrong: str) -> tuple[Cell, ...]:
    steps = [] if done else [*_steps(reproduction.files, row), *_judging(reproduction.tables, row)]
    models = {step.model.name: step.model for step in steps if step.model.checkpoint}
    fetched = sum(
        weights(model, registry.system(model.name).parameters.get("precision", "fp32")) or 0  # as published, not as in a recipe
        for model in models.values()
        if model.loader != "endpoint" and not is_here(model.checkpoint, model.revision)
    )
    memory = max((_memory(reproduction, model) for model in models.values() if model.loader != "endpoint"), default=0)
    seconds = sum(step.operations for step in steps) / speed()
    requests, tokens = sum(step.requests for step in steps), sum(step.requests * (step.prompt + step.answer) for step in steps)
    return (
        row.part.name,
        row.system.name,
        "made" if done else "cannot be made" if wrong else "to be made",
        "; ".join(f"{step.inputs:,} {step.what}" for step in steps) or "-",
        Number(fetched or math.nan, text=shown(fetched) if fetched else "-"),
        Number(memory or math.nan, text=shown(memory) if memory else "-"),
        Number(seconds or math.nan, text=duration(seconds)),
        Number(requests or math.nan, text=f"{requests:,}" if requests else "-"),
        Number(tokens or math.nan, text=f"{tokens:,}" if tokens else "-"),
        row.recipe or ("model card's" if row.system.kind else "-"),
        wrong or row.remark,
    )


def _is_made(files: RowFiles, row: Row) -> bool:
    """Whether the run of a row is there as it would be made now, and a judge's labels of it as their record says."""
    runs = [] if row.part.scores in (AGREEMENT, UNION) else files.runs(row)
    labels = [files.qrels_path(row)] if row.part.judge or row.system.kind == "judge" else []
    if not (runs or labels) or not all(run.path.exists() for run in runs):
        return False
    try:
        return all(is_sound(path, "qrels") for path in labels) and not any(run.reason_to_make() for run in runs)
    except ToolkitError:  # what it is made of is not there
        return False


def _cannot(reproduction: Reproduction, row: Row, here: bool) -> str:
    """Why a system cannot be run here, as far as that is known without a download and without asking a server."""
    device, trust = reproduction.models.get("device"), bool(reproduction.models.get("trust_remote_code"))
    try:
        reproduction.files.index_of(row)
        for system in _models(row):
            asking = reproduction.files.asking_of(system)
            if asking or system.loader == "endpoint":
                load_llm(system, **asking).check()
                continue
            check_usable(system, device=device, trust_remote_code=trust)
            memory = _memory(reproduction, system)
            if here and memory > (free := free_memory(pick_device(device) if device else _usual_device())):
                how = "--device, --precision bf16, --engine"
                return f"{system.name} needs {shown(memory)} of memory, {shown(free)} are free ({how})"
    except ToolkitError as error:
        return f"{error.message} ({error.hint})"
    return ""


def _memory(reproduction: Reproduction, system: SystemSpec) -> int:
    """What its weights take in the precision that they are loaded in; 0 where its size is not known."""
    device = reproduction.models.get("device") or _usual_device()
    return weights(system, pick_precision(system, reproduction.models.get("precision"), device)) or 0


@cache
def _usual_device() -> str:
    """The device that models compute on where none is named. torch, which takes seconds to load, is asked on a machine with
    a GPU alone."""
    return pick_device(None) if any(Path(driver).exists() for driver in GPU_DRIVERS) else "cpu"


def _models(row: Row) -> Iterator[SystemSpec]:
    """The systems that a row needs on this machine or on a server, but for those that make the rows it needs."""
    if row.system.kind and (row.part.has_runs or row.part.scores == AGREEMENT):
        yield _as_sent(row)
    others = (row.part.judge.get("name"), row.part.expander, row.part.stances, MMR_SYSTEM if row.part.how == DIVERSIFY else "")
    yield from map(registry.system, filter(None, others))


def _as_sent(row: Row) -> SystemSpec:
    """The row's system in the row's recipe."""
    return row.system.with_recipe(row.recipe) if row.recipe else row.system


@cache
def _counts(topics: str) -> tuple[int, int]:
    """Queries in all modes, and documents, as the registry says."""
    selection = find(topics, at_hand=False)
    spec = load(selection.benchmark).spec
    counts = [spec.group(group)["counts"] for group in selection.groups]
    corpora = dict.fromkeys(spec.corpus(group) for group in selection.groups)
    documents = sum(spec.group(group)["counts"].get("documents", 0) for group in corpora)
    return sum(count["queries"] for count in counts) * max(1, len(spec.modes)), documents


def _steps(files: RowFiles, row: Row) -> Iterator[Step]:
    """What making its run takes; nothing where another row makes it."""
    queries, documents = _counts(row.part.topics)
    if row.part.scores == STANCE and row == next(each for each in files.tables.rows if each.part.scores == STANCE):
        yield Step(queries, "questions", registry.system(row.part.stances), prompt=QUESTION + TOKENS, answer=WORD)
    if not row.part.has_runs:
        return
    if row.part.how == DIVERSIFY:
        yield Step(queries * int(row.part.search["hits"]), "texts", registry.system(MMR_SYSTEM))
    elif row.part.how == EXPAND:
        first = next(each for each in files.tables.rows if each.part.name == row.part.name)
        if row == first:  # the others search for the same perspectives
            yield Step(queries, "questions", registry.system(row.part.expander), prompt=QUESTION + TOKENS, answer=ANSWER)
        yield Step(round(queries * WRITTEN), "queries", _as_sent(row))
    elif row.reranks:
        yield _reranking(row, queries)
    else:
        read = queries + (0 if "index" in row.part.search else documents)
        read += WIKIPEDIA if files.builds_index(row) else 0
        yield Step(read, "texts", _as_sent(row))


def _reranking(row: Row, queries: int) -> Step:
    system = _as_sent(row)
    sliding = Sliding(**{name: system.parameters[name] for name in Sliding._fields if name in system.parameters})
    if system.kind != "listwise":
        return Step(queries * sliding.depth, "pairs", system, prompt=QUESTION + TOKENS, answer=WORD)
    windows = queries * len(spans(sliding.depth, sliding.window, sliding.step)) * sliding.passes
    prompt, answer = QUESTION + sliding.window * TOKENS, sliding.window * WORD
    return Step(windows, "windows", system, sliding.window, prompt, answer)


def _judging(tables: Tables, row: Row) -> Iterator[Step]:
    """Pairs that a judge reads: the best documents of a question, each with all of its perspectives.

    What a union is of was judged with its runs, where these are judged as deep; and so was what stances are counted in.
    """
    if row.part.scores == STANCE and tables.row(f"{row.part.of}/{row.system.name}").cells:
        return
    if any(
        row.part.scores == UNION and each.part.of == row.part.of and each.part.judge == row.part.judge
        for each in tables.rows
        if each.part.name != row.part.name
    ):
        return
    if row.part.judge and row.cells:
        model, queries = registry.system(row.part.judge["name"]), _counts(row.part.topics)[0]
        pairs = round(queries * int(row.part.judge["depth"]) * PERSPECTIVES)
    elif row.part.scores == AGREEMENT and row.system.kind:
        model, pairs = _as_sent(row), 2 * _counts(row.part.topics)[1]
    else:
        return
    yield Step(pairs, "pairs to judge", model, prompt=QUESTION + TOKENS, answer=WORD)


@cache
def speed() -> float:
    """What this machine's processors compute, in floating point operations a second: products of matrices, timed.

    Measured once a week and kept in TANDEM_HOME, a file a machine: estimates of two calls are of one measurement.
    """
    path = home() / "speed" / f"{platform.node() or 'machine'}-{os.cpu_count()}.txt"
    with suppress(OSError, ValueError):
        known = float(path.read_text())
        if math.isfinite(known) and known > 0 and time.time() - path.stat().st_mtime < KEPT:
            return known
    size = 1024
    matrix, best, end = np.ones((size, size), np.float32), math.inf, time.perf_counter() + MEASURED
    while time.perf_counter() < end:  # others may be computing, too: the fastest one counts
        started = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - started)
    found = 2 * size**3 / best
    with suppress(OSError):  # a home that cannot be written is measured each time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{found}\n")
    return found


def duration(seconds: float | None) -> str:
    """`2 d 3 h`, `3 h 20 min`, `20 min 5 s`, `5.1 s`; a dash where it is 0 or not known."""
    if not seconds or math.isnan(seconds):
        return "-"
    for (unit, length), (of_rest, part) in pairwise((("d", 86400), ("h", 3600), ("min", 60), ("s", 1))):
        if seconds >= length:
            whole, rest = divmod(round(seconds), length)
            return f"{whole:,} {unit} {rest // part} {of_rest}"
    return f"{seconds:.1f} s"


def _notes(reproduction: Reproduction) -> Iterator[str]:
    tables, files = reproduction.tables, reproduction.files
    for name in dict.fromkeys(row.part.topics for row in tables.rows):
        selection = find(name, at_hand=False)
        benchmark = load(selection.benchmark)
        queries, documents = _counts(name)
        present = sum(map(benchmark.is_present, selection.groups))
        size = f"{queries:,} queries" + (f", {documents:,} documents" if documents else "")
        where = benchmark.spec.source.get("data", benchmark.spec.source["url"])
        yield f"data: {name}, {size}, {where}: {present} of {len(selection.groups)} groups are on this machine"
    names: dict[str, None] = {}
    for row in tables.rows:
        with suppress(ToolkitError):  # it has to be named first
            names |= {files.index_of(row): None} if row.part.has_runs else {}
    for name in names:
        if name in registry.indexes() or name in registry.index_aliases():
            index = registry.index(name)
            here = "is on this machine" if index_folder(index).exists() else f"{shown(index.size)} to download"
            yield f"index: {index.name}, {here}"
    for row in tables.rows:
        if row.part.has_runs and not row.part.how and files.builds_index(row):
            yield f"index: {files.index_of(row)} is built of {row.part.corpus}, {WIKIPEDIA:,} passages"
    yield (
        f"time: 2 operations a parameter and token, {TOKENS} tokens a text, on this machine's processors "
        f"({speed() / 1e9:,.0f} GFLOP/s measured, kept for a week in {home() / 'speed'}); a GPU is some hundred times faster"
    )
    if any(row.part.judge or row.part.expander or row.system.loader == "endpoint" for row in tables.rows):
        yield (
            f"requests: {PERSPECTIVES} perspectives a question, {WRITTEN} written ones; what is equal is asked once, what "
            "is cached not at all; tokens are those of prompts and answers, estimated"
        )
    for place, why in unmade_places(tables):
        yield f"not made: {place}: {why}"


def unmade_places(tables: Tables) -> list[tuple[str, str]]:
    """What cannot be made, `tables 3, 4 (sphere)`, and why; what has one reason together."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for entry in tables.unmade:
        corpus = entry.get("group", "").removeprefix("/")
        where = corpus or " ".join(value for name, value in entry.items() if name not in ("table", "why"))
        places.setdefault((entry["why"], where), {})[entry["table"]] = None
    named = []
    for (why, where), found in places.items():
        names = ", ".join(sorted(found, key=lambda name: (len(name), name)))
        names = f"table{'s' * (len(found) > 1)} {names}" if next(iter(found)).isdigit() else names
        named.append((f"{names}{f' ({where})' if where else ''}", why))
    return named
