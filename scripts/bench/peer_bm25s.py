"""bm25s as its README has it: index a folder of JSON lines once, then search it and write a TREC run.

python scripts/bench/peer_bm25s.py --corpus FOLDER --index DIR
python scripts/bench/peer_bm25s.py --topics TSV --index DIR --hits 1000 --threads 2 --output RUN
"""

import argparse
import json
from pathlib import Path

import bm25s

IDS = "ids.json"


def make(corpus: Path, index: Path) -> None:
    """Index all documents, with BM25 as Lucene has it and Anserini's k1 and b; words by bm25s's own tokenizer."""
    rows = [json.loads(line) for path in sorted(corpus.iterdir()) for line in path.open(encoding="utf-8")]
    retriever = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    retriever.index(bm25s.tokenize([row["contents"] for row in rows], show_progress=False), show_progress=False)
    retriever.save(index)
    (index / IDS).write_text(json.dumps([row["id"] for row in rows]))


def search(topics: Path, index: Path, hits: int, threads: int, output: Path) -> None:
    """A run of all topics, rank by rank."""
    retriever, ids = bm25s.BM25.load(index, mmap=True), json.loads((index / IDS).read_text())
    query_ids, texts = zip(*(line.split("\t", 1) for line in topics.read_text(encoding="utf-8").splitlines()), strict=True)
    tokens = bm25s.tokenize(list(texts), show_progress=False)
    found, scores = retriever.retrieve(tokens, k=hits, n_threads=threads, show_progress=False)
    with output.open("w", encoding="utf-8") as file:
        for query_id, docs, values in zip(query_ids, found.tolist(), scores.tolist(), strict=True):
            rows = enumerate(zip(docs, values, strict=True), 1)
            file.writelines(f"{query_id} Q0 {ids[doc]} {rank} {score:.6f} bm25s\n" for rank, (doc, score) in rows if score > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("corpus", "topics", "index", "output"):
        parser.add_argument(f"--{name}", type=Path)
    for name, value in (("hits", 1000), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    if args.corpus:
        make(args.corpus, args.index)
    else:
        search(args.topics, args.index, args.hits, args.threads, args.output)
