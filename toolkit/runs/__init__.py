"""Run files: what is in them, what is wrong with them, and the same in other forms."""

from toolkit.runs.check import against_benchmark, against_record, describe_digest, verify_run
from toolkit.runs.convert import (
    benchmark_texts,
    convert,
    converted_record,
    file_texts,
    with_ids,
    write_converted_record,
)
from toolkit.runs.pool import Pool, pool
from toolkit.runs.repair import is_repaired, repair_qrels, repair_run
from toolkit.runs.summary import summarise

__all__ = [
    "Pool",
    "against_benchmark",
    "against_record",
    "benchmark_texts",
    "convert",
    "converted_record",
    "describe_digest",
    "file_texts",
    "is_repaired",
    "pool",
    "repair_qrels",
    "repair_run",
    "summarise",
    "verify_run",
    "with_ids",
    "write_converted_record",
]
