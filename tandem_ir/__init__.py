"""Tandem from Python: what a user types is a call of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.core.runs import Run

__all__ = ["search"]


def search(topics: str | Sequence[str], index: str | None = None, system: str | Sequence[str] = "bm25", **how: Any) -> Run:
    """Search topics with one system or the fusion of several; see `toolkit.jobs.search_job`."""
    from toolkit.jobs import search_job

    return search_job(topics, index, system, **how).run()
