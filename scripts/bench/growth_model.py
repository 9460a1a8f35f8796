"""The tables of docs/scaling.md: what `bench_growth.py` measured, and what follows from it for corpora that are larger.

.venv/bin/python scripts/bench/growth_model.py scripts/bench/growth.json
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench_growth import QUERIES, WIDTH, Taken, rows
from generate import DOCUMENT_WORDS

from toolkit.registry import system
from toolkit.registry.system_kinds import parameter_count

WORDS = sum(DOCUMENT_WORDS) / 2  # of the documents that were indexed, on average
TOKENS = 1.3  # of a word of English, for WordPiece and BPE alike: an assumption
FLOP, USED = 312e12, 0.4  # an A100's peak in bf16 (NVIDIA's datasheet), and the part of it that encoders are assumed to reach
LINK = 10e9 / 8  # bytes a second between a worker and an object store: 10 Gbit/s
LINES = 10_000 * 1000  # of a run of 10,000 queries


class Corpus(NamedTuple):
    """A corpus and how many passages it has, of how many words each."""

    name: str
    passages: int
    words: float


CORPORA = (Corpus("MS MARCO", 8_841_823, 56), Corpus("Wikipedia (DPR)", 21_015_324, 100), Corpus("Sphere", 906_000_000, 100))
ENCODERS = {  # one of each size, with the width of its vectors
    "all-minilm-l6-v2": 384,
    "contriever-msmarco": 768,
    "e5-large-v2": 1024,
    "gtr-t5-xl": 768,
    "e5-mistral-7b-instruct": 4096,
}


class Measured:
    """What each unit of a command costs."""

    def __init__(self, steps: dict[str, dict[str, Any]]):
        self._steps = steps

    def of(self, unit: str) -> list[str]:
        """The commands whose size counts this unit."""
        return [name for name, step in self._steps.items() if step["unit"] == unit]

    def of_one(self, step: str, what: str) -> float:
        """CPU seconds, or bytes of memory or disk, that one more unit takes between the two largest sizes."""
        less, most = (Taken(**taken) for taken in self._steps[step]["taken"][-2:])
        return (getattr(most, what) - getattr(less, what)) / (most.size - less.size)


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *body))


def gb(amount: float) -> str:
    """Bytes as GB or TB."""
    return f"{amount / 1e12:,.1f} TB" if amount >= 1e12 else f"{amount / 1e9:,.1f} GB"


def hours(seconds: float) -> str:
    """Seconds as hours, with a digit behind the point where there are few."""
    return f"{seconds / 3600:,.1f}" if seconds < 360_000 else f"{seconds / 3600:,.0f}"


def lexical(measured: Measured) -> Iterable[list[str]]:
    """BM25: a row a corpus."""
    for corpus in CORPORA:
        share = corpus.passages * corpus.words / WORDS  # documents of those measured that have as many words
        query = measured.of_one("search, BM25", "cpu") / QUERIES[1] * share
        yield [
            f"{corpus.name}, {corpus.passages / 1e6:,.1f} million",
            gb(measured.of_one("index, Lucene", "disk") * share),
            hours(measured.of_one("index, Lucene", "cpu") * share),
            gb(measured.of_one("index, Lucene", "memory") * corpus.passages),
            f"{query:,.2f}",
            hours(query * QUERIES[-1]),
        ]


def dense(measured: Measured) -> Iterable[list[str]]:
    """Encoders: a row a corpus and size."""
    for corpus in CORPORA:
        for name, width in ENCODERS.items():
            size = parameter_count(system(name))
            encoding = 2 * size * corpus.words * TOKENS * corpus.passages / (FLOP * USED)
            vectors = corpus.passages * width * 4
            ids = (measured.of_one("index, flat", "disk") - WIDTH * 4) * corpus.passages
            lists = measured.of_one("index, IVF-PQ", "disk") * corpus.passages
            scan = measured.of_one("search, flat", "cpu") / QUERIES[1] * width / WIDTH * corpus.passages
            yield [
                corpus.name if name == next(iter(ENCODERS)) else "",
                f"`{name}`, {size / 1e6:,.0f} M, {width}",
                hours(encoding),
                gb(vectors + ids),
                gb(lists),
                hours(vectors / LINK),
                f"{scan:,.1f}",
            ]


def scores(measured: Measured) -> Iterable[list[str]]:
    """What reads runs: a row a command."""
    for step in measured.of("run lines"):
        yield [f"`{step}`", f"{measured.of_one(step, 'cpu') * LINES:,.0f}", gb(measured.of_one(step, "memory") * LINES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("measured", type=Path)
    steps = json.loads(parser.parse_args().measured.read_text())["steps"]
    measured = Measured(steps)
    what = ("command", "size", "CPU s", "memory MB", "disk MB", "exponent of CPU", "of memory", "of disk")
    print(table(what, rows(steps)))
    searching = ("CPU s a query", f"hours of CPU for {QUERIES[-1]:,} queries")
    print(table(("corpus", "Lucene index", "hours of CPU to build", "memory to build", *searching), lexical(measured)))
    encoding = ("encoder, parameters, numbers a vector", "hours of one GPU", "flat index", "IVF-PQ index (16 bytes)")
    print(table(("corpus", *encoding, "hours to send vectors", "CPU s a query, flat"), dense(measured)))
    print(table(("runs of 10 million lines each", "CPU s", "memory"), scores(measured)))


if __name__ == "__main__":
    main()
