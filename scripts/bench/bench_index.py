"""`tandem index` beside `pyserini.index.lucene`: 500,000 generated documents in as many files as threads.

.venv/bin/python scripts/bench/bench_index.py
.venv/bin/python scripts/bench/bench_index.py --workers 2    one worker of the Ray engine beside so many
"""

import argparse
import sys
from pathlib import Path

from generate import write_corpus
from timing import compare

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tandem-bench"), help="where generated files lie")
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--files", type=int, help="files of the corpus (default: one a thread)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, help="compare so many workers with one, in place of the peer")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    corpus = str(write_corpus(args.folder, args.documents, files=args.files or args.threads))
    python, threads = sys.executable, str(args.threads)
    if args.workers:
        ray = [python, "-m", "toolkit.index", corpus, "--output", str(args.folder / "ours"), "--engine", "ray", "--workers"]
        contestants = {"workers": [*ray, str(args.workers)], "one worker": [*ray, "1"]}
        compare(contestants, args.rounds, args.folder / "log")
        return 0
    compare(
        {
            "tandem": [python, "-m", "toolkit.index", corpus, "--output", str(args.folder / "ours"), "--threads", threads],
            "pyserini": [
                *(python, str(HERE / "peer.py"), "pyserini.index.lucene", "--collection", "JsonCollection", "--input", corpus),
                *("--index", str(args.folder / "theirs"), "--generator", "DefaultLuceneDocumentGenerator"),
                *("--threads", threads, "--storeRaw"),
            ],
        },
        args.rounds,
        args.folder / "log",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
