"""Run files: what is in them, what is wrong with them, and the same in other forms."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "check": ("against_benchmark", "against_record", "describe_digest", "verify_run"),
        "convert": ("benchmark_texts", "converted_record", "file_texts", "with_ids", "write_converted_record"),
        "pool": ("Pool",),
        "repair": ("is_repaired", "repair_qrels", "repair_run"),
        "summary": ("summarise",),
    },
)
