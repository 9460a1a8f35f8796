"""Batches of texts that waste little on padding."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import torch

TOKENS = 128  # what a text counts for where a batch size is given in texts


def by_length(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Positions of texts of these lengths (tokens), in batches of nearly equal length, longest first.

    A batch holds as many tokens, padding counted, as `batch_size` texts of 128 tokens have, and at least one text; so what
    does not fit into memory shows with the first batch. No text is in two batches, none is left out.
    """
    budget = batch_size * TOKENS
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    batches: list[list[int]] = []
    for position in order:
        # the first of a batch is its longest, to which all others are padded
        if not batches or (len(batches[-1]) + 1) * lengths[batches[-1][0]] > budget:
            batches.append([])
        batches[-1].append(position)
    return batches


def within_budget(sizes: Iterable[int], budget: int, most: int | None = None) -> Iterator[slice]:
    """Slices of neighbours whose sizes add up to `budget` at most, or of one that is larger; none longer than `most`."""
    start, position, total = 0, -1, 0
    for position, size in enumerate(sizes):
        if position > start and (total + size > budget or position - start == most):
            yield slice(start, position)
            start, total = position, 0
        total += size
    if position >= start:
        yield slice(start, position + 1)


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients; ToolkitError where a batch does not fit into a GPU's memory."""
    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError as error:
        raise ToolkitError("a batch does not fit into the GPU's memory", "take a smaller --batch-size", status=1) from error
