"""Maximal marginal relevance: relevant documents first, but not the same thing twice (Carbonell and Goldstein 1998)."""

from collections.abc import Callable, Sequence

import numpy as np

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.runs import Run

NORMALISATIONS, TAILS = ("paper", "release"), ("keep", "drop")
DEPTH = 100
AT_ONCE = 256  # questions

# (query id, n document ids) -> (n, n), how much alike they are
Similarity = Callable[[str, Sequence[str]], np.ndarray]


def mmr(
    run: Run,
    similarity: Similarity,
    lams: Sequence[float],
    normalisation: str = "paper",
    depth: int = DEPTH,
    *,
    scale: float | None = None,
    tail: str = "keep",
) -> dict[float, Run]:
    """The run with the best `depth` documents of each question in the order in which MMR picks them, for each lambda.

    Each pick is the candidate with the largest lambda * score / M - (1 - lambda) * (its largest similarity to what is picked
    already); with nothing picked the second term is 0. Of equal ones the retriever's earlier candidate is picked.

    similarity     for instance `toolkit.retrieval.diversify.embeddings.Embedded`, cosines; asked once for each question
    lams           from 0 to 1
    normalisation  `paper`: M is the largest score of the run; `release`: of the question, and the retriever's first document
                   is picked without a computation
    scale          `paper`: M itself, where the run is part of a data set; `release`: M where a question's largest score is 0
                   or less
    tail           `keep` the documents below `depth` behind the others in their order, or `drop` them

    The new scores are 1 / rank, so that the order round-trips. Source: BERDS (arXiv 2409.18110), section 5, and its release.
    Raises ToolkitError for values without meaning, and where there is no M above 0.
    """
    check(lams, normalisation, tail, depth)
    order, lengths = run.order(), run.lengths
    starts = np.cumsum(lengths) - lengths
    largest = scales(run, normalisation, scale)
    ranks: dict[float, np.ndarray] = {lam: order.copy() for lam in lams}
    for first in range(0, len(lengths), AT_ONCE):
        block = slice(first, first + AT_ONCE)
        counts = np.minimum(lengths[block], depth)
        places = np.minimum(starts[block, None] + np.arange(counts.max()), len(order) - 1)
        relevance = run.scores[order[places]] / largest[block, None]
        alike = np.zeros((len(counts), counts.max(), counts.max()), np.float32)  # 0 where there is no candidate
        for row, (start, count) in enumerate(zip(starts[block].tolist(), counts.tolist(), strict=True)):
            docs = run.documents.texts(order[start : start + count]).to_pylist()
            alike[row, :count, :count] = similarity(run.query_ids[first + row], docs)
        for lam, lines in ranks.items():
            chosen = pick(relevance, alike, counts, lam, given_first=normalisation == "release")
            inside = np.arange(counts.max()) < counts[:, None]
            lines[places[inside]] = order[np.take_along_axis(places, chosen, axis=1)[inside]]
    keep = np.arange(len(order)) - np.repeat(starts, lengths) < (depth if tail == "drop" else len(order))
    return {lam: _ranked(run, lines[keep]) for lam, lines in ranks.items()}


def pick(
    relevance: np.ndarray, similarities: np.ndarray, counts: np.ndarray, lam: float, *, given_first: bool = False
) -> np.ndarray:
    """(q, c) int64: the candidates of each question in the order in which they are picked, all questions at once.

    relevance     (q, c) score / M, in the retriever's order; the dtype is that of the computation
    similarities  (q, c, c)
    counts        (q,) how many candidates a question has; what stands behind them has no meaning, in the result too
    given_first   the first candidate is picked first, whatever its score is
    """
    questions, width = np.arange(len(relevance)), relevance.shape[1]
    gain = np.where(np.arange(width) < counts[:, None], lam * relevance, -np.inf).astype(relevance.dtype)
    chosen = np.empty(relevance.shape, np.int64)
    nearest = np.zeros_like(gain)
    for place in range(width):
        # argmax gives the first of equal ones: the earlier candidate
        chosen[:, place] = 0 if given_first and not place else np.argmax(gain - (1 - lam) * nearest, axis=1)
        gain[questions, chosen[:, place]] = -np.inf
        alike = similarities[questions, chosen[:, place]]
        nearest = np.maximum(nearest, alike) if place else alike
    return chosen


def scales(run: Run, normalisation: str, scale: float | None = None) -> np.ndarray:
    """(queries,) float64: what the scores of each question are divided by, see `mmr`."""
    if scale is not None and not 0 < scale < np.inf:
        raise ToolkitError(f"scale is {scale}", "a number above 0, or a constant of the release")
    if normalisation == "paper":
        constant = run.scores.max() if scale is None else scale
        if constant <= 0:
            raise ToolkitError(f"{run.called}: its largest score is {constant:g}", "say what to divide by with --scale")
        return np.full(len(run.query_ids), float(constant))
    largest = np.full(len(run.query_ids), -np.inf)
    np.maximum.at(largest, run.queries, run.scores)
    low = np.flatnonzero(largest <= 0)
    if len(low) and scale is None:
        examples = three(run.query_ids[position] for position in low)
        message = f"{run.called}: {len(low)} questions have no score above 0 ({examples})"
        raise ToolkitError(message, "say what to divide these by with --scale")
    return np.where(largest <= 0, scale or 1.0, largest)


def cosines(vectors: np.ndarray) -> np.ndarray:
    """(n, n) float32 of (n, d): computed in 64 bits and rounded, so that equal texts are equally alike, to the last bit."""
    vectors = vectors.astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return (unit @ unit.T).astype(np.float32)


def _ranked(run: Run, lines: np.ndarray) -> Run:
    """These lines of a run, query after query, scored by 1 / rank in their order."""
    queries = run.queries[lines]
    starts = np.searchsorted(queries, np.arange(len(run.query_ids)))
    return run.take(lines, 1 / (np.arange(len(lines)) - starts[queries] + 1))


def check(lams: Sequence[float], normalisation: str, tail: str, depth: int) -> None:
    """Raise ToolkitError for values without meaning, see `mmr`."""
    check_counts(depth=depth)
    for name, value, known in (("normalisation", normalisation, NORMALISATIONS), ("tail", tail, TAILS)):
        if value not in known:
            raise ToolkitError(f"{name} is {value!r}", f"known: {', '.join(known)}")
    problems = [f"lambda is {lam}" for lam in lams if not 0 <= lam <= 1] if lams else ["no lambda"]
    if len(set(lams)) < len(lams):
        problems.append(f"a lambda comes twice ({', '.join(f'{lam:g}' for lam in lams)})")
    if problems:
        raise ToolkitError(problems[0], "numbers from 0 to 1, each once")
