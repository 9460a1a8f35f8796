"""Benchmarks: ours by registry entry and layout, everyone else's through ir_datasets.

Importing this registers our ids with ir_datasets (when that is imported) and touches no network.
"""

from toolkit.benchmarks.benchmark import Benchmark, Collection, load, present_groups, take
from toolkit.benchmarks.hook import register_with_ir_datasets
from toolkit.benchmarks.names import Selection, TopicPart, TopicSet, find, join_topics, open_collection, resolve_topics
from toolkit.benchmarks.published_ids import PublishedIds

__all__ = [
    "Benchmark",
    "Collection",
    "PublishedIds",
    "Selection",
    "TopicPart",
    "TopicSet",
    "find",
    "join_topics",
    "load",
    "open_collection",
    "present_groups",
    "resolve_topics",
    "take",
]

register_with_ir_datasets()
