"""What is derived from an object once, for as long as the object lives."""

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


def once_per_pair(derive: Callable[..., U]) -> Callable[..., U]:
    """The same for a function of two objects and, behind them, what can be hashed."""
    known = once_per_object(lambda _: WeakKeyDictionary())

    @functools.wraps(derive)
    def derived(first, second, *rest):
        rest += (derive.__defaults__ or ())[len(rest) :]  # what is left out is the same as its default
        values = known(first).setdefault(second, {})
        if rest not in values:
            values[rest] = derive(first, second, *rest)
        return values[rest]

    return derived
