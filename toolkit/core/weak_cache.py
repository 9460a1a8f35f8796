"""What is derived from an object once, for as long as the object lives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
U = TypeVar("U")


def once_per_object(derive: Callable[[T], U]) -> Callable[[T], U]:
    """A function of one object (compared by identity) that computes its value once, and holds nothing of one that is gone."""
    known: WeakKeyDictionary[T, U] = WeakKeyDictionary()

    @functools.wraps(derive)
    def derived(source: T) -> U:
        if source not in known:
            known[source] = derive(source)
        return known[source]

    return derived
