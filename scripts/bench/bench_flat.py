"""Flat search beside bare FAISS: 1,000 queries over 500,000 x 384 vectors, the same index in the same process, in turn.

.venv/bin/python scripts/bench/bench_flat.py
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

from toolkit.core.system.progress import set_quiet
from toolkit.models.lucene.docids import DOCID
from toolkit.models.vectors.faiss_index import INDEX, FaissIndex, fill_faiss, train_faiss, write_faiss


def unit_vectors(count: int, dimension: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def index_of(folder: Path, documents: int, dimension: int, threads: int) -> Path:
    """An index over generated vectors, made where it is not there yet."""
    folder = folder / f"flat-{documents}-{dimension}"
    if not (folder / DOCID).exists():
        folder.mkdir(parents=True, exist_ok=True)
        vectors = [unit_vectors(documents, dimension, 1)]
        write_faiss(fill_faiss(train_faiss(vectors), vectors, threads=threads), folder / INDEX)
        (folder / DOCID).write_text("".join(f"d{number:07d}\n" for number in range(documents)))
    return folder


def timed(work: Callable[[], tuple[np.ndarray, np.ndarray]]) -> tuple[float, float, np.ndarray]:
    """Wall and CPU seconds, and the positions that were found."""
    wall, cpu = time.monotonic(), time.process_time()
    _, positions = work()
    return time.monotonic() - wall, time.process_time() - cpu, positions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tandem-bench"), help="where generated files lie")
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    set_quiet(True)
    folder = index_of(args.folder, args.documents, args.dimension, args.threads)
    queries, bare = unit_vectors(args.queries, args.dimension, 2), faiss.read_index(str(folder / INDEX))
    read, mapped = (FaissIndex.open(folder, mmap=mmap) for mmap in (False, True))
    contestants = {
        "tandem": lambda: read.search(queries, args.hits, args.threads),
        "mapped": lambda: mapped.search(queries, args.hits, args.threads),
        "faiss": lambda: bare.search(queries, args.hits),
    }
    faiss.omp_set_num_threads(args.threads)
    times, found = {name: [] for name in contestants}, {}
    for number in range(1, args.rounds + 1):
        for name, work in contestants.items():
            wall, cpu, found[name] = timed(work)
            times[name].append((wall, cpu))
            print(f"round {number}: {name:<8} {wall:7.2f} s wall {cpu:7.2f} s CPU", flush=True)
    medians = {name: [statistics.median(values) for values in zip(*taken, strict=True)] for name, taken in times.items()}
    for name, (wall, cpu) in medians.items():
        ratios = [mine / theirs for mine, theirs in zip((wall, cpu), medians["faiss"], strict=True)]
        print(f"median:  {name:<8} {wall:7.2f} s wall {cpu:7.2f} s CPU   FAISS's times {ratios[0]:.3f}, {ratios[1]:.3f}")
    pairs = zip(found["tandem"], found["faiss"], strict=True)
    same = np.mean([np.array_equal(np.sort(ours), np.sort(theirs)) for ours, theirs in pairs])
    print(f"the same documents as FAISS's for {same:.1%} of the queries (sums rounded otherwise; ties)")
    return int(medians["tandem"][0] > 1.15 * medians["faiss"][0])


if __name__ == "__main__":
    sys.exit(main())
