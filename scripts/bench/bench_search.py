"""`tandem search` beside bm25s and `pyserini.search.lucene`: 1,000 queries over 500,000 generated documents.

The run is Pyserini's, line by line; bm25s has its own words, and breaks ties otherwise.

.venv/bin/python scripts/bench/bench_search.py
.venv/bin/python scripts/bench/bench_search.py --files bm25               what the day's comparison of the index's files costs
.venv/bin/python scripts/bench/bench_search.py --files all-minilm-l6-v2   the same over flat vectors of FAISS
"""

import argparse
import os
import sys
import time
from pathlib import Path

from generate import write_corpus, write_topics
from timing import compare, measure

from toolkit.files.formats.indexes import NAME, system_facts, write_index_record
from toolkit.registry import system
from toolkit.retrieval.index import build_index, corpus_from_files

HERE = Path(__file__).parent


def lines(path: Path) -> list[str]:
    """A run's lines without their tags, sorted: Pyserini writes topics in the order of their ids."""
    return sorted(line.rpartition(" ")[0] for line in path.read_text().splitlines())


def flat_index(folder: Path, documents: int, name: str, threads: int) -> Path:
    """Generated vectors as an index that a system with 384 dimensions is said to have made."""
    from bench_flat import index_of

    index = index_of(folder, documents, 384, threads)
    if not (index / NAME).exists():
        write_index_record(index, {"kind": "faiss", **system_facts(system(name)), "documents": documents}, "", time.time())
    return index


def compare_files(line: list[str], args: argparse.Namespace) -> None:
    """A search whose index was compared with its record within a day, beside one that has to compare it."""
    compared = Path(os.environ["TANDEM_HOME"]) / "compared"
    measure(line, args.folder / "log")
    contestants = {"compared": line, "due": ["sh", "-c", 'rm -r "$0" && exec "$@"', str(compared), *line]}
    compare(contestants, args.rounds, args.folder / "log")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tandem-bench"), help="where generated files lie")
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", metavar="S", help="a system: time what comparing the index's files adds to its search")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    topics, index = write_topics(args.folder, args.queries), args.folder / f"index-{args.documents}"
    if args.files not in (None, "bm25"):
        index = flat_index(args.folder, args.documents, args.files, args.threads)
    elif not index.exists():
        build_index(corpus_from_files(write_corpus(args.folder, args.documents)), index)
    mine, theirs = args.folder / "tandem.trec", args.folder / "pyserini.trec"
    asked = ["--topics", str(topics), "--hits", str(args.hits), "--threads", str(args.threads)]
    python, shared = sys.executable, [*asked, "--index", str(index)]
    if args.files:
        os.environ["TANDEM_HOME"] = str(args.folder / "home")
        line = [python, "-m", "toolkit.search", *shared, "--system", args.files, "--output", str(mine)]
        compare_files(line, args)
        return 0
    sparse = [python, str(HERE / "peer_bm25s.py"), "--index", str(args.folder / f"bm25s-{args.documents}")]
    if not (args.folder / f"bm25s-{args.documents}").exists():
        measure([*sparse, "--corpus", str(write_corpus(args.folder, args.documents))], args.folder / "log")
    compare(
        {
            "tandem": [python, "-m", "toolkit.search", *shared, "--output", str(mine)],
            "bm25s": [*sparse, *asked, "--output", str(args.folder / "bm25s.trec")],
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
