"""`tandem diff` of two runs of 1,600 queries x 1,000 lines beside `ranx` and `repro_eval`, in turns.

The peers are installed apart, because they bring what Tandem does without: `--peers PYTHON` names the interpreter of an
environment that has them. What is not there is said and left out.
"""

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import measure

PEERS = ("ranx", "repro_eval")
MODES = ("ori", "ins", "rev")
POOL = 6392  # documents, as InfoSearch has
CORE = 12  # queries of one core query: 4 instructions in 3 modes
JUDGED = 4  # documents of a query; the last is never relevant


def write_files(folder: Path, queries: int, hits: int) -> list[Path]:
    """Two runs, the second the first with its ranks shaken, and qrels of three modes."""
    judged, ids = {}, []
    for query in range(queries):
        base, mode = f"q{query // CORE:03d}-{query // len(MODES) % 4}", MODES[query % len(MODES)]
        ids.append(f"{base}-{mode}")
        first = int(hashlib.md5(base.encode()).hexdigest(), 16)
        wanted = {"ori": (1, 1, 1), "ins": (1, 0, 0), "rev": (0, 1, 1)}[mode]
        judged[ids[-1]] = [((first + 97 * number) % POOL, label) for number, label in enumerate((*wanted, 0))]
    paths = [folder / name for name in ("a.trec", "b.trec", "qrels.txt")]
    for path, noise in zip(paths, (0.0, 0.3), strict=False):
        draws, shaken = np.random.default_rng(1), np.random.default_rng(2)
        with path.open("w") as file:
            for query_id in ids:
                docs = draws.permutation(POOL)[:hits]
                docs = docs[np.argsort(np.arange(hits) + noise * hits * shaken.random(hits))]
                file.writelines(f"{query_id} Q0 d{d} {rank} {hits - rank}.5 {path.stem}\n" for rank, d in enumerate(docs, 1))
    lines = (f"{query_id} 0 d{doc} {label}\n" for query_id, its in judged.items() for doc, label in its)
    paths[2].write_text("".join(lines))
    return paths


def missing(python: str | None) -> list[str]:
    """The peers that this interpreter cannot import."""
    if python is None:
        return list(PEERS)
    return [peer for peer in PEERS if subprocess.run([python, "-c", f"import {peer}"], capture_output=True).returncode]


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--queries", type=int, default=1600)
    made.add_argument("--hits", type=int, default=1000)
    made.add_argument("--samples", type=int, default=10_000, help="permutations of the peers; Tandem draws none")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--peers", metavar="PYTHON", help="the interpreter of an environment with ranx and repro_eval")
    args = made.parse_args()
    absent = missing(args.peers)
    for peer in absent:
        print(f"{peer}: not there ({'no --peers' if args.peers is None else args.peers}), left out")
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-diff-") as name:
        folder = Path(name)
        a, b, qrels = map(str, write_files(folder, args.queries, args.hits))
        ours = [sys.executable, "-m", "toolkit.diff", a, b, "--qrels", qrels, "--exit-zero"]
        script = str(Path(__file__).with_name("peer_diff.py"))
        theirs = {peer: [args.peers, script, peer, a, b, qrels, str(args.samples)] for peer in PEERS if peer not in absent}
        for number in range(1, args.rounds + 1):
            for contestant, command in {"tandem diff": ours, **theirs}.items():
                wall, cpu = measure(command, folder / "log")
                times.setdefault(contestant, []).append((wall, cpu))
                print(f"round {number}: {contestant:<12} {wall:7.2f} s wall {cpu:7.2f} s CPU", flush=True)
    print(f"{args.queries * args.hits:,} lines a run, {args.samples:,} permutations of the peers, medians of {args.rounds}")
    medians = {contestant: [statistics.median(its) for its in zip(*taken, strict=True)] for contestant, taken in times.items()}
    wall, cpu = medians["tandem diff"]
    for contestant, (its_wall, its_cpu) in medians.items():
        print(f"{contestant:<12} {its_wall:7.2f} s wall {its_cpu:7.2f} s CPU, ratio {its_wall / wall:.2f}, {its_cpu / cpu:.2f}")


if __name__ == "__main__":
    main()
