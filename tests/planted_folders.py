"""Folders of benchmarks with known flaws, of words drawn at random: what has to be found in them is what a test put there."""

import json
import random
from pathlib import Path

LETTERS = "abdeghiklmnoprstu"
WORDS = ["".join(random.Random(place).choices(LETTERS, k=2 + place % 7)) for place in range(400)]


def text_of(generator: random.Random, topic: int, words: int = 60) -> str:
    """Words drawn from those of a topic and, three times as often, from all."""
    own = ["".join(random.Random(1000 * topic + 500 + place).choices(LETTERS, k=8)) for place in range(12)]
    return " ".join(generator.choice(own if generator.random() < 0.25 else WORDS) for _ in range(words))


def planted(
    folder: Path,
    *,
    cores: int = 16,
    gold=lambda text: text,
    negative=lambda text: text,
    unrelated: int = 0,
    groups: int = 1,
    made=None,
    seed: int = 0,
) -> Path:
    """A folder with base and instructed mode: each core query has two gold documents and two instruction negatives.

    gold, negative  what becomes of their texts
    unrelated       further documents
    groups          the core queries are dealt out to so many
    made            item id -> rows of `provenance.jsonl`; None writes no such file
    """
    generator = random.Random(seed)
    docs, topics, base, instructed = {}, [], [], []
    for core in range(cores):
        query = f"q{core}"
        row = {"id": query, "query": f"{WORDS[core]} {WORDS[core + 50]}", "instructions": {"pos": f"only {WORDS[core + 100]}"}}
        topics.append(row | ({"group": f"g{core % groups}"} if groups > 1 else {}))
        for number, change in enumerate((gold, gold, negative, negative)):
            doc = f"d{core}-{number}"
            docs[doc] = change(text_of(generator, core))
            base.append(f"{query} 0 {doc} 1")
            instructed.append(f"{query} 0 {doc} {int(number < 2)}")
    docs |= {f"u{number}": text_of(generator, 100 + number) for number in range(unrelated)}
    folder.mkdir(parents=True)
    (folder / "benchmark.yaml").write_text("name: planted\nmodes: {base: base, pos: instructed}\nmeasures: [nDCG@10]\n")
    _lines(folder / "corpus.jsonl", ({"id": doc, "text": text} for doc, text in docs.items()))
    _lines(folder / "topics.jsonl", topics)
    (folder / "qrels.base.txt").write_text("\n".join(base) + "\n")
    (folder / "qrels.pos.txt").write_text("\n".join(instructed) + "\n")
    if made is not None:
        _lines(folder / "provenance.jsonl", ({"id": item, "made": rows} for item, rows in made.items()))
    return folder


def _lines(path: Path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def a_run(folder: Path, tag: str, name: str = "run.trec", *, cores: int = 16) -> Path:
    """A run over a planted folder: each mode's queries with their own four documents."""
    lines = [
        f"q{core}-{mode} Q0 d{core}-{number} {number + 1} {4 - number} {tag}"
        for core in range(cores)
        for mode in ("base", "pos")
        for number in range(4)
    ]
    path = folder.parent / name
    path.write_text("\n".join(lines) + "\n")
    return path
