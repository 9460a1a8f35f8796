"""`toolkit.evaluation` with every measure of the table, beside the `ir_measures` command for nDCG@10 alone, on the same files.

Makes three run files (one a mode) and their qrels once, then runs the two in turns and prints medians, ratio, CPU and memory.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MODES = ("ori", "ins", "rev")
DOCUMENTS = 500_000
CORES_SHARE = 4  # instructed queries of one core query
JUDGED = 8  # documents judged for a query; in the original mode the first CORES_SHARE are relevant


def write_files(folder: Path, queries: int, hits: int, seed: int) -> None:
    """Runs of `queries` x `hits` lines a mode; document ids look like a web collection's."""
    for mode in MODES:
        rng = np.random.default_rng([seed, MODES.index(mode)])
        with (folder / f"run.{mode}.trec").open("w") as run, (folder / f"qrels.{mode}.txt").open("w") as qrels:
            for query in range(queries):
                query_id = f"core{query // CORES_SHARE:04d}-{query % CORES_SHARE + 1}"
                first = query // CORES_SHARE * JUDGED
                gold = first + query % CORES_SHARE
                docs = np.unique(np.append(rng.integers(0, DOCUMENTS, hits), first + rng.integers(0, JUDGED, 3)))
                docs = rng.permutation(docs)[:hits]
                scores = np.sort(rng.gamma(2.0, 8.0, len(docs)))[::-1]
                lines = enumerate(zip(docs.tolist(), scores.tolist(), strict=True), 1)
                run.writelines(f"{query_id} Q0 clueweb-{doc:07d} {rank} {score:.6f} bench\n" for rank, (doc, score) in lines)
                for doc in range(first, first + JUDGED):
                    relevant = {"ori": doc < first + CORES_SHARE, "ins": doc == gold, "rev": gold != doc < first + CORES_SHARE}
                    qrels.write(f"{query_id} 0 clueweb-{doc:07d} {relevant[mode]:d}\n")


def measure(commands: list[list[str]]) -> tuple[float, float, float]:
    """Wall and CPU seconds of the commands one after the other, and the largest memory of one of them in MB."""
    start, cpu, memory = time.perf_counter(), 0.0, 0.0
    for command in commands:
        output = os.open(os.devnull, os.O_WRONLY)
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)])
        _, status, used = os.wait4(pid, 0)
        os.close(output)
        if status:
            sys.exit(f"failed: {' '.join(command)}")
        cpu += used.ru_utime + used.ru_stime
        memory = max(memory, used.ru_maxrss / 1024)
    return time.perf_counter() - start, cpu, memory


def contenders(folder: Path) -> dict[str, list[list[str]]]:
    files = {mode: (str(folder / f"run.{mode}.trec"), str(folder / f"qrels.{mode}.txt")) for mode in MODES}
    runs, qrels = ([f"{mode}={pair[which]}" for mode, pair in files.items()] for which in (0, 1))
    ours = [sys.executable, "-m", "toolkit.evaluate", "--run", *runs, "--qrels", *qrels]
    theirs = [[sys.executable, "-m", "ir_measures", qrels, run, "nDCG@10"] for run, qrels in files.values()]
    return {"tandem evaluate, the whole table": [ours], "ir_measures, nDCG@10": theirs}


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--queries", type=int, default=1600)
    made.add_argument("--hits", type=int, default=1000)
    made.add_argument("--repeat", type=int, default=3)
    made.add_argument("--seed", type=int, default=0)
    args = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-evaluate-") as name:
        folder = Path(name)
        write_files(folder, args.queries, args.hits, args.seed)
        times = {contender: [] for contender in contenders(folder)}
        for _ in range(args.repeat):
            for contender, commands in contenders(folder).items():
                times[contender].append(measure(commands))
    print(f"{args.queries * args.hits * len(MODES):,} run lines, {args.repeat} alternating runs, medians")
    medians = {contender: [statistics.median(column) for column in zip(*its, strict=True)] for contender, its in times.items()}
    for contender, (wall, cpu, memory) in medians.items():
        print(f"{contender:<34} {wall:7.2f} s wall {cpu:7.2f} s CPU {memory:7.0f} MB")
    (ours, our_cpu, _), (theirs, their_cpu, _) = medians.values()
    print(f"{'ratio':<34} {theirs / ours:7.2f}   wall {their_cpu / our_cpu:7.2f}   CPU")


if __name__ == "__main__":
    main()
