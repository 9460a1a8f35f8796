"""Query expansion: one query for each perspective, and their lists as one."""

from toolkit.expand.merge import merge, merged_run, round_robin
from toolkit.expand.perspective_sources import expand_topics

__all__ = ["expand_topics", "merge", "merged_run", "round_robin"]
