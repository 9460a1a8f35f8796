"""How far vectors and scores of one model differ between machines, as far as one machine can show: threads, and instructions.

.venv/bin/python scripts/bench/bench_machines.py /tmp/bench-machines --documents 512

Each setting is a process that computes the vectors of the same documents, and the scores of the same pairs, with
all-minilm-l6-v2 (for pairs with a random head). Printed is, against one thread with all of this machine's instructions: the
share of equal numbers, the largest difference of a vector's component and of a score, and how many neighbours in the ranking of
all documents for each of 32 of them change places.
"""

import argparse
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from bench_engine import corpus, reranker

# environment of the process; torch, MKL and oneDNN each choose instructions by themselves
SETTINGS = {
    "1 thread": {},
    "1 thread again": {},
    "2 threads": {"THREADS": "2"},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "no AVX": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
}


def compute(folder: Path) -> None:
    """Vectors and scores by this process. Tandem, where it imports torch, ignores what chooses instructions."""
    import torch

    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    from toolkit.core.specs import SystemSpec
    from toolkit.core.templates import Input, doc_input
    from toolkit.models import choose_system
    from toolkit.models.encoders import load_encoder
    from toolkit.models.rerankers import load_reranker
    from toolkit.retrieval.index import named_corpus

    spec = choose_system("all-minilm-l6-v2")
    inputs = [doc_input(spec.templates, doc) for doc in named_corpus(str(folder / "c.jsonl"))[0].documents()]
    np.save(folder / "vectors.npy", load_encoder(spec, device="cpu").encode(inputs, "passage"))
    pairs = SystemSpec(name="pairs", description="", kind="cross-encoder", checkpoint=str(folder / "reranker"))
    scored = [(Input("", "river and tree"), document) for document in inputs]
    np.save(folder / "scores.npy", load_reranker(pairs, device="cpu").score(scored))
    print(torch.backends.cpu.get_cpu_capability())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--documents", type=int, default=512)
    parser.add_argument("--compute", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compute:
        return compute(args.folder)
    args.folder.mkdir(parents=True)
    corpus(args.folder / "c.jsonl", args.documents)
    reranker(args.folder / "reranker")
    first = None
    for name, environment in SETTINGS.items():
        words = [sys.executable, __file__, str(args.folder), "--compute"]
        done = subprocess.run(words, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True)
        vectors, scores = np.load(args.folder / "vectors.npy"), np.load(args.folder / "scores.npy")
        first = first or (vectors, scores)
        shown = [f"{np.mean(vectors == first[0]):7.2%} equal, at most {np.abs(vectors - first[0]).max():.1e}"]
        shown += [f"{np.mean(scores == first[1]):7.2%} equal, at most {np.abs(scores - first[1]).max():.1e}"]
        print(
            f"{name:<15} ({done.stdout.strip()}): vectors {shown[0]}; scores {shown[1]}; {swaps(first[0], vectors)}", flush=True
        )
    return None


def swaps(one: np.ndarray, two: np.ndarray) -> str:
    """How many neighbours in the rankings by the inner product stand the other way round."""
    changed = whole = 0
    for number in range(32):
        order = np.argsort(-(one @ one[number]), kind="stable")
        other = two @ two[number]
        changed += sum(other[a] < other[b] for a, b in itertools.pairwise(order))
        whole += len(order) - 1
    return f"{changed:,} of {whole:,} neighbours swapped"


if __name__ == "__main__":
    main()
