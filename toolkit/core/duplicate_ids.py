"""Duplicate ids among millions, at 8 bytes an id."""

from collections.abc import Sequence

import numpy as np


class SeenIds:
    """The ids that came by, as 64-bit hashes in sorted arrays of which each is at least twice as long as the next.

    Two different ids share a hash once in 10**6 corpora of MS MARCO's size.
    """

    def __init__(self):
        self._levels: list[np.ndarray] = []

    def add(self, ids: Sequence[str]) -> list[int]:
        """Take these ids; the positions of those that came before, in these or in earlier ones."""
        if not ids:
            return []
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        again = np.zeros(len(ids), bool)
        again[order[1:]] = ordered[1:] == ordered[:-1]
        for level in self._levels:
            places = np.minimum(np.searchsorted(level, hashes), len(level) - 1)
            again |= level[places] == hashes
        self._levels.append(ordered)
        while len(self._levels) > 1 and len(self._levels[-2]) < 2 * len(self._levels[-1]):
            last = self._levels.pop()
            self._levels[-1] = np.sort(np.concatenate([self._levels[-1], last]), kind="stable")  # merges sorted runs
        return np.flatnonzero(again).tolist()
