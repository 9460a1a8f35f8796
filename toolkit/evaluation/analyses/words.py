"""Texts as stemmed words, and how much two of them have in common."""

import functools
import re
from collections.abc import Iterable, Sequence

from toolkit.core.system.yaml_json import read_yaml
from toolkit.datasets import find, load
from toolkit.models.lucene.okapi import stem
from toolkit.registry.loader import FOLDER

WORD = re.compile(r"[a-z0-9]+")
LETTER = re.compile(r"[a-zA-Z]")
SHORTEST_STEMMED = 4  # letters; ROUGE leaves shorter words as they are


def unread(texts: Iterable[str]) -> int:
    """How many of these have no Latin letter: to `tokens`, and to rules for English, they say nothing."""
    return sum(not LETTER.search(text) for text in texts)


def tokens(text: str) -> list[str]:
    """Words of letters and digits, in lower case, stemmed: those of the rouge-score package with `use_stemmer`."""
    return [stem(word) if len(word) >= SHORTEST_STEMMED else word for word in WORD.findall(text.lower())]


def rouge_l(first: Sequence[str], second: Sequence[str]) -> float:
    """ROUGE-L F1 of two texts' tokens: the harmonic mean of the shares of each that their longest common subsequence is.

    0 where either is empty. Source: C.-Y. Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
    """
    from rapidfuzz.distance import LCSseq

    common = LCSseq.similarity(first, second)
    return 2 * common / (len(first) + len(second)) if common else 0.0


def shared_words(query: str, docs: Iterable[str]) -> float:
    """The share of a query's distinct words that a document has, of several documents the largest; stop words left out.

    0 where the query has no other words.
    """
    wanted = set(tokens(query)) - _stop_words()
    if not wanted:
        return 0.0
    return max((len(wanted.intersection(tokens(doc))) / len(wanted) for doc in docs), default=0.0)


def gold_overlap(name: str) -> dict[str, float] | None:
    """Query id -> the share of the words of query and instruction that a relevant document has, for a benchmark.

    None where the documents of some group are not here, and for a collection of ir_datasets.
    """
    selection = find(name)
    if selection is None:
        return None
    benchmark, found = load(selection.benchmark), {}
    for group in selection.groups:
        if not benchmark.has_docs(group):
            return None
        texts = {doc.doc_id: doc.contents for doc in benchmark.docs(group)}
        for mode in selection.modes or ("",):
            relevant: dict[str, list[str]] = {}
            for row in benchmark.qrels(group, mode):
                if row.relevance > 0:
                    relevant.setdefault(row.query_id, []).append(texts[row.doc_id])
            for topic in benchmark.topics(group, mode):
                asked = f"{topic.query} {topic.instruction}" if topic.instruction else topic.text
                found[topic.query_id] = shared_words(asked, relevant.get(topic.query_id, ()))
    return found


@functools.cache
def _stop_words() -> frozenset[str]:
    return frozenset(tokens(read_yaml(FOLDER / "words" / "english-stop-words.yaml")["words"]))
