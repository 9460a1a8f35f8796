"""Query expansion: one query for each perspective, and their lists as one."""

from toolkit.retrieval.expand.merge import merge, merge_lists, merged_run
from toolkit.retrieval.expand.perspective_sources import expand_topics

__all__ = ["expand_topics", "merge", "merge_lists", "merged_run"]
