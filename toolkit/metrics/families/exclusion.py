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

    return recall(_asked_for(positions)) - recall(_ruled_out(positions))


def delta_reciprocal_rank(positions: Positions, cutoff: int) -> np.ndarray:
    """1 / rank of the first document asked for, less that of the first one ruled out; 0 beyond rank k. In [-1, 1]."""
    asked, ruled_out = (_first(positions, rows) for rows in (_asked_for(positions), _ruled_out(positions)))
    values = np.where(asked <= cutoff, 1 / asked, 0.0) - np.where(ruled_out <= cutoff, 1 / ruled_out, 0.0)
    return _where_both(positions, values)


def right_rank(positions: Positions, cutoff: int) -> np.ndarray:
    """1 where the first document asked for is in the top k, above every document ruled out; else 0."""
    asked, ruled_out = (_first(positions, rows) for rows in (_asked_for(positions), _ruled_out(positions)))
    return _where_both(positions, ((asked <= cutoff) & (asked < ruled_out)).astype(np.float64))


def _asked_for(positions: Positions) -> np.ndarray:
    return positions.relevance > 0


def _ruled_out(positions: Positions) -> np.ndarray:
    return positions.relevance == 0


def _first(positions: Positions, rows: np.ndarray) -> np.ndarray:
    """(queries,) float64: the best rank of these rows; infinite where none is retrieved."""
    first = np.full(len(positions.query_ids), np.inf)
    retrieved = rows & ~positions.missing
    np.minimum.at(first, positions.queries[retrieved], positions.ranks[retrieved].astype(np.float64))
    return first


def _where_both(positions: Positions, values: np.ndarray) -> np.ndarray:
    both = (positions.total(_asked_for(positions)) > 0) & (positions.total(_ruled_out(positions)) > 0)
    return np.where(both, values, np.nan)
