"""`tandem search` beside `pyserini.search.lucene`: 1,000 queries over 500,000 generated documents, the same run line by line.

.venv/bin/python scripts/bench/bench_search.py
"""

import argparse
import sys
from pathlib import Path

from generate import write_corpus, write_topics
from timing import compare

from toolkit.index import build_index, corpus_from_files

HERE = Path(__file__).parent


def lines(path: Path) -> list[str]:
    """A run's lines without their tags, sorted: Pyserini writes topics in the order of their ids."""
    return sorted(line.rpartition(" ")[0] for line in path.read_text().splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tandem-bench"), help="where generated files lie")
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    topics, index = write_topics(args.folder, args.queries), args.folder / f"index-{args.documents}"
    if not index.exists():
        build_index(corpus_from_files(write_corpus(args.folder, args.documents)), index)
    mine, theirs = args.folder / "tandem.trec", args.folder / "pyserini.trec"
    shared = ["--topics", str(topics), "--index", str(index), "--hits", str(args.hits), "--threads", str(args.threads)]
    python = sys.executable
    compare(
        {
            "tandem": [python, "-m", "toolkit.search", *shared, "--output", str(mine)],
            "pyserini": [
                *(python, str(HERE / "peer.py"), "pyserini.search.lucene", *shared),
                *("--bm25", "--batch-size", "64", "--output", str(theirs)),
            ],
        },
        args.rounds,
        args.folder / "log",
    )
    same = lines(mine) == lines(theirs)
    print(f"the runs are {'the same, line by line' if same else 'NOT the same'}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
