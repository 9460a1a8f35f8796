"""Which queries moved between a registered run and the one made again."""

from __future__ import annotations

from toolkit.core.runs import Run

SHOWN = 10  # queries


def changed_queries(before: Run, after: Run) -> list[str]:
    """A line for each query whose documents or scores differ, in sorted order of the ids; both runs in the file's order."""
    old, new = _lists(before), _lists(after)
    lines = []
    for query_id in sorted(old.keys() | new.keys()):
        if query_id not in new:
            lines.append(f"{query_id}: is not in the new run")
        elif query_id not in old:
            lines.append(f"{query_id}: is not in the baseline")
        elif old[query_id] != new[query_id]:
            lines.append(f"{query_id}: {_difference(old[query_id], new[query_id])}")
    return lines


def _lists(run: Run) -> dict[str, list[tuple[str, float]]]:
    return {query_id: [(doc.doc_id, doc.score) for doc in ranking] for query_id, ranking in run.rankings("file")}


def _difference(old: list[tuple[str, float]], new: list[tuple[str, float]]) -> str:
    length = max(len(old), len(new))
    pairs = list(zip(_filled(old, length), _filled(new, length), strict=True))
    differing = [rank for rank, (line, other) in enumerate(pairs, 1) if line != other]
    first = differing[0]
    before, after = pairs[first - 1]
    return f"{len(differing)} of {length} ranks differ, first rank {first}: {_shown(before)} -> {_shown(after)}"


def _filled(ranking: list[tuple[str, float]], length: int) -> list[tuple[str, float] | None]:
    return [*ranking, *[None] * (length - len(ranking))]


def _shown(line: tuple[str, float] | None) -> str:
    return "nothing" if line is None else f"{line[0]} {line[1]!r}"
