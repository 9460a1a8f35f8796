"""Benchmarks: ours by registry entry and layout, everyone else's through ir_datasets.

Importing this registers our ids with ir_datasets (when that is imported) and touches no network.
"""

from importlib import import_module

from toolkit.core.system.lazy_names import when_imported
from toolkit.datasets.benchmark import Benchmark, Collection, load, present_groups, take
from toolkit.datasets.names import Selection, TopicPart, TopicSet, find, join_topics, open_collection, resolve_topics
from toolkit.datasets.own import is_benchmark_folder
from toolkit.datasets.published_ids import PublishedIds

__all__ = [
    "Benchmark",
    "Collection",
    "PublishedIds",
    "Selection",
    "TopicPart",
    "TopicSet",
    "find",
    "is_benchmark_folder",
    "join_topics",
    "load",
    "open_collection",
    "present_groups",
    "resolve_topics",
    "take",
]

# ir_datasets takes 0.8 s, which `--help` and BM25 do not need
when_imported("ir_datasets", lambda: import_module("toolkit.datasets.ir_datasets_registration").register())
