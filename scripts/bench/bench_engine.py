"""One worker of one thread against two, and against no Ray: encode and rerank, whole processes; and a worker that is killed.

.venv/bin/python scripts/bench/bench_engine.py /tmp/bench-engine --documents 8192 --rounds 2

Each command writes into a new folder, and all outputs are compared byte by byte. Starting is the time of the same command with
eight documents; computing is what is left without it. What Ray adds to a job that takes 10 minutes without it is projected: the
difference in starting, and the share that it adds to computing. The reranker is all-minilm-l6-v2 with a random head.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
from timing import measure

TEXT = "river tree house cat dog bird train sea fruit apple plum glass iron storm light field stone paper music water"
WORDS = TEXT.split()
UNITS = 16  # shards that are encoded
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


def reranker(folder: Path) -> None:
    """A cross-encoder: the layers of all-minilm-l6-v2 with a new head, the same for a seed."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from toolkit.models import choose_system
    from toolkit.models.checkpoints.local_checkpoints import locate

    source = locate(choose_system("all-minilm-l6-v2"))
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(source, num_labels=1).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def prepared(folder: Path, documents: int, checkpoint: Path) -> dict[str, list[str]]:
    """The commands without engine and output: to encode the documents, and to rerank a hundred of them for each query."""
    folder.mkdir(parents=True)
    corpus(folder / "c.jsonl", documents)
    queries = max(1, documents // 100)
    (folder / "t.tsv").write_text("".join(f"{n}\t{WORDS[n % 20]} and {WORDS[n % 7]}\n" for n in range(queries)))
    depth = min(documents, 100)
    lines = (f"{n} Q0 d{n * 100 + rank} {rank + 1} {1000 - rank} first\n" for n in range(queries) for rank in range(depth))
    (folder / "first.trec").write_text("".join(lines))
    texts = ["--topics", f"{folder}/t.tsv", "--docs", f"{folder}/c.jsonl", "--depth", "100"]
    system = ["--system", str(checkpoint), "--kind", "cross-encoder"]
    shard = str(max(1, documents // UNITS))
    return {
        "encode": ["encode", f"{folder}/c.jsonl", "--system", "all-minilm-l6-v2", "--shard-size", shard],
        "rerank": ["rerank", "--run", f"{folder}/first.trec", *texts, *system],
    }


def content(output: Path) -> dict[str, bytes]:
    """What a command wrote, without records."""
    paths = [output] if output.is_file() else [path for path in output.iterdir() if path.name != "tandem.yaml"]
    return {path.name if output.is_dir() else "run": path.read_bytes() for path in sorted(paths)}


def line(folder: Path, name: str, command: list[str], engine: str) -> tuple[list[str], Path]:
    """The whole command, and the output that it is to write anew."""
    output = folder / f"{name}-{engine.replace(' ', '-')}"
    shutil.rmtree(output, ignore_errors=True)
    output.unlink(missing_ok=True)
    return [sys.executable, "-m", "toolkit", *command, "--output", str(output), *ENGINES[engine]], output


def timed(folder: Path, name: str, command: list[str], rounds: int) -> dict[str, float]:
    """Best wall seconds by engine; what they write has to be the same."""
    best, written = {}, {}
    for _ in range(rounds):
        for engine in ENGINES:
            full, output = line(folder, name, command, engine)
            wall, _ = measure(full, folder / "log")
            best[engine] = min(wall, best.get(engine, wall))
            written[engine] = content(output)
    assert all(each == written["local"] for each in written.values()), f"{name}: engines wrote different bytes"
    return best


def killed(folder: Path, command: list[str]) -> tuple[float, int]:
    """Wall seconds of one worker that is killed at its fourth unit, and how many units were computed a second time."""
    full, output = line(folder, "encode", command, "1 worker")
    start = time.monotonic()
    running = subprocess.Popen(full, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while len(list(output.glob("vectors-*.npy"))) < 3:
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    [worker] = [each for each in psutil.Process(running.pid).children(recursive=True) if "ray::RayWorker" in each.name()]
    worker.kill()
    _, printed = running.communicate()
    wall = time.monotonic() - start
    assert running.returncode == 0, printed
    assert content(output) == content(folder / "encode-local"), "a killed worker changed bytes"
    return wall, printed.count("attempt 1 of 3 failed: the worker ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--documents", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    reranker(args.folder / "reranker")
    full = prepared(args.folder / "full", args.documents, args.folder / "reranker")
    few = prepared(args.folder / "few", 8, args.folder / "reranker")
    for name, command in full.items():
        whole = timed(args.folder / "full", name, command, args.rounds)
        start = timed(args.folder / "few", name, few[name], args.rounds)
        for engine in ENGINES:
            print(f"{name} {engine:<10} {whole[engine]:7.1f} s, starting {start[engine]:5.1f} s", flush=True)
        local, one, two = (whole[engine] - start[engine] for engine in ENGINES)
        share, fixed = one / local - 1, start["1 worker"] - start["local"]
        computing, in_all = one / two, whole["1 worker"] / whole["2 workers"]
        print(f"{name}: 2 workers are {computing:.2f}x as fast as 1 computing, {in_all:.2f}x in all")
        ten = f"{fixed / 600 + share:+.1%} of 10 minutes"
        print(f"{name}: Ray adds {fixed:.1f} s to the start and {share:+.1%} to computing: {ten}", flush=True)
        if name == "encode":
            wall, again = killed(args.folder / "full", command)
            more, unit = wall - whole["1 worker"], one / UNITS
            print(f"{name}: a killed worker: {again} unit of {UNITS} ({unit:.1f} s) again, {more:+.1f} s with another's start")
    print("all outputs are equal, byte by byte")


if __name__ == "__main__":
    main()
