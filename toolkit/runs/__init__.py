"""Run files: what is in them, what is wrong with them, and the same in other forms."""

from toolkit.runs.check import against_benchmark, against_metadata, describe_digest, verify_run
from toolkit.runs.convert import benchmark_texts, convert, file_texts
from toolkit.runs.ids import with_ids
from toolkit.runs.origin import keeps_metadata, origin, write_origin
from toolkit.runs.pool import pool, pool_facts
from toolkit.runs.repair import is_repaired, repair_qrels, repair_run
from toolkit.runs.summary import summarise

__all__ = [
    "against_benchmark",
    "against_metadata",
    "benchmark_texts",
    "convert",
    "describe_digest",
    "file_texts",
    "is_repaired",
    "keeps_metadata",
    "origin",
    "pool",
    "pool_facts",
    "repair_qrels",
    "repair_run",
    "summarise",
    "verify_run",
    "with_ids",
    "write_origin",
]
