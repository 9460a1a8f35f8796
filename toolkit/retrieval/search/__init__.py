"""Search: topics and an index make a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.runs import Run
from toolkit.core.system.progress import say
from toolkit.core.topics import Topic, topics_by_id
from toolkit.files.runs.problems import FLOAT32_MAX

if TYPE_CHECKING:
    from toolkit.models.lucene.anserini import Searcher


def search(
    topics: Sequence[Topic],
    index: Path,
    *,
    k1: float = 0.9,
    b: float = 0.4,
    rm3: bool = False,
    hits: int = 1000,
    threads: int = 1,
    language: str = "en",
    tag: str = "bm25",
    candidates: Mapping[str, Sequence[str]] | None = None,
    opener: Callable[..., Searcher] | None = None,
) -> Run:
    """BM25 over one Lucene index, with RM3 where asked for: Anserini's run, digit for digit (`toolkit.models.lucene.anserini`).

    Of each query only its `candidates` may be found, with the scores of a search of all documents. Topics without any result
    are said. Raises ToolkitError for parameters that BM25 has no meaning for, two topics of one id, and a folder that holds no
    index.
    """
    check_parameters(k1, b, hits, threads)
    if opener is None:
        from toolkit.models.lucene.anserini import Searcher as opener

    topics_by_id(topics)
    searcher = opener(index, k1=k1, b=b, rm3=rm3, language=language)
    run = searcher.search(topics, hits=hits, threads=threads, tag=tag, candidates=candidates)
    say_unanswered(index, topics, run)
    return run


def say_unanswered(index: Path, topics: Sequence[Topic], run: Run) -> None:
    """Say which topics a run has nothing for."""
    if without := {topic.query_id for topic in topics}.difference(run.query_ids):
        what = f"{len(without)} of {len(topics)} topics ({three(without)})"
        say(f"note: nothing was found in {index} for {what}; they have no lines in the run")


def check_parameters(k1: float, b: float, hits: int, threads: int) -> None:
    """Raise ToolkitError for parameters without meaning."""
    if not 0 <= k1 <= FLOAT32_MAX:  # what Lucene computes with
        raise ToolkitError(f"k1 is {k1}", f"k1 is a number from 0 to {FLOAT32_MAX:.1e}; 0.9 is Anserini's")
    if not 0 <= b <= 1:
        raise ToolkitError(f"b is {b}", "b is a number from 0 to 1; 0.4 is Anserini's")
    check_counts(hits=hits, threads=threads)
