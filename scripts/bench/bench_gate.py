"""`tandem gate` on two runs of 1,600 queries x 1,000 lines, the whole process, medians."""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from bench_diff import write_files
from timing import measure


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--queries", type=int, default=1600)
    made.add_argument("--hits", type=int, default=1000)
    made.add_argument("--rounds", type=int, default=5)
    args = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-gate-") as name:
        a, b, qrels = map(str, write_files(Path(name), args.queries, args.hits))
        command = [sys.executable, "-m", "toolkit.gate", a, b, "--qrels", qrels]
        taken = []
        for number in range(1, args.rounds + 1):
            taken.append(measure(command, Path(name) / "log"))
            print(f"round {number}: {taken[-1][0]:.2f} s wall, {taken[-1][1]:.2f} s CPU", flush=True)
        verdict = (Path(name) / "log").read_text().partition("\n")[0]
    print(verdict)
    wall, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
    print(f"{args.queries * args.hits:,} lines a run: median of {args.rounds} rounds {wall:.2f} s wall, {cpu:.2f} s CPU")


if __name__ == "__main__":
    main()
