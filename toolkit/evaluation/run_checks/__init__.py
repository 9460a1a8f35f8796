"""Run files: what is in them, what is wrong with them, and the same in other forms."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "check": ("against_benchmark", "describe_digest", "summarise", "verify_run"),
        "convert": ("convert_run", "is_repaired", "repair_file"),
        "pool": ("Pool",),
    },
)
