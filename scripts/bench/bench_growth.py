"""How time, memory and disk grow: whole commands over three sizes each, with the exponent that fits them.

.venv/bin/python scripts/bench/bench_growth.py FOLDER --output scripts/bench/growth.json
.venv/bin/python scripts/bench/bench_growth.py FOLDER --only index evaluate --most 100000

Each command also runs with `START` units, and that time, memory and disk are taken off before the exponent is fitted: 1 is
linear. CPU seconds are shown and fitted, as wall seconds (in the file) depend on what else the machine does. The memory is the
peak of the process that was called (VmHWM); of `--engine ray` that is the driver without its workers. Files of a size are made
once, in FOLDER (about 25 GB for all).
"""

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench_diff import write_files
from bench_rerank import checkpoint
from generate import write_corpus, write_topics

START = 10  # units of what is taken off as the start of a command
SEEN = 0.1
TRAINED = 1000  # the same of an index type that has to be trained on documents
DOCUMENTS, QUERIES, LINES = (10_000, 100_000, 1_000_000), (100, 1000, 10_000), (100_000, 1_000_000, 20_000_000)
TYPICAL = {"documents": 100_000, "queries": 1000}  # of what a step does not vary
DEPTH = 10  # candidates that are reranked
HITS = 1000  # lines of a query in runs
PQ = "IVF{lists},PQ16np"  # np: without training what only a filter by Hamming distance needs, which takes a minute
WIDTH = 64  # of the tiny encoder and its vectors
LENGTH = 32  # tokens that it reads: what a model costs is in the guide's table, not here
SYSTEMS = {  # class of transformers -> the registry's entry of a system of two layers
    "BertModel": {
        "name": "tiny",
        "kind": "dense",
        "parameters": {"pooling": "mean", "similarity": "cos", "query_length": LENGTH, "passage_length": LENGTH},
    },
    "BertForSequenceClassification": {"name": "tiny-cross", "kind": "cross-encoder", "parameters": {"length": LENGTH}},
}


class Files:
    """What commands read, made when it is asked for first and left alone afterwards."""

    def __init__(self, folder: Path):
        self.folder = folder

    def corpus(self, documents: int) -> Path:
        """Documents of 30 to 90 words, in two files."""
        return write_corpus(self.folder, documents)

    def headlines(self, documents: int) -> Path:
        """Documents of 4 to 10 words, to encode: how many there are is what grows, and what a long one costs is known."""
        return write_corpus(self.folder, documents, bounds=(4, 10))

    def topics(self, queries: int) -> Path:
        """Queries of 4 to 24 words."""
        path = self.folder / f"topics-{queries}-0.tsv"
        return path if path.exists() else write_topics(self.folder, queries)

    def systems(self) -> list[str]:
        """The options that name a dense encoder and a cross-encoder of two layers, 64 wide."""
        listed = self.folder / "systems.yaml"
        if not listed.exists():
            made = {kind: str(checkpoint(self.folder / kind, kind, layers=2, width=WIDTH)) for kind in SYSTEMS}
            entries = [{**its, "description": "two layers", "checkpoint": made[kind]} for kind, its in SYSTEMS.items()]
            listed.write_text(json.dumps(entries), encoding="utf-8")
        return ["--systems", str(listed)]

    def lucene(self, documents: int) -> Path:
        """A Lucene index."""
        return self._made(f"lucene-{documents}", lambda: ["index", str(self.corpus(documents))])

    def vectors(self, documents: int) -> Path:
        """Encoded documents."""
        return self._made(
            f"vectors-{documents}", lambda: ["encode", str(self.headlines(documents)), "--system", "tiny", *self.systems()]
        )

    def faiss(self, documents: int, factory: str) -> Path:
        """A FAISS index of encoded documents."""
        name = f"faiss-{factory.split(',')[-1]}-{documents}"
        return self._made(name, lambda: ["index", str(self.vectors(documents)), "--type", "faiss", "--factory", factory])

    def runs(self, lines: int) -> list[Path]:
        """Two runs of so many lines each, and their judgments."""
        folder = self.folder / f"runs-{lines}"
        paths = [folder / name for name in ("a.trec", "b.trec", "qrels.txt")]
        if not paths[-1].exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_files(folder, max(1, lines // HITS), min(lines, HITS))
        return paths

    def _made(self, name: str, command: Callable[[], list[str]]) -> Path:
        path = self.folder / name
        if not path.exists():
            subprocess.run([*tandem(command()), "--output", str(path), "--quiet"], check=True)
        return path


@dataclass(frozen=True)
class Step:
    """A command whose size is varied.

    unit     what its size counts
    sizes    how many, smallest first
    command  of a size, without `--output`; asking for it makes what it reads
    name     of the folder or file that it writes for a size: what other steps read has the name they know it by
    start    units of its start
    """

    unit: str
    sizes: tuple[int, ...]
    command: Callable[[int], list[str]]
    name: Callable[[int], str]
    start: int = START


@dataclass(frozen=True)
class Taken:
    """What a command took: wall and CPU seconds, peak memory and disk in bytes."""

    size: int
    wall: float
    cpu: float
    memory: int
    disk: int


def steps(files: Files) -> dict[str, Step]:
    """All commands, in an order in which a later one reads what an earlier one wrote."""
    documents, queries = TYPICAL["documents"], TYPICAL["queries"]

    def search(index: Path, count: int, *options: str) -> list[str]:
        return ["search", "--topics", str(files.topics(count)), "--index", str(index), *options]

    def dense(index: Path, count: int) -> list[str]:
        return search(index, count, "--system", "tiny", *files.systems())

    def rerank(count: int) -> list[str]:
        first = files.folder / f"first-{count}.trec"
        if not first.exists():
            full = [*search(files.lucene(documents), count, "--hits", str(DEPTH)), "--output", str(first), "--quiet"]
            subprocess.run(tandem(full), check=True)
        texts = ["--topics", str(files.topics(count)), "--docs", str(files.corpus(documents))]
        return ["rerank", "--run", str(first), *texts, "--system", "tiny-cross", *files.systems()]

    def scored(command: str, count: int, *options: str) -> list[str]:
        a, b, qrels = map(str, files.runs(count))
        return [command, a, *([] if command == "evaluate" else [b]), "--qrels", qrels, *options]

    def encode(count: int, *options: str) -> list[str]:
        return ["encode", str(files.headlines(count)), "--system", "tiny", *files.systems(), *options]

    return {
        "index, Lucene": Step("documents", DOCUMENTS, lambda n: ["index", str(files.corpus(n))], lambda n: f"lucene-{n}"),
        "search, BM25": Step("documents", DOCUMENTS, lambda n: search(files.lucene(n), queries), "bm25-{}.trec".format),
        "search, BM25, more queries": Step(
            "queries", QUERIES, lambda n: search(files.lucene(documents), n), "bm25-queries-{}.trec".format
        ),
        "encode, 2 layers": Step("documents", DOCUMENTS, encode, lambda n: f"vectors-{n}"),
        "encode, 2 layers, 2 Ray workers": Step(
            "documents", DOCUMENTS[1:], lambda n: encode(n, "--engine", "ray", "--workers", "2"), "vectors-ray-{}".format
        ),
        "index, flat": Step(
            "documents", DOCUMENTS, lambda n: ["index", str(files.vectors(n)), "--type", "faiss"], lambda n: f"faiss-Flat-{n}"
        ),
        "search, flat": Step("documents", DOCUMENTS, lambda n: dense(files.faiss(n, "Flat"), queries), "flat-{}.trec".format),
        "search, flat, more queries": Step(
            "queries", QUERIES, lambda n: dense(files.faiss(documents, "Flat"), n), "flat-queries-{}.trec".format
        ),
        "index, IVF-PQ": Step(
            "documents",
            DOCUMENTS,
            lambda n: ["index", str(files.vectors(n)), "--type", "faiss", "--factory", pq(n)],
            lambda n: f"faiss-PQ16np-{n}",
            TRAINED,
        ),
        "search, IVF-PQ": Step(
            "documents", DOCUMENTS, lambda n: dense(files.faiss(n, pq(n)), queries), "pq-{}.trec".format, TRAINED
        ),
        f"rerank {DEPTH} of each, 2 layers": Step("queries", QUERIES, rerank, "reranked-{}.trec".format),
        "evaluate": Step("run lines", LINES, lambda n: scored("evaluate", n), "evaluate-{}.txt".format),
        "diff": Step("run lines", LINES, lambda n: scored("diff", n, "--exit-zero"), "diff-{}.html".format),
        "report": Step("run lines", LINES, lambda n: scored("report", n), "report-{}.html".format),
    }


def pq(documents: int) -> str:
    """An index type whose lists grow with the root of the documents, as FAISS's guidelines say."""
    return PQ.format(lists=2 ** round(math.log2(max(1, 2 * math.sqrt(documents)))))


def tandem(command: list[str]) -> list[str]:
    """The whole command line."""
    return [sys.executable, "-m", "toolkit", *command]


def disk(path: Path) -> int:
    """Bytes of a file, or of all in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def measure(command: list[str], output: Path | None, log: Path) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds (children that it waited for, too) and peak memory in bytes of one process."""
    peak, ended = 0, threading.Event()

    def watch(pid: int) -> None:
        nonlocal peak
        while not ended.wait(0.01):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except FileNotFoundError:
                return
            peak = max([peak, *(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))])

    full = [*tandem(command), "--quiet", *(["--output", str(output)] if output else [])]
    start = time.monotonic()
    with log.open("w") as out:
        child = subprocess.Popen(full, stdout=out, stderr=subprocess.STDOUT)
        watcher = threading.Thread(target=watch, args=(child.pid,))
        watcher.start()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        ended.set()
        watcher.join()
    if child.returncode:
        sys.exit(f"{' '.join(full)} ended with {child.returncode}:\n{log.read_text()[-2000:]}")
    return wall, used.ru_utime + used.ru_stime, peak


def take(files: Files, step: Step, size: int) -> Taken:
    """Run the command of one size, into what was not there."""
    command, log = step.command(size), files.folder / "log"
    output = files.folder / step.name(size)
    shutil.rmtree(output, ignore_errors=True)
    output.unlink(missing_ok=True)
    printed = command[0] == "evaluate"  # it writes its table alone
    wall, cpu, memory = measure(command, None if printed else output, log)
    if printed:
        shutil.copy(log, output)
    return Taken(size, wall, cpu, memory, disk(output))


def exponent(taken: list[Taken], start: Taken, of: str) -> float | None:
    """The slope of the least-squares line through (log size, log of what is more than at the start); None under two points.

    Only sizes that take a `SEEN` part more than the start count: of what is less, noise is the most.
    """
    begun = getattr(start, of)
    points = [(math.log(each.size), getattr(each, of) - begun) for each in taken]
    points = [(size, math.log(more)) for size, more in points if more > SEEN * begun]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    across = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / across


def rows(measured: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The table: a row a command and size; the exponents stand in its last row."""
    table = []
    for name, entry in measured.items():
        start, taken = Taken(**entry["start"]), [Taken(**each) for each in entry["taken"]]
        for each in taken:
            fitted = {of: exponent(taken, start, of) for of in ("cpu", "memory", "disk")} if each is taken[-1] else {}
            cells = [f"{each.cpu:.1f}", f"{each.memory / 1e6:,.0f}", f"{each.disk / 1e6:,.1f}"]
            shown = [f"{value:.2f}" if value is not None else "" for value in fitted.values()] or [""] * 3
            table.append([name if each is taken[0] else "", f"{each.size:,} {entry['unit']}", *cells, *shown])
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where generated files lie")
    parser.add_argument("--only", nargs="+", metavar="STEP", help="steps whose name begins so")
    parser.add_argument("--most", type=int, default=max(LINES), help="largest size")
    parser.add_argument("--output", type=Path, help="what was measured, as JSON; steps that are not measured now stay in it")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    measured = json.loads(args.output.read_text()) if args.output and args.output.exists() else {"steps": {}}
    measured["machine"] = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    for name, step in steps(Files(args.folder)).items():
        if args.only and not name.startswith(tuple(args.only)):
            continue
        files = Files(args.folder)
        start = take(files, step, step.start)
        taken = [take(files, step, size) for size in step.sizes if size <= args.most]
        measured["steps"][name] = {"unit": step.unit, "start": asdict(start), "taken": [asdict(each) for each in taken]}
        for row in rows({name: measured["steps"][name]}):
            print(" | ".join(row), flush=True)
        if args.output:
            args.output.write_text(json.dumps(measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
