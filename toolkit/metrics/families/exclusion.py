"""What a query rules out: does the document that it asks for stand above the one that it excludes?

Source: ExcluIR (arXiv 2404.17288), section 4, and its released evaluation. A document with a label above 0 is asked for; one
that is judged 0 is ruled out. All give (queries,) float64, NaN for a query without a document of either kind; a query that the
run lacks gets 0.
"""

import numpy as np

from toolkit.metrics.families.join import Positions


def delta_recall(positions: Positions, cutoff: int) -> np.ndarray:
    """The share of the documents asked for that is in the top k, less that of the documents ruled out. In [-1, 1]."""

    def recall(rows: np.ndarray) -> np.ndarray:
        wanted = positions.total(rows)
        found = positions.total(rows & ~positions.missing & (positions.ranks <= cutoff))
        return np.divide(found, wanted, out=np.full(len(wanted), np.nan), where=wanted > 0)

    asked, ruled_out = _kinds(positions)
    return recall(asked) - recall(ruled_out)


def delta_reciprocal_rank(positions: Positions, cutoff: int) -> np.ndarray:
    """1 / rank of the first document asked for, less that of the first one ruled out; 0 beyond rank k. In [-1, 1]."""
    asked, ruled_out = (_first(positions, rows) for rows in _kinds(positions))
    values = np.where(asked <= cutoff, 1 / asked, 0.0) - np.where(ruled_out <= cutoff, 1 / ruled_out, 0.0)
    return _where_both(positions, values)


def right_rank(positions: Positions, cutoff: int) -> np.ndarray:
    """1 where the first document asked for is in the top k, above every document ruled out; else 0."""
    asked, ruled_out = (_first(positions, rows) for rows in _kinds(positions))
    return _where_both(positions, ((asked <= cutoff) & (asked < ruled_out)).astype(np.float64))


def _kinds(positions: Positions) -> tuple[np.ndarray, np.ndarray]:
    """(n,) bool each: documents asked for, and documents ruled out."""
    return positions.relevance > 0, positions.relevance == 0


def _first(positions: Positions, rows: np.ndarray) -> np.ndarray:
    """(queries,) float64: the best rank of these rows; infinite where none is retrieved."""
    first = np.full(len(positions.query_ids), np.inf)
    retrieved = rows & ~positions.missing
    np.minimum.at(first, positions.queries[retrieved], positions.ranks[retrieved].astype(np.float64))
    return first


def _where_both(positions: Positions, values: np.ndarray) -> np.ndarray:
    return np.where(np.all([positions.total(rows) > 0 for rows in _kinds(positions)], axis=0), values, np.nan)
