"""Generated corpora and queries for the benches: Zipf-distributed words, the same for the same seed."""

import json
from pathlib import Path

import numpy as np

WORDS = 200_000
DOCUMENT_WORDS = (30, 90)
QUERY_WORDS = (4, 24)
CHUNK = 10_000  # documents drawn at once: bounds the memory


def vocabulary(rng: np.random.Generator) -> np.ndarray:
    """WORDS different words of 3 to 10 letters."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words: dict[str, None] = {}
    while len(words) < WORDS:
        lengths = rng.integers(3, 11, WORDS)
        drawn = letters[rng.integers(0, 26, (WORDS, 10))]
        words.update((("".join(row[:length]), None) for row, length in zip(drawn, lengths, strict=True)))
    return np.array(list(words)[:WORDS], object)


def texts(count: int, bounds: tuple[int, int], words: np.ndarray, rng: np.random.Generator):
    """`count` texts of `bounds` words (both ends included); the word of rank r has a share proportional to 1/r."""
    share = np.cumsum(1 / np.arange(1, WORDS + 1))
    share /= share[-1]
    for start in range(0, count, CHUNK):
        lengths = rng.integers(bounds[0], bounds[1] + 1, min(CHUNK, count - start))
        drawn = words[np.searchsorted(share, rng.random(lengths.sum()))]
        ends = np.cumsum(lengths)
        for end, length in zip(ends, lengths, strict=True):
            yield " ".join(drawn[end - length : end])


def write_corpus(
    folder: Path, documents: int, *, files: int = 2, seed: int = 0, bounds: tuple[int, int] = DOCUMENT_WORDS
) -> Path:
    """JSONL files with `id` and `contents` of `bounds` words, in a folder of their own that is left alone where it is there."""
    lengths = "" if bounds == DOCUMENT_WORDS else "-words-{}-{}".format(*bounds)
    target = folder / f"corpus-{documents}-{files}-{seed}{lengths}"
    if target.is_dir():
        return target
    rng = np.random.default_rng(seed)
    words = vocabulary(rng)
    part = target.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    per_file = -(-documents // files)
    for number in range(files):
        first = number * per_file
        with (part / f"part-{number}.jsonl").open("w", encoding="utf-8") as out:
            for doc, text in enumerate(texts(min(per_file, documents - first), bounds, words, rng), first):
                out.write(json.dumps({"id": f"doc{doc}", "contents": text}) + "\n")
    part.rename(target)
    return target


def write_topics(folder: Path, queries: int, *, seed: int = 0) -> Path:
    """A TSV file of query ids and texts, over the words of the corpus with the same seed."""
    target = folder / f"topics-{queries}-{seed}.tsv"
    words = vocabulary(np.random.default_rng(seed))
    lines = enumerate(texts(queries, QUERY_WORDS, words, np.random.default_rng(seed + 1)), 1)
    target.write_text("".join(f"q{number}\t{text}\n" for number, text in lines), encoding="utf-8")
    return target
