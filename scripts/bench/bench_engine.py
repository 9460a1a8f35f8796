"""One worker of one thread against two, and against no Ray: encode and rerank, whole processes, with what Ray takes to start.

.venv/bin/python scripts/bench/bench_engine.py /tmp/bench-engine --documents 4000 --rounds 1

Each command writes into a new folder, and all outputs are compared byte by byte. Starting is the time of the same command with
eight documents; `computing` is what is left without it.
"""

import argparse
import json
import random
import shutil
import sys
from pathlib import Path

from timing import measure

WORDS = [
    "river",
    "tree",
    "house",
    "cat",
    "dog",
    "bird",
    "train",
    "sea",
    "fruit",
    "apple",
    "plum",
    "glass",
    "iron",
    "storm",
    "light",
    "field",
    "stone",
    "paper",
    "music",
    "water",
]
ENGINES = {
    "local": ["--threads-per-worker", "1"],
    "1 worker": ["--engine", "ray", "--workers", "1"],
    "2 workers": ["--engine", "ray", "--workers", "2"],
}


def corpus(path: Path, documents: int) -> None:
    """Documents of 60 to 120 words, the same for a seed."""
    drawn = random.Random(0)
    rows = ({"id": f"d{n}", "text": " ".join(drawn.choices(WORDS, k=drawn.randint(60, 120)))} for n in range(documents))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def prepared(folder: Path, documents: int, checkpoint: str) -> dict[str, list[str]]:
    """The commands without engine and output: to encode the documents, and to rerank a hundred of them for each query."""
    folder.mkdir(parents=True)
    corpus(folder / "c.jsonl", documents)
    queries = max(1, documents // 100)
    (folder / "t.tsv").write_text("".join(f"{n}\t{WORDS[n % 20]} and {WORDS[n % 7]}\n" for n in range(queries)))
    depth = min(documents, 100)
    lines = (f"{n} Q0 d{n * 100 + rank} {rank + 1} {1000 - rank} first\n" for n in range(queries) for rank in range(depth))
    (folder / "first.trec").write_text("".join(lines))
    texts = ["--topics", f"{folder}/t.tsv", "--docs", f"{folder}/c.jsonl"]
    shard = str(max(1, documents // 16))
    commands = {"encode": ["encode", f"{folder}/c.jsonl", "--system", "all-minilm-l6-v2", "--shard-size", shard]}
    if checkpoint:
        commands["rerank"] = [
            *("rerank", "--run", f"{folder}/first.trec", *texts, "--system", checkpoint, "--kind", "cross-encoder")
        ]
    return commands


def content(output: Path) -> dict[str, bytes]:
    """What a command wrote, without records."""
    paths = [output] if output.is_file() else [path for path in output.iterdir() if path.name != "tandem.yaml"]
    return {path.name if output.is_dir() else "run": path.read_bytes() for path in sorted(paths)}


def timed(folder: Path, name: str, command: list[str], rounds: int) -> dict[str, float]:
    """Best wall seconds by engine; what they write has to be the same."""
    best, written = {}, {}
    for _ in range(rounds):
        for engine, options in ENGINES.items():
            output = folder / f"{name}-{engine.replace(' ', '-')}"
            shutil.rmtree(output, ignore_errors=True)
            output.unlink(missing_ok=True)
            full = [sys.executable, "-m", "toolkit", *command, "--output", str(output), *options]
            wall, _ = measure(full, folder / "log")
            best[engine] = min(wall, best.get(engine, wall))
            written[engine] = content(output)
    assert all(each == written["local"] for each in written.values()), f"{name}: engines wrote different bytes"
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reranker", default="", help="a cross-encoder's folder; none is timed without one")
    args = parser.parse_args()
    full = prepared(args.folder / "full", args.documents, args.reranker)
    few = prepared(args.folder / "few", 8, args.reranker)
    for name, command in full.items():
        whole = timed(args.folder / "full", name, command, args.rounds)
        start = timed(args.folder / "few", name, few[name], args.rounds)
        for engine in ENGINES:
            print(f"{name} {engine:<10} {whole[engine]:7.1f} s, starting {start[engine]:5.1f} s", flush=True)
        one, two = (whole[engine] - start[engine] for engine in ("1 worker", "2 workers"))
        overhead = (whole["1 worker"] - start["1 worker"]) / (whole["local"] - start["local"]) - 1
        print(f"{name}: 2 workers are {one / two:.2f}x as fast as 1, Ray adds {overhead:+.1%} (both computing); equal bytes")


if __name__ == "__main__":
    main()
